"""Cells that fail, and how it is told."""

import sys

from harness import KernelTest


class TestFailure(KernelTest):
    def test_pk6_the_traceback_has_the_user_s_frames_only(self):
        run = self.run_failing("def f(x):\n    return 1 / x\n\nf(0)")
        lines = run.result["exception"].splitlines()
        self.assertEqual(lines[0], "Traceback (most recent call last):")
        self.assertEqual(lines[1], '  File "<cell c>", line 4, in <module>')
        self.assertEqual(lines[2], "    f(0)")
        self.assertIn('  File "<cell c>", line 2, in f', lines)
        self.assertEqual(lines[-1], "ZeroDivisionError: division by zero")
        self.assertNotIn("assay", run.result["exception"])
        self.assertEqual(run.error["ename"], "ZeroDivisionError")
        self.assertEqual(run.error["evalue"], "division by zero")

    def test_pk6_no_kernel_frame_in_any_way_to_fail(self):
        for code in (
            "import asyncio\nasync def f(): 1 / 0\nawait f()",
            "await asyncio.gather(f())",
            "print(1, file=3)",
            "import sys\nsys.stdout.write(3)",
            "display(1, raw=True)",
            "def g():\n    try: 1 / 0\n    except ZeroDivisionError as e: raise ValueError('x') from e\ng()",
            "def h():\n    try: g()\n    except ValueError: h2\nh()",
        ):
            with self.subTest(code=code):
                text = self.run_failing(code).result["exception"]
                self.assertNotIn("/assay/", text)
                self.assertIn('File "<cell c>", line', text)

    def test_pk6_a_class_that_cannot_be_looked_at(self):
        self.run_ok(
            "class M(type):\n"
            "    __module__ = property(lambda c: 1 / 0)\n"
            "    __name__ = property(lambda c: 1 / 0)\n"
            "class A(metaclass=M): pass\nx = A()\ny = 1"
        )

    def test_pk6_an_error_of_a_handler_is_the_cell_s(self):
        self.run_failing(
            "import signal\n"
            "def late(*_): raise TimeoutError('late')\n"
            "signal.signal(signal.SIGALRM, late)\n"
            "signal.setitimer(signal.ITIMER_REAL, 0.1)\n"
            "while True: print('x' * 50000)"
        )
        self.run_ok("1")

    def test_pk6_chains_are_told(self):
        run = self.run_failing(
            "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('x') from e"
        )
        text = run.result["exception"]
        self.assertIn("ZeroDivisionError", text)
        self.assertIn("direct cause", text)
        self.assertTrue(text.endswith("ValueError: x\n"))

    def test_pk6_exception_groups_are_told(self):
        if sys.version_info < (3, 11):
            code = "raise ValueError('one')"
        else:
            code = "raise ExceptionGroup('all', [ValueError('one'), TypeError('two')])"
        self.assertIn("ValueError: one", self.run_failing(code).result["exception"])

    def test_pk6_syntax_errors_are_told_as_python_does(self):
        for code, name, line in (
            ("x = = 1", "SyntaxError", "    x = = 1"),
            ("def f(:\n  pass", "SyntaxError", "    def f(:"),
            ("if True:\npass", "IndentationError", "    pass"),
            ("1\nreturn 3", "SyntaxError", "    return 3"),
            ("yield 1", "SyntaxError", "    yield 1"),
            ("x = 'ä' + (1", "SyntaxError", "    x = 'ä' + (1"),
        ):  # fmt: skip
            with self.subTest(code=code):
                run = self.run_failing(code)
                self.assertEqual(run.error["ename"], name)
                self.assertIn('  File "<cell c>", line ', run.result["exception"])
                self.assertIn(line, run.result["exception"].splitlines())
                self.assertNotIn("Traceback", run.result["exception"])

    def test_pk6_source_that_cannot_be_compiled(self):
        for code in ("x = 1\0", "'\udc80'", "(" * 500 + ")" * 500, "-" * 200_000 + "1"):
            with self.subTest(code=code[:10]):
                self.run_failing(code)

    def test_pk6_exits_and_interrupts_of_the_user_s_own(self):
        for code, name in (
            ("import sys\nsys.exit()", "SystemExit"),
            ("exit()", "SystemExit"),
            ("quit(3)", "SystemExit"),
            ("raise KeyboardInterrupt", "KeyboardInterrupt"),
            ("raise GeneratorExit", "GeneratorExit"),
            ("import asyncio\nraise asyncio.CancelledError", "CancelledError"),
            ("import asyncio\nawait asyncio.sleep(0)\nraise SystemExit(3)", "SystemExit"),
            ("import asyncio\nawait asyncio.sleep(0)\nraise KeyboardInterrupt", "KeyboardInterrupt"),
            ("import asyncio\nasync def f(): raise SystemExit\nawait asyncio.create_task(f())", "SystemExit"),
            ("import asyncio\nasyncio.current_task().cancel()\nawait asyncio.sleep(9)", "CancelledError"),
            ("raise BaseException", "BaseException"),
            ("def f(): f()\nf()", "RecursionError"),
            ("bytearray(1 << 60)", "MemoryError"),
        ):
            with self.subTest(code=code):
                self.assertEqual(self.run_failing(code).error["ename"], name)

    def test_pk6_errors_that_cannot_be_told(self):
        for code in (
            "class E(Exception):\n    def __str__(self): raise ValueError\nraise E",
            "class E(Exception):\n    def __str__(self): raise SystemExit\nraise E",
            "class E(Exception):\n    def __str__(self): return 3\nraise E",
        ):
            with self.subTest(code=code):
                self.assertEqual(self.run_failing(code).error["ename"], "E")

    def test_pk6_a_long_error_is_cut(self):
        run = self.run_failing("raise ValueError('x' * 200_000_000)")
        self.assertLess(len(run.result["exception"]), 300_000)
        self.assertLess(len(run.error["evalue"]), 300_000)

    def test_a_broken_background_task_costs_nothing_else(self):
        self.run_ok("import asyncio\nasync def f(): raise KeyboardInterrupt\nt = asyncio.create_task(f())")
        self.assertEqual(self.run_ok("await asyncio.sleep(0, 3)").shown, "3")

    def test_a_signal_handler_may_raise_between_cells(self):
        for wait in ("", "import asyncio\nawait asyncio.sleep(0)\n"):
            self.run_ok(
                wait + "import signal\n"
                "def late(*_): raise TimeoutError('late')\n"
                "signal.signal(signal.SIGALRM, late)\n"
                "signal.setitimer(signal.ITIMER_REAL, 0.05)"
            )
            frame = self.kernel.until("kernel_stdio")[-1]
            self.assertIn("TimeoutError: late", frame["data"])
            self.assertEqual((frame["active_cell"], frame["stream"]), (None, "stderr"))
            self.assertEqual(self.run_ok("1 + 1").shown, "2")

    def test_a_run_that_the_kernel_itself_fails_has_its_answer(self):
        spoil = (
            "from assay.namespace import Namespace as N\n"
            "from assay.snippet import Snippet as S\n"
            "def raises(*_): raise OSError('spoiled')\n"
            "N.bindings = S._compiled = raises"
        )
        self.run_ok(spoil)
        run = self.kernel.run("1")
        self.assertEqual(run.result["status"], "error")
        self.assertIn("OSError: spoiled", run.result["exception"])
        answer = self.kernel.execute("1")
        self.assertEqual((answer["status"], answer["error"]), ("error", "spoiled"))

    def test_the_cell_may_spoil_what_it_can_reach(self):
        for code in (
            "globals().clear()",
            "import builtins, sys\nsys.stdout = None",
            "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)",
            "import sys\nsys.modules.pop('__main__')",
            "globals()[1] = 2",
        ):
            with self.subTest(code=code):
                self.run_ok(code)
                self.assertEqual(self.run_ok("1 + 1").shown, "2")
                self.kernel.summary()
