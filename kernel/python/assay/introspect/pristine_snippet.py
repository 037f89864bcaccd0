"""The run of an execute_code with the flag pristine: a grader's check of what the user's code has left.

It is not misled by what that code has replaced.
"""

from __future__ import annotations

from assay.run.snippet import SnippetRun
from assay.run.user_code import run_deferred_actions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from assay.run.host import Host
    from assay.sealing.pristine import Renew


class PristineSnippetRun(SnippetRun):
    """A snippet with the original builtins, its own globals, and working standard streams.

    It can read the user's globals but not assign to them.
    """

    def __init__(
        self, host: Host, code: str, session: str, tx_id: str | None, renew: Renew
    ) -> None:
        """renew puts back what the user's code has replaced, see assay.sealing.renewal."""
        super().__init__(host, code, session, tx_id)
        self._renew = renew

    def run(self) -> None:
        """Puts back what was replaced, then runs the code and answers."""
        renew = self._renew
        del self._renew  # so that the code that runs cannot find it
        run_deferred_actions()  # the user's signal handlers, which would otherwise run during the check
        self._make_globals = renew()
        self._host.namespace.install()
        self._host.streams.install()
        super().run()

    def _store_source(self) -> str:
        """Returns the same file name each time: nothing that the code defines is kept."""
        self._host.source_cache.store("<code>", self._code)
        return "<code>"

    def _globals(self) -> dict[str, Any]:
        return self._make_globals(super()._globals())
