"""The kernel: what the main thread does."""

from __future__ import annotations

import builtins
import faulthandler
import os
import signal
import sys
import threading
from _thread import start_new_thread

from assay.alias import Alias
from assay import handlers
from assay.capture import Descriptors
from assay.channel import Channel
from assay.display import clear_output, display, update_display
from assay.doors import rest
from assay.failure import Failure
from assay.hooks import after_import
from assay.interrupt import Interrupter
from assay.loop import Loop
from assay.namespace import Namespace
from assay.pristine import Pristine
from assay.reader import Reader
from assay.reserve import reserve
from assay.schedule import Schedule
from assay.shell import shell
from assay.sources import Sources
from assay.stdio import Stdio
from assay.text import Pacer, Text
from assay.work import WORK, Work, current, foreground

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, NoReturn

    from assay.reactions import Reactions

_PROTOCOL = 1
_SWITCH_INTERVAL = 0.0005  # seconds that a busy cell keeps a summary waiting


class Kernel:
    """A kernel over a socket. Made and served by the main thread, once in a process."""

    def __init__(self, descriptor: int) -> None:
        """Takes over the socket; the process itself is only changed by serve."""
        self.channel = Channel(descriptor)
        self.pacer = Pacer()
        self.names = Namespace()
        self.sources = Sources()
        self.stdio = Stdio()
        self.loop = Loop()
        self.schedule = Schedule(self.channel)
        self.interrupter = Interrupter(self.loop.cancel)
        self.folder = os.getcwd()
        self.reactions: Reactions | None = None  # from when the user imports signals
        self.widget_values: dict[str, Any] = {}  # by key, that widgets begin with
        self._idle = Work(Text(self.channel, self.pacer))
        self._bell = threading.Lock()  # released when there may be something to do

    def serve(self, more: dict[str, object] | None = None) -> NoReturn:
        """Says that it is ready, and runs what is asked for until the socket closes.

        The process then ends at once, whatever runs. more is said in ready, too.
        """
        self._take_over()
        self.channel.send(
            {
                "type": "ready",
                "language": "python",
                "version": sys.version.split()[0],
                "pid": os.getpid(),
                "protocol": _PROTOCOL,
                "actions": True,
                **(more or {}),
            }
        )
        self.pacer.start()
        start_new_thread(bool, ())  # the end of a first thread loads what later ones have no memory for
        start_new_thread(Reader(self).run, ())
        while True:
            try:
                self._step()
            except BaseException as error:  # of a signal handler of the user's, for example
                self._tell(error)

    def _step(self) -> None:
        work = self.schedule.take()
        if work is None:
            self._wait()
        else:
            self._run(work)

    def _tell(self, error: BaseException) -> None:
        self._idle.sink.write(2, Failure.of(error, "", False).text)

    def _run(self, work: Work) -> None:
        reserve.renew()
        self.interrupter.install()
        self.loop.restore()
        foreground.work = work
        token = WORK.set(work)
        try:
            work.run()
        except BaseException as error:
            reserve.ensure()
            if not work.over:
                work.fail(error)
        finally:
            WORK.reset(token)
            foreground.work = self._idle

    def _wait(self) -> None:
        if self.loop.exists:
            self.loop.wait()
        else:
            rest(self._bell.acquire)

    def wake(self) -> None:
        """Makes the main thread look at the schedule. Safe on any thread."""
        try:
            self._bell.release()
        except RuntimeError:  # it was rung already
            pass
        self.loop.wake()

    def _take_over(self) -> None:
        foreground.work = self._idle
        self.names.install()
        self.stdio.install()
        self.interrupter.install()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        handlers.install()
        sys.setswitchinterval(_SWITCH_INTERVAL)
        faulthandler.enable(file=2)
        os.environ.setdefault("MPLBACKEND", "Agg")
        os.environ.setdefault("PLOTLY_RENDERER", "plotly_mimetype")
        shell.kernel = self
        os.register_at_fork(after_in_child=self._after_fork)
        for function in (display, update_display, clear_output, shell.get_ipython):
            setattr(builtins, function.__name__, function)
        self.pristine = Pristine()
        self.pristine.seal(self)
        sys.meta_path.insert(0, Alias())
        after_import(
            {
                "linecache": self.sources.publish,
                "asyncio": self.loop.attach,
                "assay.signals": self._attach_signals,
                "matplotlib.pyplot": _attach_figures,
                "pandas": _attach_tables,
                "plotly.io._renderers": _attach_plots,
                "IPython.core.getipython": shell.attach,
                "IPython.core.display_functions": _attach_display,
                "IPython.display": _attach_display,
            }
        )

    def _attach_signals(self, signals: ModuleType) -> None:
        from assay.reactions import Reactions

        self.reactions = signals.home.reactions = Reactions(self)

    def _after_fork(self) -> None:
        """Makes a fork of the user's an ordinary process: it prints to the descriptors."""
        self.channel.leave()
        for work in (self._idle, foreground.work, current()):
            work.sink = Descriptors()
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _attach_figures(pyplot: ModuleType) -> None:
    from assay.figures import attach

    attach(pyplot)


def _attach_tables(pandas: ModuleType) -> None:
    from assay.tables import attach

    attach(pandas)


def _attach_plots(renderers: ModuleType) -> None:
    from assay.plots import attach

    attach(renderers)


def _attach_display(module: ModuleType) -> None:
    from assay.display import attach

    attach(module)
