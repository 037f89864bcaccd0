"""The few magics that need no IPython."""

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
    """A magic that is not here."""

    __module__ = "builtins"  # which is not said before the name


class Magics:
    """What get_ipython() returns to the user's cells where there is no IPython."""

    def __init__(self, user_ns: dict[str, Any]) -> None:
        """user_ns holds the user's globals."""
        self.user_ns = user_ns

    def run_line_magic(self, name: str, line: str) -> Any:
        """Runs %name line. Raises UsageError for those that only IPython has."""
        line = self._expanded(line)
        if name == "pip":
            self._run(f"{shlex.quote(sys.executable)} -m pip {line}")
            importlib.invalidate_caches()
        elif name == "cd":
            os.chdir(os.path.expanduser(line.strip("\"'") or "~"))
            print(os.getcwd())
        elif name == "pwd":
            return os.getcwd()
        elif (name, line) != ("matplotlib", "inline"):  # which is how figures are shown
            raise _missing("help" if name == "pinfo" else f"%{name}")
        return None

    def run_cell_magic(self, name: str, line: str, cell: str) -> Any:
        """Raises UsageError: only IPython has cell magics."""
        raise _missing(f"%%{name}")

    def system(self, line: str) -> None:
        """Runs a command in a shell; its exit status becomes _exit_code."""
        self._run(self._expanded(line))

    def _run(self, line: str) -> None:
        self.user_ns["_exit_code"] = shell_command.run(line)

    def getoutput(self, line: str) -> list[str]:
        """Runs a command in a shell and returns the lines that it prints."""
        text, self.user_ns["_exit_code"] = shell_command.output(self._expanded(line))
        return text.splitlines()

    def _expanded(self, line: str) -> str:
        # The caller of the method that calls this is the user's code.
        return shell_command.expand(line, self.user_ns, sys._getframe(2).f_locals)


def _missing(what: str) -> UsageError:
    return UsageError(
        f"{what} needs IPython, which {sys.executable} does not have;"
        " '%pip install ipython' gives it"
    )
