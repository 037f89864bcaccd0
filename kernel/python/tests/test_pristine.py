"""execute_code with the flag pristine, and the modules that the kernel has copies of."""

from __future__ import annotations

from typing import Any

from harness import KernelTest


class TestPristine(KernelTest):
    def execute_pristine(self, code: str) -> Any:
        return self.kernel.request("execute_code", "execute_code_response", code=code, pristine=True)

    def test_pristine_code_has_the_original_builtins(self) -> None:
        self.kernel.run_cell("import builtins\nbuiltins.sorted = len = sum = lambda *a: 42\nxs = [1]")
        self.assertEqual(self.execute_pristine("len(xs), sum(xs), sorted(xs)")["result"], "(1, 1, [1])")
        self.assertEqual(self.execute_pristine("import builtins\nbuiltins.sorted(xs)")["result"], "[1]")
        self.assertEqual(self.kernel.run_cell("len(xs)").shown_text, "42", "the user's globals are unchanged")

    def test_pristine_code_reads_the_users_names_and_writes_none(self) -> None:
        self.kernel.run_cell("x = 1\ndef step():\n    global x\n    x += 1")
        self.assertEqual(self.execute_pristine("step()\nx, 'x' in globals()")["result"], "(2, True)")
        self.assertEqual(self.execute_pristine("x = y = 7\n[x for _ in (1,)][0] + y")["result"], "14")
        self.assertEqual(self.kernel.run_cell("x, 'y' in globals()").shown_text, "(2, False)")
        self.assertEqual(self.execute_pristine("nowhere")["ename"], "NameError")

    def test_printed_text_is_in_the_answer(self) -> None:
        self.kernel.run_cell("import sys, io\nsys.stdout = io.StringIO()\nprint = None")
        answer = self.execute_pristine("print('here')\nimport sys; print('there', file=sys.stderr)")
        self.assertEqual((answer["stdout"], answer["stderr"]), ("here\n", "there\n"))

    def test_the_pristine_flag_must_be_a_boolean(self) -> None:
        error = self.kernel.request("execute_code", "error", code="1", pristine=1)
        self.assertEqual(error["data"]["message"], "execute_code: pristine is not true or false")
        for flag in (0, "", [], {}):
            error = self.kernel.request("execute_code", "error", code="1", pristine=flag)
            self.assertEqual(error["data"]["message"], "execute_code: pristine is not true or false")
        answer = self.kernel.request("execute_code", "execute_code_response", code="1", pristine=None)
        self.assertEqual(answer["result"], "1")

    def test_pristine_runs_do_not_leak_objects(self) -> None:
        self.kernel.run_cell("import gc\ndef f(n): return n")
        counts = []
        for _ in range(3):  # the first may import something
            for _ in range(20):
                self.execute_pristine("f(1)")
            counts.append(int(self.kernel.run_cell("gc.collect(); len(gc.get_objects())").shown_text))
        self.assertLess(counts[2], counts[1] + 20)


class TestPrivateModules(KernelTest):
    def test_the_kernel_has_its_own_json_module(self) -> None:
        self.kernel.run_cell(
            "import json, json.encoder, os\n"
            "json.JSONEncoder.encode = json.encoder.JSONEncoder.iterencode = lambda *a, **k: 'x'\n"
            "json.loads = os.write = os.read = None"
        )
        self.assertEqual(self.kernel.run_cell("1 + 1").shown_text, "2")
        self.kernel.send_body(b'{"type": "ping", "x": "\\q"}')
        self.assertIn("message is not JSON: Invalid \\escape", self.kernel.receive()["data"]["message"])

    def test_traceback_and_linecache_have_their_own_builtins(self) -> None:
        self.kernel.run_cell("import traceback, linecache\ntraceback.__builtins__['len'] = linecache.__builtins__['str'] = None")
        self.assertEqual(self.kernel.run_cell("len('abc')").shown_text, "3")
