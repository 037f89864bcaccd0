"""IPython's shell as this kernel has it. Imported when something asks for it."""

from __future__ import annotations

import sys

from IPython.core.displaypub import DisplayPublisher  # type: ignore[import]
from IPython.core.interactiveshell import (  # type: ignore[import]
    ExecutionInfo,
    ExecutionResult,
    InteractiveShell,
)
from IPython.utils.text import LSString, SList  # type: ignore[import]
from traitlets import Any as Anything
from traitlets.config.configurable import Configurable

from assay.run import shell_command
from assay.run.compiled_code import Program
from assay.run.failure import Failure
from assay.run.user_code import enter
from assay.run.work import current

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from assay.run.host import Host


def make(kernel: Host) -> InteractiveShell:
    """Makes the shell of the process, whose namespace is the user's globals."""
    kernel.names.install()
    made: ZMQInteractiveShell = ZMQInteractiveShell.instance(
        user_module=sys.modules["__main__"], user_ns=kernel.names.names
    )
    made.colors = "NoColor"
    made.cells = kernel
    made.publisher.cells = kernel
    made.configurables.append(InlineBackend())  # type: ignore[no-untyped-call]
    made.extension_manager.load_extension("storemagic")
    return made


class Publisher(DisplayPublisher):  # type: ignore[misc]
    """What IPython displays, it displays in the output of the running cell."""

    cells: Host

    def publish(self, data: Any, metadata: Any = None, *args: Any, **options: Any) -> None:
        """Shows a mime bundle."""
        self.cells.renderer.publish(data, metadata, **options)

    def clear_output(self, wait: bool = False) -> None:
        """Clears the output of the running cell."""
        self.cells.renderer.clear_output(wait)


_setting: Any = Anything


class InlineBackend(Configurable):
    """What notebooks set of their figures by %config. It has no effect: they are PNG."""

    figure_format: Any = _setting().tag(config=True)
    figure_formats: Any = _setting().tag(config=True)
    print_figure_kwargs: Any = _setting().tag(config=True)
    rc: Any = _setting().tag(config=True)


class ZMQInteractiveShell(InteractiveShell):  # type: ignore[misc]
    """A shell without history, prompts, colours and event loop integration.

    Cells do not run in it: it has the magics and the formatters. Its name and
    its attribute kernel are how libraries tell a notebook from a terminal.
    """

    cells: Host
    kernel = None

    def init_history(self) -> None:
        """Keeps no history: no database, and no thread that writes it."""
        self.config.HistoryManager.enabled = False
        super().init_history()

    def init_display_pub(self) -> None:
        self.display_pub = self.publisher = Publisher(parent=self)

    def init_virtualenv(self) -> None:
        """Leaves sys.path alone."""

    def init_hooks(self) -> None:
        super().init_hooks()
        self.set_hook("show_in_pager", _print_page, 99)

    def init_user_ns(self) -> None:
        """Puts in place what magics look for, under names that are no user's."""
        history = self.history_manager
        hidden = {
            "_ih": history.input_hist_parsed,
            "_oh": history.output_hist,
            "_dh": history.dir_hist,
        }
        self.user_ns_hidden.update(hidden)
        self.user_ns.update(hidden)

    def system(self, cmd: str) -> None:
        """Runs a command in a shell; its exit status becomes _exit_code."""
        self.user_ns["_exit_code"] = shell_command.run(self.var_expand(cmd, depth=1))

    system_piped = system_raw = system

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> Any:
        """Runs a command in a shell and returns what it prints."""
        text, status = shell_command.output(self.var_expand(cmd, depth=depth + 1))
        self.user_ns["_exit_code"] = status
        return SList(text.splitlines()) if split else LSString(text)

    def begin_cell(self, source: str) -> None:
        """Has those do their part who wait for a cell to begin: %autoreload, for one."""
        enter(self.events.trigger, "pre_execute")
        enter(self.events.trigger, "pre_run_cell", _asked(source))

    def end_cell(self) -> None:
        """Has those do their part who wait for a cell to end without an error."""
        enter(self.events.trigger, "post_execute")
        enter(self.events.trigger, "post_run_cell", ExecutionResult(None))

    def run_cell(self, raw_cell: str, *args: Any, silent: bool = False, **_: Any) -> Any:
        """Runs source for a magic, shows its value, and raises what it raises."""
        result = ExecutionResult(None)
        result.result = self._evaluate(raw_cell)
        if result.result is not None and not silent:
            self.cells.renderer.show(result.result)
        self.cells.renderer.show_figures()
        return result

    def _evaluate(self, source: str) -> Any:
        filename = f"<magic in {current().cell_id or 'code'}>"
        self.cells.sources.remember(filename, source)
        program = Program(source, filename)
        if program.needs_loop:
            return self.cells.loop.complete(current(), program.run_awaiting(self.user_ns))
        return program.run(self.user_ns)

    def showtraceback(self, exc_tuple: Any = None, *_: Any, **__: Any) -> None:
        """Raises the exception that a magic has caught; it is the cell's.

        One that is handed over, a formatter's for example, is printed.
        """
        error = sys.exc_info()[1]
        if exc_tuple is None and error is not None:
            raise error
        if exc_tuple is not None:
            print(Failure.of(exc_tuple[1], "", False).text, end="", file=sys.stderr)

    showsyntaxerror = show_usage_error = showtraceback

    def enable_gui(self, gui: str | None = None) -> None:
        """Has no effect: there is no display for windows."""

    def enable_matplotlib(self, gui: str | None = None) -> tuple[str, str]:
        """Leaves matplotlib as it is: figures are shown in the notebook."""
        if gui not in (None, "inline", "agg"):
            print(f"figures are shown in the notebook, not by {gui!r}", file=sys.stderr)
        return "inline", "agg"

    def registered(self, value: object) -> Iterator[tuple[str, Any]]:
        """Yields the functions that the user registered to show value, by mime type.

        The type of one that gives a whole bundle is empty.
        """
        formatters = dict(self.display_formatter.formatters)
        formatters[""] = self.display_formatter.mimebundle_formatter
        formatters.pop("text/plain")
        for mime, formatter in formatters.items():
            try:
                yield mime, formatter.lookup(value)
            except KeyError:
                pass

    def plain(self, value: object) -> str:
        """Returns the text of value as %precision, %pprint and registered printers have it."""
        formatter = self.display_formatter.formatters["text/plain"]
        call = type(formatter).__call__
        text = enter(getattr(call, "__wrapped__", call), formatter, value)
        return str(text)


def _asked(source: str) -> ExecutionInfo:
    """Returns what listeners are told of a cell; what this has depends on the version."""
    try:
        return ExecutionInfo(source, False, False, True, None)
    except TypeError:
        return ExecutionInfo(source, False, False, True)


def _print_page(_: Any, data: Any, *args: Any, **options: Any) -> None:
    """Shows the text that a pager would show."""
    print(data["text/plain"] if isinstance(data, dict) else data)
