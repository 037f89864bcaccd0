"""The run of an execute_code that looks at what the user's code has left, and is not misled by it."""

from __future__ import annotations

from assay.run.snippet import Snippet
from assay.run.user_code import catch_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from assay.run.host import Host
    from assay.sealing.pristine import Renew


class Examination(Snippet):
    """Code with pristine builtins, whose names are its own and whose text is heard."""

    def __init__(
        self, kernel: Host, code: str, session: str, tx_id: str | None, renew: Renew
    ) -> None:
        super().__init__(kernel, code, session, tx_id)
        self._renew = renew

    def run(self) -> None:
        """Runs it and answers."""
        renew = self._renew
        del self._renew  # else what runs could find it
        catch_up()  # of the user's code, which else would run later
        self._scope = renew()
        self._kernel.names.install()
        self._kernel.stdio.install()
        super().run()

    def _file(self) -> str:
        """Returns the same name each time: nobody comes back to what it defines."""
        self._kernel.sources.remember("<code>", self._code)
        return "<code>"

    def _names(self) -> dict[str, Any]:
        return self._scope(super()._names())
