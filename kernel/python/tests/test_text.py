"""Printed text, and the frames in which it is sent."""

import time

from harness import KernelTest


class TestPrintedText(KernelTest):
    def test_pk5_print_is_attributed_and_complete(self):
        run = self.run_ok("import sys\nprint('out')\nprint('err', file=sys.stderr)\nprint('end', end='')")
        self.assertEqual(run.text(), "out\nend")
        self.assertEqual(run.text("stderr"), "err\n")
        cells = {f["active_cell"] for f in run.frames if f["type"] == "kernel_stdio"}
        self.assertEqual(cells, {"c"})
        self.assertEqual(run.frames[-2]["type"], "cell_result")

    def test_pk5_printed_text_comes_in_few_frames(self):
        run = self.run_ok("for i in range(10_000): print(i)")
        self.assertEqual(run.text(), "".join(f"{i}\n" for i in range(10_000)))
        count = sum(f["type"] == "kernel_stdio" for f in run.frames)
        self.assertLess(count, 3 + run.result["duration_ms"] / 10)

    def test_pk5_printed_text_of_both_streams_comes_in_few_frames(self):
        run = self.run_ok(
            "import sys\nfor i in range(5_000):\n    print(i)\n    print(i, file=sys.stderr)"
        )
        self.assertEqual(run.text(), run.text("stderr"))
        count = sum(f["type"] == "kernel_stdio" for f in run.frames)
        self.assertLess(count, 2 * (3 + run.result["duration_ms"] / 10))

    def test_pk5_long_printed_text_comes_in_several_frames(self):
        run = self.run_ok("print('ä' * 1_000_000)")
        self.assertEqual(run.text(), "ä" * 1_000_000 + "\n")
        longest = max(len(f["data"]) for f in run.frames if f["type"] == "kernel_stdio")
        self.assertEqual(longest, 64 << 10)

    def test_pk5_text_is_sent_while_the_cell_runs(self):
        for code in ("print('now', end='')", "print('now', end='', flush=True)"):
            with self.subTest(code=code):
                self.kernel.send("run_cell", cell_id="c", code=f"{code}\nimport time\ntime.sleep(60)")
                self.kernel.receive_until_printed("now")
                self.kernel.stop_cell()

    def test_pk5_text_of_children_and_c_code_is_written_before_the_result(self):
        for number, code in enumerate(
            (
                "import subprocess; subprocess.run(['echo', 'child'])",
                "import ctypes; ctypes.CDLL(None).printf(b'from c')",
                "import os; os.write(1, b'direct')",
                "import sys; print('under', file=sys.__stdout__, end='')",
            )
        ):
            with self.subTest(code=code):
                self.run_ok(code)
                self.assertIn(("child\n", "from c", "direct", "under")[number], self.kernel.descriptor_text())

    def test_text_of_threads_belongs_to_the_running_cell(self):
        self.run_ok(
            "import threading\n"
            "go = threading.Event()\n"
            "def say():\n"
            "    print('early')\n"
            "    started.set()\n"
            "    go.wait()\n"
            "    print('late')\n"
            "started = threading.Event()\n"
            "thread = threading.Thread(target=say)\n"
            "thread.start()\n"
            "started.wait()",
            "first",
        )
        run = self.run_ok("go.set()\nthread.join()", "second")
        cells = {f["active_cell"] for f in run.frames if f["type"] == "kernel_stdio"}
        self.assertEqual((cells, run.text()), ({"second"}, "late\n"))

    def test_text_after_the_run_belongs_to_no_cell(self):
        self.run_ok(
            "import os, threading, time\n"
            "def say():\n"
            "    while not os.path.exists('go'): time.sleep(0.001)\n"
            "    print('late')\n"
            "threading.Thread(target=say).start()"
        )
        (self.kernel.folder / "cwd" / "go").touch()
        self.assertIsNone(self.kernel.receive_until_printed("late\n")[-1]["active_cell"])

    def test_printing_in_a_finalizer_does_not_block_the_kernel(self):
        run = self.run_ok(
            "import gc\n"
            "class A:\n"
            "    def __init__(self): self.me = self\n"
            "    def __del__(self): print('gone')\n"
            "gc.set_threshold(5)\n"
            "for i in range(2000):\n"
            "    A()\n"
            "    print('x' * 200)\n"
            "gc.set_threshold(700)"
        )
        self.assertEqual(run.text().count("x" * 200), 2000)
        self.assertGreater(run.text().count("gone"), 100)

    def test_lone_surrogates_in_printed_text_are_escaped(self):
        run = self.run_ok("print('a\\udc80b')\n'\\udc80'")
        self.assertEqual(run.text(), "a\\udc80b\n")
        self.assertEqual(run.shown_text, "'\\udc80'")
        self.run_ok("display({'text/plain': '\\udc80'}, raw=True)")

    def test_stdout_and_stderr_behave_like_files(self):
        run = self.run_ok(
            "import io, sys\n"
            "sys.stdout.reconfigure(encoding='utf-8')\n"
            "sys.stdout.close()\n"
            "sys.stdout.buffer.write('ä'.encode()[:1])\n"
            "sys.stdout.buffer.write('ä'.encode()[1:] + b'\\xff\\n')\n"
            "sys.stdout.writelines(['a', 'b\\n'])\n"
            "(isinstance(sys.stdout, io.TextIOBase), sys.stdout.fileno(), sys.stderr.fileno(),\n"
            " sys.stdout.isatty(), sys.stdout.encoding, sys.stdout.closed, sys.stdout.writable())"
        )
        self.assertEqual(run.text(), "ä\ufffd\nab\n")
        self.assertEqual(run.shown_text, "(True, 1, 2, False, 'utf-8', False, True)")
        self.assertEqual(self.run_failing("sys.stdout.write(b'x')").error_output["ename"], "TypeError")
        self.assertEqual(self.run_failing("sys.stdout.buffer.write('x')").error_output["ename"], "TypeError")

    def test_redirected_text_is_not_sent(self):
        run = self.run_ok(
            "import contextlib, io\n"
            "with contextlib.redirect_stdout(io.StringIO()) as kept: print('inside')\n"
            "kept.getvalue()"
        )
        self.assertEqual((run.text(), run.shown_text), ("", "'inside\\n'"))

    def test_pk7_input_raises_eof_error(self):
        started = time.monotonic()
        run = self.run_failing("input('name? ')")
        self.assertLess(time.monotonic() - started, 2)
        self.assertEqual(run.error_output["ename"], "EOFError")
        reason = "EOF when reading a line: input() is not offered in this notebook"
        self.assertEqual(run.error_output["evalue"], reason)
        self.assertTrue(run.result["exception"].endswith(f"EOFError: {reason}\n"))
        self.assertEqual(self.run_failing("raise EOFError('ours')").error_output["evalue"], "ours")
        self.assertEqual(self.run_failing("raise EOFError").error_output["evalue"], "")
        self.assertEqual(run.text(), "name? ")
        self.assertEqual(self.run_ok("import sys\nsys.stdin.read()").shown_text, "''")
        self.assertEqual(self.run_failing("exit()\ninput()").error_output["ename"], "SystemExit")
        self.assertEqual(self.run_failing("input()").error_output["ename"], "EOFError")
