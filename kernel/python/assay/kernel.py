"""The kernel process: the main thread, and how the parts of the package are joined."""

from __future__ import annotations

import builtins
import faulthandler
import os
import signal
import sys
import threading
from _thread import start_new_thread

from assay.dispatcher import Dispatcher
from assay.display.display import clear_output, display, update_display
from assay.display.renderer import Renderer
from assay.run import signal_handlers
from assay.run.event_loop import EventLoop
from assay.run.failure import Failure
from assay.run.import_hooks import VirtualPackageFinder, run_after_import
from assay.run.interrupter import Interrupter
from assay.run.lazy_ipython import lazy_ipython
from assay.run.namespace import Namespace
from assay.run.schedule import Schedule
from assay.run.source_cache import SourceCache
from assay.run.user_code import run_deferred_actions, wait_idle
from assay.run.work import CURRENT_WORK, Work, current_sink, current_work, foreground
from assay.wire.channel import Channel
from assay.wire.memory_reserve import memory_reserve
from assay.wire.process_output import call_before_process_start
from assay.wire.sinks import DescriptorSink
from assay.wire.stdio import StandardStreams
from assay.wire.text_batcher import FlushTimer, TextBatcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any, NoReturn

    from assay.reactive.reactivity import Reactivity

_PROTOCOL_VERSION = 1
_SWITCH_INTERVAL = 0.0005  # seconds for which a busy cell may delay the thread that answers requests


class Kernel:
    """The kernel process: joins the parts of the package and runs the user's code for the server at one socket.

    The main thread makes one Kernel in a process and calls serve on it.
    """

    def __init__(self, descriptor: int) -> None:
        """Makes the parts of the kernel and takes over the socket. Changes to the process itself are made by serve."""
        self.channel = Channel(descriptor)
        self.flush_timer = FlushTimer()
        self.namespace = Namespace()
        self.source_cache = SourceCache()
        self.streams = StandardStreams(current_sink, run_deferred_actions)
        self.renderer = Renderer()
        self.event_loop = EventLoop()
        self.schedule = Schedule(self.channel)
        self.interrupter = Interrupter(self.event_loop.cancel_task)
        self.start_folder = os.getcwd()
        self.reactivity: Reactivity | None = None  # set when the user's code imports signals
        self.initial_widget_values: dict[str, Any] = {}  # by widget key, from the message init
        self._idle_work = Work(TextBatcher(self.channel, self.flush_timer))  # owns text between runs
        self._wakeup = threading.Lock()  # released when the schedule may have work

    def serve(self, ready_fields: dict[str, object] | None = None) -> NoReturn:
        """Sends the ready message and runs requested code until the socket closes, which ends the process.

        ready_fields are additional fields of the ready message.
        """
        self._set_up_process()
        self.channel.send(
            {
                "type": "ready",
                "language": "python",
                "version": sys.version.split()[0],
                "pid": os.getpid(),
                "protocol": _PROTOCOL_VERSION,
                "actions": True,
                **(ready_fields or {}),
            }
        )
        self.flush_timer.start()
        # The end of the process's first thread loads libraries. Once the user's
        # code has used up all memory it would be too late for that.
        start_new_thread(bool, ())
        start_new_thread(Dispatcher(self).run, ())
        while True:
            try:
                self._run_next_work()
            except BaseException as error:  # for example one that a signal handler of the user's raised
                self._print_error(error)

    def _run_next_work(self) -> None:
        """Runs the next work of the schedule, or waits until there may be one."""
        work = self.schedule.start_next()
        if work is None:
            self._wait_for_work()
        else:
            self._run_work(work)

    def _print_error(self, error: BaseException) -> None:
        """Prints the traceback of an error that no work has raised, as text of no cell."""
        self._idle_work.sink.write(2, Failure.from_error(error, "", False).traceback)

    def _run_work(self, work: Work) -> None:
        """Runs a work on the main thread. If the work's run method itself fails, it is finished with that error."""
        memory_reserve.refill()
        self.interrupter.install_sigint_handler()
        self.event_loop.make_current()
        foreground.work = work
        token = CURRENT_WORK.set(work)
        try:
            work.run()
        except BaseException as error:
            memory_reserve.release_if_low()
            if not work.is_over:
                work.finish_with_error(error)
        finally:
            CURRENT_WORK.reset(token)
            foreground.work = self._idle_work

    def _wait_for_work(self) -> None:
        """Waits until wake is called. Meanwhile background tasks of the event loop run, if there is a loop."""
        if self.event_loop.has_loop:
            self.event_loop.run_until_woken()
        else:
            wait_idle(self._wakeup.acquire)

    def wake(self) -> None:
        """Makes the main thread look for work in the schedule again. Safe on any thread."""
        try:
            self._wakeup.release()
        except RuntimeError:  # it was released already
            pass
        self.event_loop.wake()

    def _set_up_process(self) -> None:
        """Changes the process for the user's code: __main__, streams, signals, builtins and hooks into imports."""
        foreground.work = self._idle_work
        self.namespace.install_as_main()
        self.streams.install()
        self.interrupter.install_sigint_handler()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal_handlers.replace_signal_functions()
        sys.setswitchinterval(_SWITCH_INTERVAL)
        faulthandler.enable(file=2)
        os.environ.setdefault("MPLBACKEND", "Agg")
        os.environ.setdefault("PLOTLY_RENDERER", "plotly_mimetype")
        lazy_ipython.host, lazy_ipython.make_shell = self, self._make_ipython_shell
        os.register_at_fork(after_in_child=self._after_user_fork)
        call_before_process_start(lambda: current_sink().flush())
        for function in (display, update_display, clear_output, lazy_ipython.get_ipython):
            setattr(builtins, function.__name__, function)
        sys.meta_path.insert(0, VirtualPackageFinder("lplots", _find_lplots_module))
        run_after_import(
            {
                "linecache": self.source_cache.fill_linecache,
                "asyncio": self.event_loop.on_asyncio_imported,
                "assay.reactive.signals": self._enable_reactivity,
                "matplotlib.pyplot": _adapt_pyplot,
                "pandas": _adapt_pandas,
                "plotly.io._renderers": _adapt_plotly,
                "IPython.core.getipython": lazy_ipython.replace_get_ipython,
                "IPython.core.display_functions": _adapt_ipython_display,
                "IPython.display": _adapt_ipython_display,
            }
        )

    def _enable_reactivity(self, signals: Any) -> None:
        """Makes the registry of widgets and the Reactivity, right after the user's code first imports signals.

        signals is the module assay.reactive.signals.
        """
        from assay.reactive.reactivity import Reactivity
        from assay.widgets import widget_registry

        registry = widget_registry.WidgetRegistry(self.channel.send, self.initial_widget_values)
        widget_registry.registry = registry
        self.reactivity = signals.tracker = Reactivity(self, registry)

    def _make_ipython_shell(self) -> Any:
        """Returns a new IPython shell, or None if IPython is not installed."""
        try:
            from assay.run.ipython_shell import make_ipython_shell
        except ImportError:
            return None
        return make_ipython_shell(self)

    def is_widget_of_cell(self, cell_id: str, value: object) -> bool:
        """Returns whether value is a widget that this cell has made. The console shows it without an output."""
        widget = sys.modules.get("assay.widgets.widget")  # not loaded: there are no widgets
        return widget is not None and widget.is_widget_of_cell(cell_id, value)

    def _after_user_fork(self) -> None:
        """Turns a process that the user's code has forked into an ordinary one, without the socket.

        What it prints goes to descriptors 1 and 2.
        """
        self.channel.detach_fork()
        for work in (self._idle_work, foreground.work, current_work()):
            work.sink = DescriptorSink()
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _find_lplots_module(name: str) -> ModuleSpec | None:
    from assay.widgets.lplots import find_lplots_module

    return find_lplots_module(name)


def _adapt_pyplot(pyplot: ModuleType) -> None:
    from assay.display.libraries import adapt_pyplot

    adapt_pyplot(pyplot)


def _adapt_pandas(pandas: ModuleType) -> None:
    from assay.display.pandas_options import adapt_pandas

    adapt_pandas(pandas)


def _adapt_plotly(renderers: ModuleType) -> None:
    from assay.display.libraries import adapt_plotly

    adapt_plotly(renderers)


def _adapt_ipython_display(module: ModuleType) -> None:
    from assay.display.display import adapt_ipython_display

    adapt_ipython_display(module)
