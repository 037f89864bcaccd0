"""IPython's shell, adapted to this kernel. Imported only when something needs it."""

from __future__ import annotations

import sys

from IPython.core.displaypub import DisplayPublisher  # type: ignore[import]
from IPython.core.interactiveshell import (  # type: ignore[import]
    ExecutionInfo,
    ExecutionResult,
    InteractiveShell,
)
from IPython.core.pylabtools import select_figure_formats  # type: ignore[import]
from IPython.utils.text import LSString, SList  # type: ignore[import]
from traitlets import Any as Anything
from traitlets import observe
from traitlets.config.configurable import Configurable

from assay.run import shell_command
from assay.run.compiled_code import CompiledCode
from assay.run.failure import Failure
from assay.run.user_code import call_user_code
from assay.run.work import current_work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from assay.run.host import Host


def make_ipython_shell(host: Host) -> InteractiveShell:
    """Returns the process's IPython shell. Its namespace is the user's globals."""
    host.namespace.install_as_main()
    shell: ZMQInteractiveShell = ZMQInteractiveShell.instance(
        user_module=sys.modules["__main__"], user_ns=host.namespace.globals
    )
    shell.colors = "NoColor"
    shell.host = host
    shell.publisher.host = host
    backend = InlineBackend()  # type: ignore[no-untyped-call]
    backend.shell = shell
    shell.configurables.append(backend)
    shell.extension_manager.load_extension("storemagic")
    return shell


class CellPublisher(DisplayPublisher):  # type: ignore[misc]
    """Passes what IPython displays on to the output of the running cell."""

    host: Host

    def publish(self, data: Any, metadata: Any = None, *args: Any, **options: Any) -> None:
        """Shows a MIME bundle, data by MIME type, in the output of the running cell."""
        self.host.renderer.publish(data, metadata, **options)

    def clear_output(self, wait: bool = False) -> None:
        """Clears the output of the running cell: at once or, with wait, when its next output comes."""
        self.host.renderer.clear_output(wait)


_setting: Any = Anything
_observe: Any = observe


class InlineBackend(Configurable):
    """The figure settings that notebooks change by %config: the formats of figures, such as retina and svg."""

    shell: Any = None
    figure_format: Any = _setting().tag(config=True)  # the only format
    figure_formats: Any = _setting().tag(config=True)  # several
    print_figure_kwargs: Any = _setting().tag(config=True)  # for savefig
    rc: Any = _setting().tag(config=True)  # of matplotlib

    @_observe("figure_format")
    def _set_one_format(self, change: Any) -> None:
        self.figure_formats = {change["new"]}

    @_observe("figure_formats", "print_figure_kwargs")
    def _select_formats(self, _: Any) -> None:
        formats = self.figure_formats or {"png"}
        options = {"bbox_inches": "tight", **(self.print_figure_kwargs or {})}
        select_figure_formats(self.shell, {formats} if isinstance(formats, str) else set(formats), **options)

    @_observe("rc")
    def _set_rc(self, change: Any) -> None:
        import matplotlib  # type: ignore[import]

        matplotlib.rcParams.update(change["new"])


class ZMQInteractiveShell(InteractiveShell):  # type: ignore[misc]
    """An IPython shell without history, prompts, colours and event loop integration.

    It provides the magics and the formatters; cells do not run in it. Libraries tell a notebook
    from a terminal by the name of this class and its attribute kernel.
    """

    host: Host
    kernel = None

    def init_history(self) -> None:
        """Turns IPython's history off: no database, and no thread that writes it."""
        self.config.HistoryManager.enabled = False
        super().init_history()

    def init_display_pub(self) -> None:
        self.display_pub = self.publisher = CellPublisher(parent=self)

    def init_virtualenv(self) -> None:
        """Does nothing; IPython's own method would change sys.path."""

    def init_hooks(self) -> None:
        super().init_hooks()
        self.set_hook("show_in_pager", _print_pager_text, 99)

    def init_user_ns(self) -> None:
        """Sets the variables _ih, _oh and _dh, which magics use, and hides them from lists of the user's variables."""
        history = self.history_manager
        hidden_names = {
            "_ih": history.input_hist_parsed,
            "_oh": history.output_hist,
            "_dh": history.dir_hist,
        }
        self.user_ns_hidden.update(hidden_names)
        self.user_ns_hidden.update((name, self.user_ns.get(name)) for name in ("In", "Out"))
        self.user_ns.update(hidden_names)

    def system(self, cmd: str) -> None:
        """Runs a command in a shell, prints its output, and stores its exit status in _exit_code."""
        self.user_ns["_exit_code"] = shell_command.run_command(self.var_expand(cmd, depth=1))

    system_piped = system_raw = system

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> Any:
        """Runs a command in a shell, stores its exit status in _exit_code, and returns its output."""
        text, status = shell_command.capture_command(self.var_expand(cmd, depth=depth + 1))
        self.user_ns["_exit_code"] = status
        return SList(text.splitlines()) if split else LSString(text)

    def trigger_cell_start(self, source: str) -> None:
        """Calls the functions that are registered to run before a cell, by %autoreload for example."""
        call_user_code(self.events.trigger, "pre_execute")
        call_user_code(self.events.trigger, "pre_run_cell", _make_execution_info(source))

    def trigger_cell_end(self) -> None:
        """Calls the functions that are registered to run after a cell that ended without an error."""
        call_user_code(self.events.trigger, "post_execute")
        call_user_code(self.events.trigger, "post_run_cell", ExecutionResult(None))

    def run_cell(self, raw_cell: str, store_history: bool = False, silent: bool = False, *_: Any, **__: Any) -> Any:
        """Runs source code like a cell, shows its value unless silent, and returns IPython's ExecutionResult.

        An error is printed to stderr and is in the result, as in IPython; if a magic runs the code,
        the error is raised, so that the cell fails with it.
        """
        result = ExecutionResult(_make_execution_info(raw_cell, store_history, silent))
        try:
            value = self._evaluate(raw_cell)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) or _is_called_by_magic():
                raise
            if isinstance(error, SyntaxError):
                result.error_before_exec = error
            else:
                result.error_in_exec = error
            print(Failure.from_error(error, raw_cell, False).traceback, end="", file=sys.stderr)
            value = None
        if value is not None and not silent:
            result.result = value
            self.host.renderer.show(value)
        self.host.renderer.show_figures()
        self.last_execution_succeeded, self.last_execution_result = result.success, result
        return result

    def _evaluate(self, source: str) -> Any:
        """Compiles and runs source code for a magic. Returns the value of its last expression, or None."""
        filename = f"<magic in {current_work().cell_id or 'code'}>"
        self.host.source_cache.store(filename, source)
        compiled = CompiledCode(source, filename, self.host.namespace.future_flags)
        self.host.namespace.future_flags |= compiled.future_flags
        if compiled.needs_event_loop:
            return self.host.event_loop.run_to_end(current_work(), compiled.run_async(self.user_ns))
        return compiled.run(self.user_ns)

    def showtraceback(self, exc_tuple: Any = None, *_: Any, **__: Any) -> None:
        """Raises the exception that a magic has just caught, so that the cell fails with it.

        Other exceptions, of formatters and of functions that run before and after cells, are printed
        to stderr.
        """
        error = sys.exc_info()[1] if exc_tuple is None else exc_tuple[1]
        if exc_tuple is None and error is not None and _is_called_by_magic():
            raise error
        if error is not None:
            print(Failure.from_error(error, "", False).traceback, end="", file=sys.stderr)

    showsyntaxerror = show_usage_error = showtraceback

    def debugger(self, force: bool = False) -> None:
        """Is called by %debug. Prints that there is no input for a debugger."""
        print("%debug needs input, which this notebook does not offer; sys.last_value has the error", file=sys.stderr)

    def enable_gui(self, gui: str | None = None) -> None:
        """Does nothing, because there is no display for windows."""

    def enable_matplotlib(self, gui: str | None = None) -> tuple[str, str]:
        """Does nothing, since figures are always shown in the notebook. Prints so if another backend is wanted."""
        if gui not in (None, "inline", "agg"):
            print(f"figures are shown in the notebook, not by {gui!r}", file=sys.stderr)
        return "inline", "agg"

    def registered_formatters(self, value: object) -> Iterator[tuple[str, Any]]:
        """Yields the functions that the user has registered with IPython to show value, with their MIME types.

        The type is "" for a function that returns a whole MIME bundle.
        """
        formatters = dict(self.display_formatter.formatters)
        formatters[""] = self.display_formatter.mimebundle_formatter
        formatters.pop("text/plain")
        for mime, formatter in formatters.items():
            try:
                yield mime, formatter.lookup(value)
            except KeyError:
                pass

    def plain_text(self, value: object) -> str:
        """Returns the text/plain of value as %precision, %pprint and registered printers want it."""
        formatter = self.display_formatter.formatters["text/plain"]
        call = type(formatter).__call__
        text = call_user_code(getattr(call, "__wrapped__", call), formatter, value)
        return str(text)


def _is_called_by_magic() -> bool:
    """Returns whether the calling code is on behalf of a magic: %%capture for example runs its cell with run_cell."""
    frame = sys._getframe()
    magics = (InteractiveShell.run_line_magic.__code__, InteractiveShell.run_cell_magic.__code__)
    while frame is not None and frame.f_code not in magics:
        frame = frame.f_back  # type: ignore[assignment]
    return frame is not None


def _make_execution_info(source: str, store_history: bool = False, silent: bool = False) -> ExecutionInfo:
    """Returns the object that functions registered to run before a cell get."""
    try:
        return ExecutionInfo(source, store_history, silent, True, None)
    except TypeError:  # older versions have no cell_id
        return ExecutionInfo(source, store_history, silent, True)


def _print_pager_text(_: Any, data: Any, *args: Any, **options: Any) -> None:
    """Prints the text that IPython would show in a pager."""
    print(data["text/plain"] if isinstance(data, dict) else data)
