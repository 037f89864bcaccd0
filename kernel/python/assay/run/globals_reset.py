"""reset_kernel_globals: the kernel as it was at the start, as far as that can be."""

from __future__ import annotations

import os
import threading

from assay.run.work import Work
from assay.wire.sinks import Quiet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from assay.run.host import Host


class Reset(Work):
    """Removes what is the user's. What cannot be removed, threads, it names."""

    def __init__(self, kernel: Host, tx_id: str | None) -> None:
        super().__init__(Quiet())
        self.tx_id = tx_id
        self._kernel = kernel

    def run(self) -> None:
        """Resets and answers, also with what went wrong."""
        problems: list[str] = []
        for step in (self._cancel_tasks, self._close_figures, self._clear, self._go_home):
            try:
                step()
            except Exception as error:
                problems.append(f"{type(error).__name__}: {error}")
        self._finish(problems)

    def fail(self, error: BaseException) -> None:
        """Ends it and answers, where run itself raised."""
        self._finish([f"{type(error).__name__}: {error}"])

    def _finish(self, problems: list[str]) -> None:
        self._kernel.schedule.finish(self)
        more = {"error": "; ".join(problems)} if problems else {}
        self._answer(_threads(), **more)

    def _cancel_tasks(self) -> None:
        self._kernel.loop.clear(self)

    def _close_figures(self) -> None:
        self._kernel.renderer.close_figures()

    def _clear(self) -> None:
        if self._kernel.reactions is not None:
            self._kernel.reactions.clear()
        self._kernel.names.clear()
        self._kernel.stdio.install()

    def _go_home(self) -> None:
        os.chdir(self._kernel.folder)

    def refuse(self) -> None:
        """Answers that it was stopped before it ran."""
        self._answer([], error="stopped before it ran")

    def _answer(self, threads: list[str], **more: Any) -> None:
        answer = {"type": "reset_kernel_globals_complete", "threads": threads, **more}
        if self.tx_id is not None:
            answer["agent_tx_id"] = self.tx_id
        self._kernel.channel.send(answer)


def _threads() -> list[str]:
    """Returns the names of the user's threads."""
    main = threading.main_thread()
    return sorted(thread.name for thread in threading.enumerate() if thread is not main)
