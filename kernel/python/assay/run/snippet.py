"""The run of an execute_code: code in the user's globals that is no cell."""

from __future__ import annotations

import os

from assay.run.compiled_code import Program
from assay.run.failure import Failure
from assay.run.safe_repr import clip, text_of
from assay.run.type_checks import is_awaitable
from assay.run.user_code import enter_awaiting
from assay.run.work import Work
from assay.wire.memory_reserve import reserve
from assay.wire.sinks import Capture

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable
    from typing import Any

    from assay.run.host import Host, Transaction

_MOST = 1 << 20  # characters of the result


class Snippet(Work):
    """One execute_code. Where it awaits, those of other sessions go on meanwhile.

    A value that can be awaited is: what it comes to is the result.
    """

    sink: Capture

    def __init__(self, kernel: Host, code: str, session: str, tx_id: str | None) -> None:
        super().__init__(Capture())
        self.session = session
        self.tx_id = tx_id
        self._kernel = kernel
        self._code = code
        self._forms = 0
        self._result: str | None = None
        self._failure: Failure | None = None
        self._wave: Transaction | None = None
        self.writes = {}

    def run(self) -> None:
        """Runs it and answers, at once or when its task has ended."""
        program = self._compiled()
        if program is None:
            self._finish()
            return
        if self._kernel.reactions is not None:
            self._kernel.reactions.begin(self)
        if program.needs_loop:
            self._run_on(self._value_of(program))
        else:
            self._run_plain(program)

    def _compiled(self) -> Program | None:
        try:
            program = Program(self._code, self._file())
        except Exception as error:
            self._keep_error(error)
            return None
        self._forms = program.forms
        return program

    def _run_plain(self, program: Program) -> None:
        try:
            value = program.run(self._names())
            if is_awaitable(value):
                self._run_on(value)
                return
            self._keep(value)
        except BaseException as error:
            self._keep_error(error)
        self._settle()
        self._finish()

    def _run_on(self, awaitable: Awaitable[Any]) -> None:
        self._kernel.loop.start(self, self._await(awaitable), self._finish)

    async def _await(self, awaitable: Awaitable[Any]) -> None:
        try:
            self._keep(await enter_awaiting(awaitable))
        except BaseException as error:
            self._keep_error(error)
        self._settle()

    async def _value_of(self, program: Program) -> Any:
        value = await program.run_awaiting(self._names())
        return await enter_awaiting(value) if is_awaitable(value) else value

    def _file(self) -> str:
        """Returns the name of the file that it stands in, as tracebacks tell it."""
        return self._kernel.sources.remember_code(self._code)

    def _names(self) -> dict[str, Any]:
        """Returns the globals that it runs among."""
        return self._kernel.names.names

    def _settle(self) -> None:
        if self._kernel.reactions is not None and not self._kernel.channel.forked:
            self._wave = self._kernel.reactions.settle(self, self._failure)

    def _keep(self, value: object) -> None:
        if value is not None:
            self._result = clip(text_of(value), _MOST)

    def _keep_error(self, error: BaseException) -> None:
        reserve.ensure()
        self._failure = Failure.of(error, self._code, self.stopping)

    def fail(self, error: BaseException) -> None:
        """Ends it and answers, where run itself raised."""
        self._keep_error(error)
        self._finish()

    def _finish(self) -> None:
        if self._kernel.channel.forked:
            os._exit(0 if self._failure is None else 1)  # made by the code, and at its end
        stopped = self._kernel.schedule.finish(self)
        if self._wave is not None:
            self._wave.publish(stopped)
        failed = "ok" if self._failure is None else "error"
        self._answer("interrupted" if stopped else failed)

    def refuse(self) -> None:
        """Answers that it was stopped before it ran."""
        self._answer("interrupted")

    def _answer(self, status: str) -> None:
        failure = self._failure
        answer: dict[str, Any] = {
            "type": "execute_code_response",
            "status": status,
            "result": self._result,
            "stdout": self.sink.text(1),
            "stderr": self.sink.text(2),
            "exception": failure and failure.text,
            "ename": failure and failure.name,
            "error": failure and failure.value,
            "forms": self._forms,
        }
        if self.tx_id is not None:
            answer["agent_tx_id"] = self.tx_id
        self._kernel.channel.send(answer)
