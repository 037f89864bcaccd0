"""The run of a cell."""

from __future__ import annotations

import os
from time import monotonic

from assay.run.compiled_code import Program
from assay.run.failure import Failure
from assay.run.lazy_ipython import shell
from assay.run.schedule import start_cell
from assay.run.type_checks import is_figure, is_plot, is_table
from assay.run.work import Work
from assay.wire.channel import FrameTooLarge
from assay.wire.memory_reserve import reserve
from assay.wire.text_batcher import Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from assay.run.host import Host, Transaction
    from assay.run.work import Cause


class Cell(Work):
    """One run of a cell: start_cell, its text and outputs, cell_result."""

    cell_id: str
    sink: Text

    def __init__(
        self, kernel: Host, cell_id: str, source: str, cause: Cause | None = None
    ) -> None:
        """cause is why it runs again, where that is so."""
        super().__init__(Text(kernel.channel, kernel.pacer, cell_id))
        self.cell_id = cell_id
        self.source = source
        self.cause = cause
        self.writes = {}
        self._kernel = kernel
        self._sequencer = 0
        self._program: Program | None = None
        self._wave: Transaction | None = None

    def begin(self, sequencer: int) -> None:
        """Sends start_cell."""
        self._sequencer = sequencer
        self._kernel.channel.send(start_cell(self.cell_id, sequencer))

    def run(self) -> None:
        """Runs it to its end and sends cell_result."""
        started = monotonic()
        before = self._kernel.names.bindings()
        failures = (self._attempt(self._execute), self._attempt(self._show_figures))
        failure = failures[0] or failures[1]
        if self._kernel.channel.forked:
            self._leave(failure)
        if self._kernel.reactions is not None:
            self._wave = self._kernel.reactions.settle(self, failure)
        if failure is not None:
            self.emit(failure.output())
        assigned = self._program.assigned if self._program and failure is None else set()
        items = self._kernel.names.changed(before, assigned)
        self._finish(failure, items, (monotonic() - started) * 1000)

    def fail(self, error: BaseException) -> None:
        """Ends it and sends cell_result, where run itself raised."""
        self._finish(Failure.of(error, self.source, self.stopping), [], 0)

    def _finish(
        self, failure: Failure | None, items: list[tuple[str, Any]], duration: float
    ) -> None:
        stopped = self._kernel.schedule.finish(self)
        if self._wave is not None:
            self._wave.publish(stopped)
        self.sink.close()
        status = "ok" if failure is None else "error"
        self._answer("interrupted" if stopped else status, failure, items, duration)

    def _attempt(self, step: Callable[[], None]) -> Failure | None:
        try:
            step()
        except BaseException as error:
            reserve.ensure()
            return Failure.of(error, self.source, self.stopping)
        return None

    def _execute(self) -> None:
        if self._kernel.reactions is not None:
            self._kernel.reactions.begin(self)
        filename = f"<cell {self.cell_id}>"
        self._kernel.sources.remember(filename, self.source)
        program = self._program = Program(self.source, filename)
        if self.stopping:
            raise KeyboardInterrupt
        ipython = shell.made
        if ipython is not None:
            ipython.begin_cell(self.source)
        value = self._value(program)
        if ipython is not None:
            ipython.end_cell()
        if value is not None:
            self._kernel.names.names["_"] = value
            if not self._kernel.is_drawn_by(self.cell_id, value):
                self._kernel.renderer.show_result(value, self._sequencer)

    def _value(self, program: Program) -> Any:
        names = self._kernel.names.names
        if program.needs_loop:
            return self._kernel.loop.complete(self, program.run_awaiting(names))
        return program.run(names)

    def _show_figures(self) -> None:
        if self.stopping:
            self._kernel.renderer.close_figures()
        else:
            self._kernel.renderer.show_figures()

    def emit(self, output: dict[str, Any]) -> None:
        """Sends an output, behind the text printed before it."""
        self.sink.flush()
        try:
            self._send_output(output)
        except FrameTooLarge as error:
            told = {"text/plain": f"<an output of {error}, was not sent>"}
            self._send_output({"output_type": "display_data", "data": told, "metadata": {}})

    def _send_output(self, output: dict[str, Any]) -> None:
        self._kernel.channel.send(
            {
                "type": "cell_output",
                "cell_id": self.cell_id,
                "run_sequencer": self._sequencer,
                "output": output,
            }
        )

    def refuse(self) -> None:
        """Sends the cell_result of a run that was stopped before it did anything."""
        if self._kernel.reactions is not None:
            self._kernel.reactions.skip(self.cell_id)
        self._answer("interrupted", None, [], 0)

    def _answer(
        self, status: str, failure: Failure | None, items: list[tuple[str, Any]], duration: float
    ) -> None:
        self._kernel.channel.send(
            {
                "type": "cell_result",
                "cell_id": self.cell_id,
                "run_sequencer": self._sequencer,
                "status": status,
                "has_exception": failure is not None,
                "exception": failure and failure.text,
                "outputs": [name for name, _ in items],
                "dataframe_outputs": [name for name, value in items if is_table(value)],
                "figure_outputs": [name for name, value in items if is_plot(value)],
                "static_figure_outputs": [name for name, value in items if is_figure(value)],
                "duration_ms": round(duration, 3),
            }
        )

    def _leave(self, failure: Failure | None) -> None:
        """Ends this process, a fork made by the cell that came to the cell's end."""
        if failure is not None:
            self.sink.write(2, failure.text)
        self.sink.flush()
        os._exit(0 if failure is None else 1)
