"""One run of a cell."""

from __future__ import annotations

import os
import sys
from time import monotonic

from assay.run.compiled_code import CompiledCode
from assay.run.failure import Failure
from assay.run.lazy_ipython import lazy_ipython
from assay.run.schedule import make_start_cell_message
from assay.run.type_checks import is_dataframe, is_matplotlib_figure, is_plotly_figure
from assay.run.user_code import KERNEL_PATH
from assay.run.work import Work
from assay.wire.channel import FrameTooLarge
from assay.wire.memory_reserve import memory_reserve
from assay.wire.text_batcher import TextBatcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from assay.run.host import Host, TransactionProtocol
    from assay.run.work import RerunCause


class CellRun(Work):
    """One run of a cell. Sends start_cell, then the text and outputs of the run, then cell_result."""

    cell_id: str
    sink: TextBatcher

    def __init__(
        self, host: Host, cell_id: str, source: str, rerun_cause: RerunCause | None = None
    ) -> None:
        """Makes a run of a cell. rerun_cause is set if the cell runs again because a signal has changed."""
        super().__init__(TextBatcher(host.channel, host.flush_timer, cell_id))
        self.cell_id = cell_id
        self.source = source
        self.rerun_cause = rerun_cause
        self.signal_writes = {}
        self._host = host
        self._run_number = 0
        self._compiled: CompiledCode | None = None
        self._transaction: TransactionProtocol | None = None

    def announce_start(self, run_number: int) -> None:
        """Sends start_cell with the number of the run."""
        self._run_number = run_number
        self._host.channel.send(make_start_cell_message(self.cell_id, run_number))

    def run(self) -> None:
        """Runs the cell's code, shows open figures, applies signal writes, and sends cell_result."""
        started = monotonic()
        before = self._host.namespace.snapshot()
        failures = (self._run_step(self._compile_and_run), self._run_step(self._show_figures))
        failure = failures[0] or failures[1]
        if self._host.channel.is_user_fork:
            self._exit_fork(failure)
        if self._host.reactivity is not None:
            self._transaction = self._host.reactivity.end_run(self, failure)
        if failure is not None:
            self.emit_output(failure.as_notebook_output())
        assigned = self._compiled.assigned_names if self._compiled and failure is None else set()
        items = self._host.namespace.changed_since(before, assigned)
        self._finish_run(failure, items, (monotonic() - started) * 1000)

    def finish_with_error(self, error: BaseException) -> None:
        """Ends the run and sends a cell_result with this error, which the kernel itself has raised."""
        self._finish_run(Failure.from_error(error, self.source, self.is_stopping), [], 0)

    def _finish_run(
        self, failure: Failure | None, items: list[tuple[str, Any]], duration_ms: float
    ) -> None:
        """Ends the run in the schedule, publishes changed signals and widgets, and sends cell_result."""
        stopped = self._host.schedule.finish(self)
        if self._transaction is not None:
            self._transaction.publish(stopped)
        self.sink.close()
        status = "ok" if failure is None else "error"
        self._send_result("interrupted" if stopped else status, failure, items, duration_ms)

    def _run_step(self, step: Callable[[], None]) -> Failure | None:
        """Calls one step of the run. Returns the failure that it raised, or None."""
        try:
            step()
        except BaseException as error:
            memory_reserve.release_if_low()
            failure = Failure.from_error(error, self.source, self.is_stopping)
            _remember_error(error)
            return failure
        return None

    def _compile_and_run(self) -> None:
        """Compiles and runs the cell's source, and shows the value of the last expression unless it is None."""
        compiled = self._compile()
        if self._host.reactivity is not None:
            self._host.reactivity.begin_run(self)
        if self.is_stopping:
            raise KeyboardInterrupt
        ipython = lazy_ipython.shell
        if ipython is not None:
            ipython.trigger_cell_start(self.source)
        value = self._run_compiled(compiled)
        if ipython is not None:
            ipython.trigger_cell_end()
        if value is not None:
            self._host.namespace.results.add_value(self._run_number, value, self._host.namespace.globals)
            if not self._host.is_widget_of_cell(self.cell_id, value):
                self._host.renderer.show_result(value, self._run_number)

    def _compile(self) -> CompiledCode:
        """Compiles the cell's source. If that fails, the cell goes on to read the signals that it has read before."""
        namespace = self._host.namespace
        filename = self._host.source_cache.store_cell(self.cell_id, self.source)
        namespace.results.add_source(self._run_number, self.source)
        try:
            compiled = self._compiled = CompiledCode(self.source, filename, namespace.future_flags)
        except Exception:
            if self._host.reactivity is not None:
                self._host.reactivity.record_source(self.cell_id, self.source)
            raise
        namespace.future_flags |= compiled.future_flags
        return compiled

    def _run_compiled(self, compiled: CompiledCode) -> Any:
        """Runs compiled code in the user's globals. Returns the value of the last expression, or None."""
        namespace = self._host.namespace.globals
        if compiled.needs_event_loop:
            return self._host.event_loop.run_to_end(self, compiled.run_async(namespace))
        return compiled.run(namespace)

    def _show_figures(self) -> None:
        """Shows the open matplotlib figures. If the cell was stopped, closes them without showing."""
        if self.is_stopping:
            self._host.renderer.close_figures()
        else:
            self._host.renderer.show_figures()

    def emit_output(self, output: dict[str, Any]) -> None:
        """Sends an output of the cell, after the text printed before it.

        An output that is too large for a message is replaced by a note.
        """
        self.sink.flush()
        try:
            self._send_output(output)
        except FrameTooLarge as error:
            note = {"text/plain": f"<an output of {error}, was not sent>"}
            self._send_output({"output_type": "display_data", "data": note, "metadata": {}})

    def _send_output(self, output: dict[str, Any]) -> None:
        self._host.channel.send(
            {
                "type": "cell_output",
                "cell_id": self.cell_id,
                "run_sequencer": self._run_number,
                "output": output,
            }
        )

    def answer_not_run(self) -> None:
        """Sends a cell_result with status interrupted, because the run was stopped before it began."""
        if self._host.reactivity is not None:
            self._host.reactivity.resend_widgets(self.cell_id)
        self._send_result("interrupted", None, [], 0)

    def _send_result(
        self, status: str, failure: Failure | None, items: list[tuple[str, Any]], duration_ms: float
    ) -> None:
        """Sends cell_result. items are names and values of the variables that the run has assigned."""
        self._host.channel.send(
            {
                "type": "cell_result",
                "cell_id": self.cell_id,
                "run_sequencer": self._run_number,
                "status": status,
                "has_exception": failure is not None,
                "exception": failure and failure.traceback,
                "outputs": [name for name, _ in items],
                "dataframe_outputs": [name for name, value in items if is_dataframe(value)],
                "figure_outputs": [name for name, value in items if is_plotly_figure(value)],
                "static_figure_outputs": [name for name, value in items if is_matplotlib_figure(value)],
                "duration_ms": round(duration_ms, 3),
            }
        )

    def _exit_fork(self, failure: Failure | None) -> None:
        """Ends this process, which the cell has forked and which has come to the end of the cell's code.

        Its exit status is 0, or 1 if the code failed.
        """
        if failure is not None:
            self.sink.write(2, failure.traceback)
        self.sink.flush()
        os._exit(0 if failure is None else 1)


def _remember_error(error: BaseException) -> None:
    """Sets sys.last_value and its companions, for %debug and pdb.pm(), without the kernel's frames.

    They keep the variables of all functions that the error came through, so not when memory ran out.
    """
    if isinstance(error, MemoryError):
        return
    link = error.__traceback__
    while link is not None and link.tb_frame.f_code.co_filename.startswith(KERNEL_PATH):
        link = link.tb_next
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, link
    sys.last_exc = error  # type: ignore[attr-defined]
