"""reset_kernel_globals: puts the kernel back to how it was at the start, as well as possible."""

from __future__ import annotations

import os
import threading

from assay.run.work import Work
from assay.wire.sinks import NullSink

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from assay.run.host import Host


class GlobalsReset(Work):
    """A work that removes the user's tasks, figures, signals, widgets and globals, and restores the folder.

    Threads of the user's cannot be removed; the answer has their names.
    """

    def __init__(self, host: Host, tx_id: str | None) -> None:
        super().__init__(NullSink())
        self.tx_id = tx_id
        self._host = host

    def run(self) -> None:
        """Does all steps of the reset, even if one fails, and sends the answer with the errors."""
        errors: list[str] = []
        steps = (self._cancel_tasks, self._close_figures, self._clear_globals, self._restore_folder)
        for step in steps:
            try:
                step()
            except Exception as error:
                errors.append(f"{type(error).__name__}: {error}")
        self._finish_reset(errors)

    def finish_with_error(self, error: BaseException) -> None:
        """Ends the reset and sends the answer with this error, which the kernel itself has raised."""
        self._finish_reset([f"{type(error).__name__}: {error}"])

    def _finish_reset(self, errors: list[str]) -> None:
        self._host.schedule.finish(self)
        more = {"error": "; ".join(errors)} if errors else {}
        self._send_answer(_list_user_thread_names(), **more)

    def _cancel_tasks(self) -> None:
        self._host.event_loop.cancel_all_tasks(self)

    def _close_figures(self) -> None:
        self._host.renderer.close_figures()

    def _clear_globals(self) -> None:
        if self._host.reactivity is not None:
            self._host.reactivity.clear()
        self._host.namespace.clear()
        self._host.streams.install()

    def _restore_folder(self) -> None:
        os.chdir(self._host.start_folder)

    def answer_not_run(self) -> None:
        """Sends the answer that the reset was stopped before it ran."""
        self._send_answer([], error="stopped before it ran")

    def _send_answer(self, threads: list[str], **more: Any) -> None:
        answer = {"type": "reset_kernel_globals_complete", "threads": threads, **more}
        if self.tx_id is not None:
            answer["agent_tx_id"] = self.tx_id
        self._host.channel.send(answer)


def _list_user_thread_names() -> list[str]:
    """Returns the names of all threads of the user's code that still run, in alphabetical order."""
    main = threading.main_thread()
    return sorted(thread.name for thread in threading.enumerate() if thread is not main)
