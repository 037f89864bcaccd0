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
    """Removes the user's tasks, figures, signals, widgets and globals, and goes back to the start folder.

    Threads cannot be removed: the answer names them.
    """

    def __init__(self, host: Host, tx_id: str | None) -> None:
        super().__init__(NullSink())
        self.tx_id = tx_id
        self._host = host

    def run(self) -> None:
        """Takes all steps, even after one has failed, and answers with the errors."""
        errors: list[str] = []
        steps = (self._cancel_tasks, self._close_figures, self._clear_globals, self._restore_folder)
        for step in steps:
            try:
                step()
            except Exception as error:
                errors.append(f"{type(error).__name__}: {error}")
        self._finish(errors)

    def finish_with_error(self, error: BaseException) -> None:
        """Ends the reset and answers with error, which run itself raised."""
        self._finish([f"{type(error).__name__}: {error}"])

    def _finish(self, errors: list[str]) -> None:
        self._host.schedule.finish(self)
        more = {"error": "; ".join(errors)} if errors else {}
        self._answer(_user_thread_names(), **more)

    def _cancel_tasks(self) -> None:
        self._host.event_loop.cancel_all(self)

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
        """Answers that the reset was stopped before it ran."""
        self._answer([], error="stopped before it ran")

    def _answer(self, threads: list[str], **more: Any) -> None:
        answer = {"type": "reset_kernel_globals_complete", "threads": threads, **more}
        if self.tx_id is not None:
            answer["agent_tx_id"] = self.tx_id
        self._host.channel.send(answer)


def _user_thread_names() -> list[str]:
    main = threading.main_thread()
    return sorted(thread.name for thread in threading.enumerate() if thread is not main)
