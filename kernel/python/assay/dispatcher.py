"""The thread that receives requests."""

from __future__ import annotations

import os

from assay.introspect.pristine_snippet import Examination
from assay.introspect.queries import Answers
from assay.run.cell import Cell
from assay.run.globals_reset import Reset
from assay.run.snippet import Snippet
from assay.wire.channel import BrokenChannel
from assay.wire.messages import Malformed, Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from assay.run.host import Host
    from assay.run.work import Work
    from assay.sealing.pristine import Renew


class Reader:
    """Schedules what the main thread has to run, stops it, and answers the rest.

    It never runs the user's code, and never waits for it.
    """

    def __init__(self, kernel: Host) -> None:
        self._kernel = kernel
        self._handlers: dict[str, Callable[[Request], None]] = {
            "init": self._init,
            "run_cell": self._run_cell,
            "stop_cell": self._stop_cell,
            "dispose_cell": self._dispose_cell,
            "reset_kernel_globals": self._reset,
            **Answers(kernel).handlers(),
        }

    def run(self) -> None:
        """Handles requests until the server closes the socket, and ends the process then."""
        status = 1
        renew = self._kernel.pristine.take()
        try:
            for body in self._kernel.channel.bodies():
                if b'"pristine"' in body:  # an execute_code may have it
                    renew()  # before what it calls here is looked up
                self._handle(body, renew)
            status = 0
        except BrokenChannel as error:
            os.write(2, f"kernel: {error}\n".encode())
        finally:
            os._exit(status)

    def _handle(self, body: bytes, renew: Renew) -> None:
        try:
            request = Request(body)
            handler = self._handlers.get(request.type)
            if request.type == "execute_code":
                self._execute_code(request, renew)
                return
            if handler is None:
                raise Malformed(f"unknown message type {request.type!r}")
            handler(request)
        except Malformed as error:
            self._refuse(str(error))
        except Exception as error:  # no memory or no descriptor is left, for example
            self._refuse(f"a message could not be handled: {type(error).__name__}: {error}")

    def _refuse(self, text: str) -> None:
        self._kernel.channel.send({"type": "error", "data": {"message": text}})

    def _init(self, request: Request) -> None:
        """Keeps the values of widgets: their states by key, as cell_widgets has them."""
        for key, state in request.object("widget_states", {}).items():
            if isinstance(state, dict) and "value" in state:
                self._kernel.widget_values[key] = state["value"]

    def _run_cell(self, request: Request) -> None:
        self._add(Cell(self._kernel, request.text("cell_id"), request.text("code")))

    def _execute_code(self, request: Request, renew: Renew) -> None:
        session: str = request.text("session", "")
        asked = (self._kernel, request.text("code"), session, request.tx_id)
        self._add(Examination(*asked, renew) if request.flag("pristine") else Snippet(*asked))

    def _reset(self, request: Request) -> None:
        self._add(Reset(self._kernel, request.tx_id))

    def _add(self, work: Work) -> None:
        self._kernel.schedule.add(work)
        self._kernel.wake()

    def _stop_cell(self, request: Request) -> None:
        cell_id: str | None = request.text("cell_id", None)
        if cell_id is not None:
            self._stop(lambda work: work.cell_id == cell_id)
        else:
            tx_id: str = request.text("agent_tx_id")
            self._stop(lambda work: work.cell_id is None and work.tx_id == tx_id)

    def _dispose_cell(self, request: Request) -> None:
        cell_id: str = request.text("cell_id")
        if self._kernel.reactions is not None:
            self._kernel.reactions.dispose(cell_id)
        self._stop(lambda work: work.cell_id == cell_id)

    def _stop(self, matches: Callable[[Work], bool]) -> None:
        for work in self._kernel.schedule.stop(matches):
            self._kernel.interrupter.interrupt(work)
        self._kernel.wake()
