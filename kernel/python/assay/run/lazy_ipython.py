"""IPython's shell, imported only when it is needed, and the builtin get_ipython()."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from assay.run.host import Host


class LazyIPython:
    """Imports IPython and makes its shell when something first needs it, because the import takes 0.2 s."""

    host: Host
    make_shell: Callable[[], Any]  # returns a new InteractiveShell, None if IPython is not installed
    shell: Any = None  # the InteractiveShell, once it is made

    def get_ipython(self) -> Any:
        """Is the builtin get_ipython(): returns IPython's shell.

        If IPython is not installed, the user's cells get a small replacement, for %pip and
        !command. A library that calls it to find out whether it is in a notebook gets a NameError
        until something else has imported IPython.
        """
        is_called_by_cell = sys._getframe(1).f_globals is self.host.namespace.globals
        shell = self.load_shell() if is_called_by_cell or sys.modules.get("IPython") else None
        if shell is None and is_called_by_cell:
            from assay.run.magics import BasicMagics

            return BasicMagics(self.host.namespace.globals)
        if shell is None:
            raise NameError("name 'get_ipython' is not defined")
        return shell

    def load_shell(self) -> Any:
        """Returns IPython's shell, which is made by the first call; None if IPython is not installed."""
        if self.shell is None:
            self.shell = self.make_shell()
        elif "_dh" not in self.host.namespace.globals:
            self.shell.init_user_ns()  # the user's globals were cleared
        return self.shell

    def capturing_publisher(self) -> Any:
        """Returns the publisher that %%capture has set while it captures output, or None."""
        if self.shell is None or self.shell.display_pub is self.shell.publisher:
            return None
        return self.shell.display_pub

    def replace_get_ipython(self, getipython: ModuleType) -> None:
        """Makes get_ipython() of IPython's module, which was just imported, return the kernel's shell."""

        def get_ipython() -> Any:
            """Returns IPython's shell."""
            return self.load_shell()

        getipython.get_ipython = get_ipython  # type: ignore[attr-defined]


lazy_ipython = LazyIPython()
