"""The thread that receives the server's requests and dispatches them."""

from __future__ import annotations

import os

from assay.introspect.pristine_snippet import PristineSnippetRun
from assay.introspect.queries import QueryHandlers
from assay.run.cell import CellRun
from assay.run.globals_reset import GlobalsReset
from assay.run.snippet import SnippetRun
from assay.wire.messages import MalformedRequest, Request
from assay.wire.receiver import FramingError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from assay.run.host import Host
    from assay.run.work import Work


class Dispatcher:
    """Handles the server's requests on its own thread, while the main thread runs the user's code.

    Requests to run code are put into the schedule, requests to stop it interrupt the main thread,
    and all others are answered directly. It never runs the user's code and never waits for it.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._handlers: dict[str, Callable[[Request], None]] = {
            "init": self._handle_kernel_init,
            "run_cell": self._run_cell,
            "execute_code": self._execute_code,
            "stop_cell": self._stop_cell,
            "dispose_cell": self._dispose_cell,
            "reset_kernel_globals": self._reset_globals,
            **QueryHandlers(host).handlers_by_type(),
        }

    def run(self) -> None:
        """Handles requests until the server closes the socket, then ends the process with exit status 0.

        After a frame of an impossible length it prints the error to stderr and ends the process
        with status 1.
        """
        status = 1
        try:
            for body in self._host.channel.receive_bodies():
                self._handle_request(body)
            status = 0
        except ConnectionResetError:  # the server has closed the socket with messages unread
            status = 0
        except FramingError as error:
            os.write(2, f"kernel: {error}\n".encode())
        finally:
            os._exit(status)

    def _handle_request(self, body: bytes) -> None:
        """Decodes a request and calls its handler. An error is sent to the server as a message of type error."""
        try:
            request = Request(body)
            handler = self._handlers.get(request.type)
            if handler is None:
                raise MalformedRequest(f"unknown message type {request.type!r}")
            handler(request)
        except MalformedRequest as error:
            self._send_error(str(error))
        except Exception as error:  # for example because no memory or no descriptor is left
            self._send_error(f"a message could not be handled: {type(error).__name__}: {error}")

    def _send_error(self, text: str) -> None:
        self._host.channel.send({"type": "error", "data": {"message": text}})

    def _handle_kernel_init(self, request: Request) -> None:
        """Stores the initial values of widgets that the message init has, by widget key."""
        for key, state in request.get_object("widget_states", {}).items():
            if isinstance(state, dict) and "value" in state:
                self._host.initial_widget_values[key] = state["value"]

    def _run_cell(self, request: Request) -> None:
        self._schedule_work(
            CellRun(self._host, request.get_string("cell_id"), request.get_string("code"))
        )

    def _execute_code(self, request: Request) -> None:
        kind = PristineSnippetRun if request.get_bool("pristine") else SnippetRun
        session: str = request.get_string("session", "")
        self._schedule_work(kind(self._host, request.get_string("code"), session, request.tx_id))

    def _reset_globals(self, request: Request) -> None:
        self._schedule_work(GlobalsReset(self._host, request.tx_id))

    def _schedule_work(self, work: Work) -> None:
        self._host.schedule.add(work)
        self._host.wake()

    def _stop_cell(self, request: Request) -> None:
        """Stops the runs of a cell by its cell_id or, without one, other work by its agent_tx_id."""
        cell_id: str | None = request.get_string("cell_id", None)
        if cell_id is not None:
            self._stop_matching_works(lambda work: work.cell_id == cell_id)
        else:
            tx_id: str = request.get_string("agent_tx_id")
            self._stop_matching_works(lambda work: work.cell_id is None and work.tx_id == tx_id)

    def _dispose_cell(self, request: Request) -> None:
        """Stops the runs of a cell, and forgets its signals and widgets."""
        cell_id: str = request.get_string("cell_id")
        if self._host.reactivity is not None:
            self._host.reactivity.dispose_cell(cell_id)
        self._stop_matching_works(lambda work: work.cell_id == cell_id)

    def _stop_matching_works(self, matches: Callable[[Work], bool]) -> None:
        """Stops the works for which matches returns True: waiting ones are answered, running ones interrupted."""
        for work in self._host.schedule.stop(matches):
            self._host.interrupter.interrupt(work)
        self._host.wake()
