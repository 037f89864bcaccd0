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
    """The run of an execute_code with the flag pristine: a grader's check, protected from the user's code.

    The code gets the original builtins, globals of its own, and working standard streams. It can
    read the user's globals but not assign to them.
    """

    def __init__(
        self, host: Host, code: str, session: str, tx_id: str | None, renew: Renew
    ) -> None:
        """renew restores what the user's code has replaced in the kernel, see assay.sealing.renewal."""
        super().__init__(host, code, session, tx_id)
        self._renew = renew

    def run(self) -> None:
        """Restores what the user's code has replaced, then runs the code and sends the answer."""
        renew = self._renew
        del self._renew  # so that the code that runs cannot find it
        run_deferred_actions()  # the user's signal handlers, which would otherwise run during the check
        self._make_grader_globals = renew()
        self._host.namespace.install_as_main()
        self._host.streams.install()
        super().run()

    def _store_source(self) -> str:
        """Stores the code's source for tracebacks, always as "<code>", and returns that file name.

        One name is enough, because no function that the code defines outlives it.
        """
        self._host.source_cache.store("<code>", self._code)
        return "<code>"

    def _globals_for_code(self) -> dict[str, Any]:
        return self._make_grader_globals(super()._globals_for_code())
