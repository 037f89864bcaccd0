"""execute_code that is pristine, and what the kernel keeps from the user's code."""

from __future__ import annotations

from typing import Any

from harness import KernelTest


class TestPristine(KernelTest):
    def examine(self, code: str) -> Any:
        return self.kernel.ask("execute_code", "execute_code_response", code=code, pristine=True)

    def test_builtins_are_the_builtins(self) -> None:
        self.kernel.run("import builtins\nbuiltins.len = len = sum = lambda *a: 42\nxs = [1]")
        self.assertEqual(self.examine("len(xs), sum(xs)")["result"], "(1, 1)")
        self.assertEqual(self.examine("import builtins\nbuiltins.len(xs)")["result"], "1")
        self.assertEqual(self.kernel.run("len(xs)").shown, "42", "the user's names are as they were")

    def test_names_are_those_of_the_user(self) -> None:
        self.kernel.run("x = 1\ndef step():\n    global x\n    x += 1")
        self.assertEqual(self.examine("step()\nx, 'x' in globals()")["result"], "(2, True)")
        self.assertEqual(self.examine("x = y = 7\n[x for _ in (1,)][0] + y")["result"], "14")
        self.assertEqual(self.kernel.run("x, 'y' in globals()").shown, "(2, False)")
        self.assertEqual(self.examine("nowhere")["ename"], "NameError")

    def test_what_is_printed_is_heard(self) -> None:
        self.kernel.run("import sys, io\nsys.stdout = io.StringIO()\nprint = None")
        answer = self.examine("print('here')\nimport sys; print('there', file=sys.stderr)")
        self.assertEqual((answer["stdout"], answer["stderr"]), ("here\n", "there\n"))

    def test_the_kernel_s_code_is_put_back(self) -> None:
        self.kernel.run(
            "import assay.run.snippet, assay.run.safe_repr, assay.run.failure, sys\n"
            "assay.run.snippet.safe_repr = lambda v: 'forged'\n"
            "assay.run.safe_repr.safe_repr.__code__ = (lambda value: 'forged').__code__\n"
            "assay.run.snippet.SnippetRun._keep_result = lambda self, value: setattr(self, '_result', 'forged')\n"
            "assay.run.failure.Failure.forged = 1\n"
            "sys.modules['assay.run.safe_repr'] = None"
        )
        self.assertEqual(self.examine("1 + 1")["result"], "2")
        answer = self.kernel.ask("execute_code", "execute_code_response", code="1 + 1")
        self.assertEqual(answer["result"], "2", "for good")

    def test_the_flag_is_checked(self) -> None:
        error = self.kernel.ask("execute_code", "error", code="1", pristine=1)
        self.assertEqual(error["data"]["message"], "execute_code: pristine is not true or false")
        for flag in (0, "", [], {}):
            error = self.kernel.ask("execute_code", "error", code="1", pristine=flag)
            self.assertEqual(error["data"]["message"], "execute_code: pristine is not true or false")
        answer = self.kernel.ask("execute_code", "execute_code_response", code="1", pristine=None)
        self.assertEqual(answer["result"], "1")

    def test_what_puts_it_back_is_not_found(self) -> None:
        self.kernel.run(
            "import assay.run.lazy_ipython, assay.sealing.pristine\n"
            "kept = assay.run.lazy_ipython.lazy_ipython.host.pristine\n"
            "assay.sealing.pristine.Pristine.take = assay.sealing.pristine.Pristine.seal = lambda *a: None\n"
            "import assay.run.snippet\nassay.run.snippet.safe_repr = lambda v: 'forged'"
        )
        self.assertEqual(self.kernel.run("vars(kept)").shown, "{}")
        self.assertEqual(self.examine("1 + 1")["result"], "2")

    def test_examinations_leave_no_more_than_what_was_replaced(self) -> None:
        self.kernel.run("import gc\ndef f(n): return n")
        counts = []
        for _ in range(3):  # in the first something may be imported
            for _ in range(20):
                self.examine("f(1)")
            counts.append(int(self.kernel.run("gc.collect(); len(gc.get_objects())").shown))
        self.assertLess(counts[2], counts[1] + 20)


class TestOwnCopies(KernelTest):
    def test_json_of_the_user_is_another(self) -> None:
        self.kernel.run(
            "import json, json.encoder, os\n"
            "json.JSONEncoder.encode = json.encoder.JSONEncoder.iterencode = lambda *a, **k: 'x'\n"
            "json.loads = os.write = os.read = None"
        )
        self.assertEqual(self.kernel.run("1 + 1").shown, "2")
        self.kernel.send_body(b'{"type": "ping", "x": "\\q"}')
        self.assertIn("message is not JSON: Invalid \\escape", self.kernel.receive()["data"]["message"])

    def test_builtins_of_the_library_are_others(self) -> None:
        self.kernel.run("import traceback, linecache\ntraceback.__builtins__['len'] = linecache.__builtins__['str'] = None")
        self.assertEqual(self.kernel.run("len('abc')").shown, "3")
