"""Cells that fail, and how the failure is shown."""

import sys

from harness import KernelProcess, KernelTest, without_versions


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
        self.assertEqual(run.error_output["ename"], "ZeroDivisionError")
        self.assertEqual(run.error_output["evalue"], "division by zero")

    def test_pk6_no_traceback_has_a_frame_of_the_kernel(self):
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
                self.assertIn('File "<cell c>", line', without_versions(text))

    def test_pk6_errors_of_a_class_whose_name_raises_are_reported(self):
        self.run_ok(
            "class M(type):\n"
            "    __module__ = property(lambda c: 1 / 0)\n"
            "    __name__ = property(lambda c: 1 / 0)\n"
            "class A(metaclass=M): pass\nx = A()\ny = 1"
        )

    def test_pk6_an_error_of_a_signal_handler_fails_the_cell(self):
        self.run_failing(
            "import signal\n"
            "def late(*_): raise TimeoutError('late')\n"
            "signal.signal(signal.SIGALRM, late)\n"
            "signal.setitimer(signal.ITIMER_REAL, 0.1)\n"
            "while True: print('x' * 50000)"
        )
        self.run_ok("1")

    def test_a_traceback_shows_the_version_of_the_cell_that_ran(self):
        self.run_ok("def f():\n    raise ValueError('old')")
        self.run_ok("edited = 1\nx = 2")
        run = self.kernel.run_cell("f()", "d")
        self.assertIn("File \"<cell c>\", line 2, in f\n    raise ValueError('old')\n", run.result["exception"])
        for _ in range(2):
            self.assertIn('File "<cell c v3>", line 1', self.kernel.run_cell("1 / 0").result["exception"])

    def test_a_breakpoint_says_that_there_is_no_input(self):
        run = self.kernel.run_cell("breakpoint()\n1")
        self.assertEqual(run.error_output["ename"], "BdbQuit")
        self.assertIn("a debugger needs input, which is not offered", run.error_output["evalue"])

    def test_the_last_error_can_be_debugged(self):
        self.run_failing("def f(x): return 1 / x\nf(0)")
        shown = self.run_ok("import sys\n(sys.last_type.__name__, str(sys.last_value), sys.last_traceback.tb_frame.f_code.co_filename)", "d").shown_text
        self.assertEqual(shown, "('ZeroDivisionError', 'division by zero', '<cell c>')")

    def test_pk6_chained_exceptions_are_shown(self):
        run = self.run_failing(
            "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('x') from e"
        )
        text = run.result["exception"]
        self.assertIn("ZeroDivisionError", text)
        self.assertIn("direct cause", text)
        self.assertTrue(text.endswith("ValueError: x\n"))

    def test_pk6_exception_groups_are_shown(self):
        if sys.version_info < (3, 11):
            code = "raise ValueError('one')"
        else:
            code = "raise ExceptionGroup('all', [ValueError('one'), TypeError('two')])"
        self.assertIn("ValueError: one", self.run_failing(code).result["exception"])

    def test_pk6_syntax_errors_are_shown_as_python_shows_them(self):
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
                self.assertEqual(run.error_output["ename"], name)
                self.assertIn('  File "<cell c>", line ', without_versions(run.result["exception"]))
                self.assertIn(line, run.result["exception"].splitlines())
                self.assertNotIn("Traceback", run.result["exception"])

    def test_pk6_source_that_cannot_be_compiled_is_an_error(self):
        for code in ("x = 1\0", "'\udc80'", "(" * 500 + ")" * 500, "-" * 200_000 + "1"):
            with self.subTest(code=code[:10]):
                self.run_failing(code)

    def test_pk6_exits_and_interrupts_raised_by_the_user_are_errors(self):
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
                self.assertEqual(self.run_failing(code).error_output["ename"], name)

    def test_pk6_errors_whose_str_raises_are_reported(self):
        for code in (
            "class E(Exception):\n    def __str__(self): raise ValueError\nraise E",
            "class E(Exception):\n    def __str__(self): raise SystemExit\nraise E",
            "class E(Exception):\n    def __str__(self): return 3\nraise E",
        ):
            with self.subTest(code=code):
                self.assertEqual(self.run_failing(code).error_output["ename"], "E")

    def test_pk6_the_last_traceback_line_has_the_class_without_its_module(self):
        for code, last in (
            ("import json\njson.loads('x')", "JSONDecodeError: Expecting value: line 1 column 1 (char 0)"),
            ("import subprocess\nsubprocess.run('false', check=True)", "CalledProcessError: Command"),
            ("class A:\n    class E(Exception): pass\nraise A.E", "E"),
        ):
            with self.subTest(code=code):
                lines = self.run_failing(code).result["exception"].splitlines()
                self.assertTrue(lines[-1].startswith(last), lines[-1])

    def test_pk6_a_cell_that_uses_up_all_descriptors_is_reported(self):
        self.kernel.run_cell(
            "import os, resource\n"
            "resource.setrlimit(resource.RLIMIT_NOFILE, (50, 50))\n"
            "held = []\n"
            "def hold():\n"
            "    while True: held.append(os.open('/dev/null', os.O_RDONLY))"
        )
        run = self.kernel.run_cell("hold()")
        self.assertEqual(run.error_output["ename"], "OSError")
        self.assertIn("Too many open files", run.error_output["evalue"])
        self.assertIn('  File "<cell c>", line 5, in hold\n', run.result["exception"])
        run = self.kernel.run_cell("1 / 0")
        self.assertTrue(run.result["exception"].endswith("ZeroDivisionError: division by zero\n"))
        self.run_ok("for descriptor in held: os.close(descriptor)")
        self.run_failing("1 / 0")

    def test_pk6_a_cell_that_uses_up_all_memory_is_reported(self):
        """A cell fills the memory with large blocks, and with small ones to the last byte, under two limits."""
        for limit, field in (("AS", 0), ("DATA", 5)):
            for fill in ("bytearray(1 << 20)", "[None]", "str(len(held))"):
                with self.subTest(limit=limit, fill=fill):
                    kernel = self.kernel = KernelProcess()
                    self.addCleanup(kernel.close)
                    self.run_ok("[1]")  # loads the modules that show values
                    self.run_ok(
                        "import resource\n"
                        f"pages = int(open('/proc/self/statm').read().split()[{field}])\n"
                        "most = pages * resource.getpagesize() + (32 << 20)\n"
                        f"resource.setrlimit(resource.RLIMIT_{limit}, (most, most))\n"
                        "held = []"
                    )
                    run = kernel.run_cell(f"while True: held.append({fill})")
                    self.assertEqual(run.error_output["ename"], "MemoryError")
                    if "bytearray" in fill:  # else there is no memory for the frames
                        self.assertIn('  File "<cell c>", line 1', without_versions(run.result["exception"]))
                    kernel.request("ping", "pong")
                    self.run_ok("del held")
                    self.run_failing("1 / 0")

    def test_pk6_errors_are_reported_after_builtins_were_replaced(self):
        for name in ("len", "print", "open", "str", "list", "dict", "type", "isinstance", "super", "Exception"):
            with self.subTest(name=name):
                self.run_ok(f"import builtins\ntheirs = builtins.{name}\nbuiltins.{name} = None")
                run = self.kernel.run_cell("1 / 0")
                self.assertEqual(run.error_output["ename"], "ZeroDivisionError")
                self.run_ok(f"builtins.{name} = theirs")
                self.assertEqual(self.run_ok("40 + 2").shown_text, "42")
        self.run_ok("theirs = vars(builtins)\nfor name in dir(builtins): theirs[name] = None")
        self.assertEqual(self.kernel.run_cell("1 / 0").result["status"], "error")
        self.kernel.request("ping", "pong")

    def test_errors_of_a_closed_network_say_so(self):
        hint = "no network: the run was started with --network off\n"
        closed = self.kernel = KernelProcess(ASSAY_KERNEL_NETWORK="off")
        self.addCleanup(closed.close)
        self.assertNotIn(hint, self.run_failing("raise OSError(101, 'Network is unreachable')").result["exception"])
        self.run_ok("import socket")
        for code in (
            "raise OSError(101, 'Network is unreachable')",
            "socket.getaddrinfo('none.invalid', 80)",
            "try: raise PermissionError(13, 'Permission denied')\nexcept OSError as e: raise ValueError('x') from e",
            "exec(compile('raise PermissionError(1, \"Operation not permitted\")', socket.__file__, 'exec'))",
        ):
            with self.subTest(code=code):
                self.assertTrue(self.run_failing(code).result["exception"].endswith(hint))
        for code in ("open('/no/such/folder/x', 'w')", "open('/proc/1/mem')", "1 / 0", "raise PermissionError(1, 'x')"):
            with self.subTest(code=code):
                self.assertNotIn(hint, self.run_failing(code).result["exception"])
        opened = self.kernel = KernelProcess(ASSAY_KERNEL_NETWORK="on")
        self.addCleanup(opened.close)
        self.run_ok("import socket")
        run = self.run_failing("raise OSError(101, 'Network is unreachable')")
        self.assertTrue(run.result["exception"].endswith("Network is unreachable\n"))

    def test_a_signal_handler_that_raises_at_any_moment_loses_no_frame(self):
        for code in ("x = [1]\nprint('x' * 3000)\ndisplay(3)\nx", "await asyncio.sleep(0)\nprint('x' * 3000)"):
            kernel = self.kernel = KernelProcess()
            self.addCleanup(kernel.close)
            kernel.run_cell(
                "import asyncio, signal\n"
                "def late(*_): raise TimeoutError('late')\n"
                "signal.signal(signal.SIGALRM, late)\n"
                "signal.setitimer(signal.ITIMER_REAL, 0.0007, 0.0007)"
            )
            failures = 0
            for _ in range(300):
                run = kernel.run_cell(code)
                frame_types = [f["type"] for f in run.frames if f["type"] in ("start_cell", "cell_result")]
                self.assertEqual(frame_types, ["start_cell", "cell_result", "start_cell"])
                failures += run.result["status"] == "error"
            self.assertGreater(failures, 0)
            for code in ("signal.setitimer(signal.ITIMER_REAL, 0)", "signal.getsignal(signal.SIGALRM) is late"):
                while (run := kernel.run_cell(code)).result["status"] != "ok":
                    pass
            self.assertEqual(run.shown_text, "True")

    def test_a_signal_handler_runs_although_the_cell_only_prints(self):
        run = self.run_failing(
            "import signal\n"
            "def late(number, frame): raise TimeoutError(f'in {frame.f_code.co_filename}')\n"
            "signal.signal(signal.SIGALRM, late)\n"
            "signal.setitimer(signal.ITIMER_REAL, 0.05)\n"
            "while True: print('x' * 50000)"
        )
        self.assertEqual(run.error_output["evalue"], "in <cell c>")

    def test_pk6_a_long_error_is_cut(self):
        run = self.run_failing("raise ValueError('x' * 20_000_000)")
        self.assertLess(len(run.result["exception"]), 300_000)
        self.assertLess(len(run.error_output["evalue"]), 300_000)

    def test_a_failing_background_task_does_not_affect_cells(self):
        self.run_ok("import asyncio\nasync def f(): raise KeyboardInterrupt\nt = asyncio.create_task(f())")
        self.assertEqual(self.run_ok("await asyncio.sleep(0, 3)").shown_text, "3")

    def test_a_signal_handler_may_raise_between_cells(self):
        for wait in ("", "import asyncio\nawait asyncio.sleep(0)\n"):
            self.run_ok(
                wait + "import signal\n"
                "def late(*_): raise TimeoutError('late')\n"
                "signal.signal(signal.SIGALRM, late)\n"
                "signal.setitimer(signal.ITIMER_REAL, 0.05);"
            )
            frame = self.kernel.receive_until_printed("TimeoutError: late\n")[-1]
            self.assertEqual((frame["active_cell"], frame["stream"]), (None, "stderr"))
            self.assertEqual(self.run_ok("1 + 1").shown_text, "2")

    def test_a_run_is_answered_when_the_kernel_itself_fails(self):
        spoil = (
            "from assay.run.namespace import Namespace as N\n"
            "from assay.run.snippet import SnippetRun as S\n"
            "def raises(*_): raise OSError('spoiled')\n"
            "N.snapshot = S._compile = raises"
        )
        self.run_ok(spoil)
        run = self.kernel.run_cell("1")
        self.assertEqual(run.result["status"], "error")
        self.assertIn("OSError: spoiled", run.result["exception"])
        answer = self.kernel.execute_code("1")
        self.assertEqual((answer["status"], answer["error"]), ("error", "spoiled"))

    def test_cells_still_run_after_a_cell_has_broken_globals_streams_or_modules(self):
        for code in (
            "globals().clear()",
            "import builtins, sys\nsys.stdout = None",
            "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)",
            "import sys\nsys.modules.pop('__main__')",
            "globals()[1] = 2",
        ):
            with self.subTest(code=code):
                self.run_ok(code)
                self.assertEqual(self.run_ok("1 + 1").shown_text, "2")
                self.run_ok("display(1)")
                self.kernel.globals_summary()
