"""One run of an execute_code: code in the user's globals that is not a cell."""

from __future__ import annotations

import os

from assay.run.compiled_code import CompiledCode
from assay.run.failure import Failure
from assay.run.safe_repr import safe_repr, truncate_middle
from assay.run.type_checks import is_awaitable
from assay.run.user_code import await_user_code
from assay.run.work import Work
from assay.wire.memory_reserve import memory_reserve
from assay.wire.sinks import CaptureSink

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable
    from typing import Any

    from assay.run.host import Host, TransactionProtocol

_MAX_RESULT_LENGTH = 1 << 20  # characters


class SnippetRun(Work):
    """The run of one execute_code request: code that is not a cell. It sends one answer.

    While the code awaits, code of other sessions runs. If the value of the last expression can be
    awaited, it is awaited, and its result becomes the value.
    """

    sink: CaptureSink

    def __init__(self, host: Host, code: str, session: str, tx_id: str | None) -> None:
        super().__init__(CaptureSink())
        self.session = session
        self.tx_id = tx_id
        self._host = host
        self._code = code
        self._statement_count = 0
        self._result: str | None = None
        self._failure: Failure | None = None
        self._transaction: TransactionProtocol | None = None
        self.signal_writes = {}

    def run(self) -> None:
        """Starts the code, and sends the answer at once or, if the code awaits, when its asyncio task has ended."""
        compiled = self._compile()
        if compiled is None:
            self._finish_run()
            return
        if self._host.reactivity is not None:
            self._host.reactivity.begin_run(self)
        if compiled.needs_event_loop:
            self._start_task(self._run_async(compiled))
        else:
            self._run_sync(compiled)

    def _compile(self) -> CompiledCode | None:
        """Returns the compiled code, or None, with the error stored, if it cannot be compiled."""
        try:
            compiled = CompiledCode(self._code, self._store_source(), self._host.namespace.future_flags)
        except Exception as error:
            self._store_error(error)
            return None
        self._statement_count = compiled.statement_count
        return compiled

    def _run_sync(self, compiled: CompiledCode) -> None:
        try:
            value = compiled.run(self._globals_for_code())
            if is_awaitable(value):
                self._start_task(value)
                return
            self._store_result(value)
        except BaseException as error:
            self._store_error(error)
        self._apply_signal_writes()
        self._finish_run()

    def _start_task(self, awaitable: Awaitable[Any]) -> None:
        """Runs an awaitable as the asyncio task of this work. The answer is sent when the task has ended."""
        self._host.event_loop.start_task(self, self._await_result(awaitable), self._finish_run)

    async def _await_result(self, awaitable: Awaitable[Any]) -> None:
        try:
            self._store_result(await await_user_code(awaitable))
        except BaseException as error:
            self._store_error(error)
        self._apply_signal_writes()

    async def _run_async(self, compiled: CompiledCode) -> Any:
        value = await compiled.run_async(self._globals_for_code())
        return await await_user_code(value) if is_awaitable(value) else value

    def _store_source(self) -> str:
        """Stores the code's source for tracebacks, and returns the file name under which they show it."""
        return self._host.source_cache.store_snippet(self._code)

    def _globals_for_code(self) -> dict[str, Any]:
        """Returns the dictionary in which the code's global variables are: the user's globals."""
        return self._host.namespace.globals

    def _apply_signal_writes(self) -> None:
        """Applies the signal writes of the code that has ended."""
        if self._host.reactivity is not None and not self._host.channel.is_user_fork:
            self._transaction = self._host.reactivity.end_run(self, self._failure)

    def _store_result(self, value: object) -> None:
        """Stores the repr of the code's value for the answer, cut to about 1 Mi characters. Does nothing for None."""
        if value is not None:
            self._result = truncate_middle(safe_repr(value), _MAX_RESULT_LENGTH)

    def _store_error(self, error: BaseException) -> None:
        """Stores the description of an error for the answer."""
        memory_reserve.release_if_low()
        self._failure = Failure.from_error(error, self._code, self.is_stopping)

    def finish_with_error(self, error: BaseException) -> None:
        """Ends the run and sends the answer with this error, which the kernel itself has raised."""
        self._store_error(error)
        self._finish_run()

    def _finish_run(self) -> None:
        if self._host.channel.is_user_fork:
            os._exit(0 if self._failure is None else 1)  # the code has forked this process
        stopped = self._host.schedule.finish(self)
        if self._transaction is not None:
            self._transaction.publish(stopped)
        status = "ok" if self._failure is None else "error"
        self._send_answer("interrupted" if stopped else status)

    def answer_not_run(self) -> None:
        """Sends an answer with status interrupted, because the code was stopped before it ran."""
        self._send_answer("interrupted")

    def _send_answer(self, status: str) -> None:
        failure = self._failure
        answer: dict[str, Any] = {
            "type": "execute_code_response",
            "status": status,
            "result": self._result,
            "stdout": self.sink.text(1),
            "stderr": self.sink.text(2),
            "exception": failure and failure.traceback,
            "ename": failure and failure.class_name,
            "error": failure and failure.message,
            "forms": self._statement_count,
        }
        if self.tx_id is not None:
            answer["agent_tx_id"] = self.tx_id
        self._host.channel.send(answer)
