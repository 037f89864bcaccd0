"""The way to IPython's shell: get_ipython()."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from assay.run.host import Host


class Shell:
    """IPython's shell, made when something first needs it: IPython takes 0.2 s to import."""

    kernel: Host
    make: Callable[[], Any]  # returns a new InteractiveShell, None if there is no IPython
    made: Any = None  # the InteractiveShell, when there is one

    def get_ipython(self) -> Any:
        """Is the builtin get_ipython().

        Without IPython the user's cells get a small shell, for %pip and
        !command. A library that only asks whether it is in a notebook gets a
        NameError, as long as nothing else has needed IPython.
        """
        asked_by_user = sys._getframe(1).f_globals is self.kernel.names.names
        ipython = self.load() if asked_by_user or sys.modules.get("IPython") else None
        if ipython is None and asked_by_user:
            from assay.run.magics import Magics

            return Magics(self.kernel.names.names)
        if ipython is None:
            raise NameError("name 'get_ipython' is not defined")
        return ipython

    def load(self) -> Any:
        """Returns IPython's shell, None where the interpreter has no IPython."""
        if self.made is None:
            self.made = self.make()
        elif "_dh" not in self.kernel.names.names:
            self.made.init_user_ns()  # the user's globals were cleared
        return self.made

    def capture(self) -> Any:
        """Returns what IPython has display in its place, as %%capture does; else None."""
        if self.made is None or self.made.display_pub is self.made.publisher:
            return None
        return self.made.display_pub

    def attach(self, getipython: ModuleType) -> None:
        """Makes this the shell that IPython's own get_ipython, just imported, returns."""

        def get_ipython() -> Any:
            """Returns IPython's shell."""
            return self.load()

        getipython.get_ipython = get_ipython  # type: ignore[attr-defined]


shell = Shell()
