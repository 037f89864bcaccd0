"""The magics that work without IPython: %pip, %cd, %pwd, %matplotlib inline and !command."""

from __future__ import annotations

import importlib
import os
import shlex
import sys

from assay.run import shell_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class UsageError(Exception):
    """Raised for a magic that needs IPython if IPython is not installed."""

    __module__ = "builtins"  # so that no module is shown before the name


class BasicMagics:
    """A small replacement of IPython's shell, for the user's cells if IPython is not installed."""

    def __init__(self, user_ns: dict[str, Any]) -> None:
        """user_ns is the dictionary of the user's globals."""
        self.user_ns = user_ns

    def run_line_magic(self, name: str, line: str) -> Any:
        """Runs the line magic %name with the arguments line: pip, cd, pwd or matplotlib inline.

        Raises UsageError for any other magic.
        """
        line = self._expand_variables(line)
        if name == "pip":
            self._run_shell_command(f"{shlex.quote(sys.executable)} -m pip {line}")
            importlib.invalidate_caches()
        elif name == "cd":
            os.chdir(os.path.expanduser(line.strip("\"'") or "~"))
            print(os.getcwd())
        elif name == "pwd":
            return os.getcwd()
        elif (name, line) != ("matplotlib", "inline"):  # figures are inline anyway
            raise _needs_ipython_error("help" if name == "pinfo" else f"%{name}")
        return None

    def run_cell_magic(self, name: str, line: str, cell: str) -> Any:
        """Raises UsageError, because cell magics need IPython."""
        raise _needs_ipython_error(f"%%{name}")

    def system(self, line: str) -> None:
        """Runs a command in a shell, prints its output, and stores its exit status in the variable _exit_code.

        Inserts the values of variables first: {name} and $name.
        """
        self._run_shell_command(self._expand_variables(line))

    def _run_shell_command(self, line: str) -> None:
        self.user_ns["_exit_code"] = shell_command.run_command(line)

    def getoutput(self, line: str) -> list[str]:
        """Runs a command in a shell, stores its exit status in _exit_code, and returns the lines of its output."""
        text, self.user_ns["_exit_code"] = shell_command.capture_command(self._expand_variables(line))
        return text.splitlines()

    def _expand_variables(self, line: str) -> str:
        # Frame 2 is the user's code, which called the method that called this.
        return shell_command.expand_variables(line, self.user_ns, sys._getframe(2).f_locals)


def _needs_ipython_error(what: str) -> UsageError:
    return UsageError(
        f"{what} needs IPython, which {sys.executable} does not have;"
        " '%pip install ipython' gives it"
    )
