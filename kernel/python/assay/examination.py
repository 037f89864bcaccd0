"""The run of an execute_code that looks at what the user's code has left, and is not misled by it."""

from __future__ import annotations

from assay.snippet import Snippet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Examination(Snippet):
    """Code with pristine builtins, whose names are its own and whose text is heard."""

    def run(self) -> None:
        """Runs it and answers."""
        self._kernel.pristine.unwatch()
        self._kernel.pristine.restore()
        self._kernel.names.install()
        self._kernel.stdio.install()
        super().run()

    def _names(self) -> dict[str, Any]:
        return self._kernel.pristine.scope(super()._names())
