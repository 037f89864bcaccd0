"""The kernel: what the main thread does."""

from __future__ import annotations

import builtins
import faulthandler
import os
import signal
import sys
import threading
from _thread import start_new_thread

from assay.dispatcher import Reader
from assay.display.display import clear_output, display, update_display
from assay.display.renderer import Renderer
from assay.run import signal_handlers
from assay.run.event_loop import Loop
from assay.run.failure import Failure
from assay.run.import_hooks import PackageFinder, after_import
from assay.run.interrupter import Interrupter
from assay.run.lazy_ipython import shell
from assay.run.namespace import Namespace
from assay.run.schedule import Schedule
from assay.run.source_cache import Sources
from assay.run.user_code import catch_up, rest
from assay.run.work import WORK, Work, current, current_sink, foreground
from assay.sealing.pristine import Pristine
from assay.wire.channel import Channel
from assay.wire.memory_reserve import reserve
from assay.wire.sinks import Descriptors
from assay.wire.stdio import Stdio
from assay.wire.text_batcher import Pacer, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any, NoReturn

    from assay.reactive.reactivity import Reactions

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
        self.stdio = Stdio(current_sink, catch_up)
        self.renderer = Renderer()
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
        signal_handlers.install()
        sys.setswitchinterval(_SWITCH_INTERVAL)
        faulthandler.enable(file=2)
        os.environ.setdefault("MPLBACKEND", "Agg")
        os.environ.setdefault("PLOTLY_RENDERER", "plotly_mimetype")
        shell.kernel, shell.make = self, self._make_ipython
        os.register_at_fork(after_in_child=self._after_fork)
        for function in (display, update_display, clear_output, shell.get_ipython):
            setattr(builtins, function.__name__, function)
        self.pristine = Pristine()
        self.pristine.seal(self)
        sys.meta_path.insert(0, PackageFinder("lplots", _find_lplots))
        after_import(
            {
                "linecache": self.sources.publish,
                "asyncio": self.loop.attach,
                "assay.reactive.signals": self._attach_signals,
                "matplotlib.pyplot": _attach_figures,
                "pandas": _attach_tables,
                "plotly.io._renderers": _attach_plots,
                "IPython.core.getipython": shell.attach,
                "IPython.core.display_functions": _attach_display,
                "IPython.display": _attach_display,
            }
        )

    def _attach_signals(self, signals: ModuleType) -> None:
        from assay.reactive.reactivity import Reactions
        from assay.widgets.widget_registry import Board, home

        home.board = Board(self.channel.send, self.widget_values)
        self.reactions = signals.home.reactions = Reactions(self, home.board)

    def _make_ipython(self) -> Any:
        try:
            from assay.run.ipython_shell import make
        except ImportError:
            return None
        return make(self)

    def is_drawn_by(self, cell_id: str, value: object) -> bool:
        """Returns whether value is a widget that the cell has made, which its output shows."""
        widget = sys.modules.get("assay.widgets.widget")
        return widget is not None and widget.is_drawn_by(cell_id, value)

    def _after_fork(self) -> None:
        """Makes a fork of the user's an ordinary process: it prints to the descriptors."""
        self.channel.leave()
        for work in (self._idle, foreground.work, current()):
            work.sink = Descriptors()
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _find_lplots(name: str) -> ModuleSpec | None:
    from assay.widgets.lplots import find

    return find(name)


def _attach_figures(pyplot: ModuleType) -> None:
    from assay.display.libraries import attach_figures

    attach_figures(pyplot)


def _attach_tables(pandas: ModuleType) -> None:
    from assay.display.libraries import attach_tables

    attach_tables(pandas)


def _attach_plots(renderers: ModuleType) -> None:
    from assay.display.libraries import attach_plots

    attach_plots(renderers)


def _attach_display(module: ModuleType) -> None:
    from assay.display.display import attach

    attach(module)
