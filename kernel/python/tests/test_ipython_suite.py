"""Runs the tests that the package IPython has of itself, with this kernel's shell in the place of IPython's."""

from __future__ import annotations

import fnmatch
import importlib.util
import json
import os
import pathlib
import unittest
from typing import Any

from harness import TIMEOUT, KernelProcess, skip_unless_installed

# Tests that fail here and why that is meant to be. A test is MODULE::NAME of IPython.core.tests; * matches
# anything. All other tests pass, if they pass in IPython.
DIFFERENCES = {
    "the shell keeps no history, numbers and results of code that run_cell runs: cells do not run in it": """
        test_displayhook::test_underscore_no_overwrite_user
        test_history::test_magic_rerun
        test_history::test_timestamp_type
        test_interactiveshell::InteractiveShellTestCase::test_In_variable
        test_interactiveshell::InteractiveShellTestCase::test_dont_cache_with_semicolon
        test_interactiveshell::InteractiveShellTestCase::test_naked_string_cells
        test_interactiveshell::InteractiveShellTestCase::test_silent_no*
        test_interactiveshell::test_run_cell_await
        test_interactiveshell::test_run_cell_asyncio_run
        test_magic::CellMagicTestCase::test_cell_magic_*
        test_magic::test_multiline_time
        test_magic::test_reset_*
    """,
    "a magic that fails, and the code that it runs, fail the cell": """
        test_run::TestMagicRunSimple::test_ignore_sys_exit
        test_run::test_run_tb
        test_run::test_multiprocessing_run
        test_ultratb::ChangedPyFileTest::test_changing_py_file
        test_ultratb::SyntaxErrorTest::test_changing_py_file
    """,
    "tracebacks are Python's, not IPython's": """
        test_interactiveshell::*custom*
        test_magic::test_tb_syntaxerror
        test_ultratb::IndentationErrorTest::test_indentationerror_shows_line
        test_ultratb::RecursionTest::test_recursion_*
    """,
    "errors of formatters are printed to stderr": """
        test_formatters::test_error_method
        test_formatters::test_error_pretty_method
        test_formatters::test_warn_error_for_type
        test_formatters::test_bad_repr_traceback
    """,
    "display does not use the shell's publisher": """
        test_display::test_display_handle
        test_display::test_display_id
        test_display::test_progress_iter
        test_display::test_update_display
    """,
    "source that is Python is not searched for IPython's syntax, macros or aliases, and not transformed": """
        test_alias::test_alias_args_*
        test_displayhook::test_interactivehooks_ast_modes
        test_interactiveshell::TestAstTransform*
        test_interactiveshell::TestMiscTransform::test_transform_only_once
        test_interactiveshell::TestSyntaxErrorTransformer::test_syntaxerror_input_transformer
        test_magic::test_macro_run
    """,
    "there is no terminal and no editor": """
        test_magic::test_config_print_class
        test_magic::test_edit_*
        test_magic_terminal::*
    """,
    "the test replaces parts of IPython that are not used here, or looks at names of files": """
        test_interactiveshell::InteractiveShellTestCase::test_future_flags
        test_interactiveshell::InteractiveShellTestCase::test_silent_postexec
        test_interactiveshell::TestSystemRaw::test_control_c
        test_interactiveshell::TestSystemRaw::test_magic_warnings
        test_oinspect::test_pinfo_docstring_if_detail_and_no_source
    """,
}

# Defines _run_ipython_tests in the builtins, where the tests, which reset the user's variables, leave it. Values
# and errors are printed to stdout, where the tests look for them.
RUNNER = '''
def make_runner(shell):
    import builtins, json, sys
    import IPython.terminal.interactiveshell as terminal
    import pytest

    class TerminalShell:
        _instance = shell
        instance = staticmethod(lambda **_: shell)

    class CurrentStdout:
        write = staticmethod(lambda text: sys.stdout.write(text))
        flush = staticmethod(lambda: sys.stdout.flush())
        isatty = staticmethod(lambda: False)

    def run(module, report):
        failed = {}

        class Plugin:
            def pytest_runtest_logreport(self, report):
                if report.failed:
                    failed[module + "::" + report.nodeid.split("::", 1)[1]] = str(report.longrepr)[-2000:]

        arguments = ["-q", "-s", "-p", "no:cacheprovider", "--pyargs", "IPython.core.tests." + module]
        status = pytest.main(arguments, plugins=[Plugin()])
        with open(report, "w") as file:
            json.dump([status, failed], file)

    terminal.TerminalInteractiveShell = TerminalShell
    sys.stderr = CurrentStdout()
    shell.host.renderer.show = lambda value: print(shell.plain_text(value))
    builtins._run_ipython_tests = run

make_runner(get_ipython())
'''


def find_test_modules() -> list[str]:
    """Returns the names of the test modules in IPython.core.tests, none if IPython has none."""
    spec = importlib.util.find_spec("IPython")
    folder = pathlib.Path(spec.origin).parent if spec and spec.origin else pathlib.Path("/nowhere")
    return sorted(path.stem for path in (folder / "core" / "tests").glob("test_*.py"))


class TestIPythonSuite(unittest.TestCase):
    @skip_unless_installed("IPython", "pytest", "testpath")
    @unittest.skipIf("SHORT_TESTS" in os.environ, "long: make nightly runs it")
    def test_pk4_ipythons_own_tests(self) -> None:
        patterns = " ".join(DIFFERENCES.values()).split()
        unused = set(patterns)
        modules = find_test_modules()
        self.assertGreater(len(modules), 30, "IPython's tests are not installed")
        for module in modules:
            with self.subTest(module=module):
                for test, reason in self._run_module(module).items():
                    matching = [pattern for pattern in patterns if fnmatch.fnmatchcase(test, pattern)]
                    unused.difference_update(matching)
                    self.assertTrue(matching, f"{test} fails: {reason}")
        self.assertEqual(unused, set(), "these match no test that fails")

    def _run_module(self, module: str) -> dict[str, Any]:
        """Runs the tests of a module in a new kernel and returns the errors of those that fail."""
        kernel = KernelProcess()
        self.addCleanup(kernel.close)
        kernel.socket.settimeout(4 * TIMEOUT)
        self.assertEqual(kernel.run_cell(RUNNER).result["status"], "ok")
        report = kernel.folder / "report.json"
        run = kernel.run_cell(f"__import__('builtins')._run_ipython_tests({module!r}, {str(report)!r})")
        self.assertEqual(run.result["status"], "ok", run.result["exception"])
        status, failed = json.loads(report.read_text())
        self.assertIn(status, (0, 1), run.text()[-2000:])  # all ran
        kernel.close()
        return dict(failed)
