"""execute_code and reset_kernel_globals."""

import time

from harness import KernelTest


class TestExecuteCode(KernelTest):
    def test_pk14_code_runs_in_the_globals(self):
        self.run_ok("x = 3")
        answer = self.kernel.execute_code(
            "import sys\nprint('out')\nprint('err', file=sys.stderr)\ny = x + 1\ny", agent_tx_id="e"
        )
        self.assertEqual(
            answer,
            {
                "type": "execute_code_response",
                "agent_tx_id": "e",
                "status": "ok",
                "result": "4",
                "stdout": "out\n",
                "stderr": "err\n",
                "exception": None,
                "ename": None,
                "error": None,
                "forms": 5,
            },
        )
        self.assertEqual(self.run_ok("y").shown_text, "4")

    def test_pk14_a_forked_process_exits_at_the_end_of_the_code(self):
        answer = self.kernel.execute_code("import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)[1]\npid > 0")
        self.assertEqual((answer["status"], answer["result"]), ("ok", "True"))
        self.assertEqual(self.kernel.execute_code("1 + 1")["result"], "2")

    def test_pk14_a_traceback_is_the_same_in_every_session(self):
        self.kernel.execute_code("x = 0", agent_tx_id="anything")
        answer = self.kernel.execute_code("1 / x", agent_tx_id="random")
        self.assertIn('File "<code 2>", line 1, in <module>\n    1 / x\n', answer["exception"])

    def test_pk14_sources_of_the_last_hundred_snippets_are_kept(self):
        line = '"<code 1>", line 2, in f'
        self.kernel.execute_code("def f():\n    1 / 0")
        for _ in range(98):
            self.kernel.execute_code("")
        self.assertIn(line + "\n    1 / 0\n", self.kernel.execute_code("f()")["exception"])
        later = self.kernel.execute_code("f()")["exception"]
        self.assertIn(line, later)
        self.assertNotIn("1 / 0", later)

    def test_pk14_replaced_compile_and_eval_have_no_effect(self):
        self.kernel.execute_code("1 / 0")  # loads the modules that describe errors
        self.run_ok("import builtins\nreal = builtins.compile\nbuiltins.compile = lambda s, *a, **k: real('True', *a, **k)")
        self.assertEqual(self.kernel.execute_code("not_there == 42")["ename"], "NameError")
        self.run_ok("builtins.compile = real")

    def test_pk14_the_result_is_null_without_a_value(self):
        for code, forms in (("", 0), ("None", 1), ("x = 1", 1), ("1;", 1)):
            with self.subTest(code=code):
                answer = self.kernel.execute_code(code)
                observed = (answer["status"], answer["result"], answer["forms"])
                self.assertEqual(observed, ("ok", None, forms))

    def test_pk14_errors_of_code_are_in_the_answer(self):
        for code, name, forms in (
            ("print('said')\n1 / 0", "ZeroDivisionError", 2),
            ("x = = 1", "SyntaxError", 0),
            ("import sys\nsys.exit()", "SystemExit", 2),
            ("import asyncio\nawait asyncio.sleep(0)\n1 / 0", "ZeroDivisionError", 3),
            ("import asyncio\nawait asyncio.sleep(0)\nraise KeyboardInterrupt", "KeyboardInterrupt", 3),
        ):
            with self.subTest(code=code):
                answer = self.kernel.execute_code(code)
                self.assertEqual((answer["status"], answer["ename"]), ("error", name))
                self.assertEqual(answer["forms"], forms)
                self.assertIn(name, answer["exception"])
                self.assertNotIn("/assay/", answer["exception"])
        self.assertEqual(self.kernel.execute_code("1 / 0")["error"], "division by zero")
        self.assertEqual(self.kernel.execute_code("6 * 7")["result"], "42")

    def test_pk14_execute_code_prints_displayed_values(self):
        self.assertEqual(self.kernel.execute_code("display(1)")["stdout"], "1\n")

    def test_pk14_long_text_keeps_its_beginning_and_end(self):
        answer = self.kernel.execute_code("print('begin' + 'x' * 10_000_000 + 'end')\n'y' * 2_000_000")
        self.assertTrue(answer["stdout"].startswith("beginx"))
        self.assertTrue(answer["stdout"].endswith("xend\n"))
        self.assertIn("characters dropped", answer["stdout"])
        self.assertLess(len(answer["stdout"]), 5 << 20)
        self.assertLess(len(answer["result"]), 2 << 20)

    def test_pk14_sessions_interleave_and_keep_their_text_apart(self):
        self.run_ok("import asyncio\ngo = asyncio.Event()")
        first = "print('a1')\nawait go.wait()\nprint('a2')\n'a'"
        self.kernel.send("execute_code", code=first, session="a", agent_tx_id="a")
        second = "print('b1')\ngo.set()\nawait asyncio.sleep(0)\nprint('b2')\n'b'"
        self.kernel.send("execute_code", code=second, session="b", agent_tx_id="b")
        answers = {}
        while len(answers) < 2:
            frame = self.kernel.receive()
            if frame["type"] == "execute_code_response":
                answers[frame["agent_tx_id"]] = frame
        observed = {key: (f["result"], f["stdout"]) for key, f in answers.items()}
        self.assertEqual(observed, {"a": ("'a'", "a1\na2\n"), "b": ("'b'", "b1\nb2\n")})

    def test_pk14_an_awaitable_last_value_is_awaited(self):
        self.run_ok("import asyncio\nasync def f(x=42):\n    print('begun')\n    await asyncio.sleep(0)\n    print('ended')\n    return x")
        for code in ("f()", "await f()", "asyncio.ensure_future(f())", "await asyncio.sleep(0)\nf()", "await f(f())"):
            with self.subTest(code=code):
                answer = self.kernel.execute_code(code)
                observed = (answer["status"], answer["result"], answer["stdout"][:12], answer["stderr"])
                self.assertEqual(observed, ("ok", "42", "begun\nended\n", ""))
        self.assertIsNone(self.kernel.execute_code("f(None)")["result"])
        self.assertEqual(self.kernel.execute_code("x = f()\n[x]\nx;\nawait x")["result"], "42")

    def test_pk14_an_awaitable_last_value_may_fail_or_be_stopped(self):
        self.run_ok("import asyncio\nasync def f(error):\n    await asyncio.sleep(0)\n    raise error")
        for error in ("ValueError", "SystemExit", "KeyboardInterrupt", "asyncio.CancelledError"):
            with self.subTest(error=error):
                answer = self.kernel.execute_code(f"f({error}())")
                self.assertEqual((answer["status"], answer["ename"]), ("error", error.rpartition(".")[2]))
                self.assertNotIn("/assay/", answer["exception"])
        self.kernel.send("execute_code", code="asyncio.sleep(60)", session="a", agent_tx_id="a")
        self.assertEqual(self.kernel.execute_code("6 * 7", session="b", agent_tx_id="b")["result"], "42")
        self.kernel.send("stop_cell", agent_tx_id="a")
        answer = self.kernel.receive_until("execute_code_response")[-1]
        self.assertEqual((answer["agent_tx_id"], answer["status"]), ("a", "interrupted"))

    def test_pk14_plain_code_of_another_session_runs_while_one_awaits(self):
        self.run_ok("import asyncio")
        self.kernel.send("execute_code", code="await asyncio.sleep(60)", session="a", agent_tx_id="a")
        self.assertEqual(self.kernel.execute_code("6 * 7", session="b", agent_tx_id="b")["result"], "42")
        self.kernel.send("stop_cell", agent_tx_id="a")
        answer = self.kernel.receive_until("execute_code_response")[-1]
        self.assertEqual((answer["agent_tx_id"], answer["status"]), ("a", "interrupted"))

    def test_pk14_snippets_of_one_session_run_in_order(self):
        code = "import asyncio\nawait asyncio.sleep(0.05)\nlog.append({0})"
        self.run_ok("log = []")
        for i in range(3):
            self.kernel.send("execute_code", code=code.format(i), session="a", agent_tx_id=str(i))
        ids = [self.kernel.receive_until("execute_code_response")[-1]["agent_tx_id"] for _ in range(3)]
        self.assertEqual(ids, ["0", "1", "2"])
        self.assertEqual(self.run_ok("log").shown_text, "[0, 1, 2]")

    def test_pk14_a_cell_does_not_interleave_with_snippets(self):
        self.run_ok("import asyncio\nlog = []")
        slow = "log.append('{0} begins')\nawait asyncio.sleep(0.05)\nlog.append('{0} ends')"
        self.kernel.send("execute_code", code=slow.format("a"), session="a")
        self.kernel.send("run_cell", cell_id="c", code=slow.format("c"))
        self.kernel.send("execute_code", code=slow.format("b"), session="b")
        self.kernel.receive_until("start_cell", cell_id=None)
        shown = self.run_ok("log").shown_text
        expected = [f"{who} {what}" for who in "acb" for what in ("begins", "ends")]
        self.assertEqual(shown, repr(expected))

    def test_pk14_stopped_code_is_answered_as_interrupted(self):
        for code in (
            "while True: pass",
            "import time\ntime.sleep(60)",
            "import asyncio\nawait asyncio.sleep(60)",
            "import asyncio\nawait asyncio.sleep(0)\nwhile True: pass",
        ):
            with self.subTest(code=code):
                self.kernel.send("execute_code", code="print('said')\n" + code, agent_tx_id="e")
                self.kernel.request("ping", "pong")
                started = time.monotonic()
                self.kernel.send("stop_cell", agent_tx_id="e")
                answer = self.kernel.receive_until("execute_code_response")[-1]
                self.assertLess(time.monotonic() - started, 2)
                self.assertEqual(answer["status"], "interrupted")
                self.assertEqual(self.kernel.execute_code("6 * 7")["result"], "42")

    def test_pk14_queued_code_can_be_stopped(self):
        self.kernel.run_until_begun("print('begun')\nimport time\ntime.sleep(60)")
        self.kernel.send("execute_code", code="never = 1", agent_tx_id="e")
        self.kernel.send("stop_cell", agent_tx_id="e")
        answer = self.kernel.receive_until("execute_code_response")[-1]
        self.assertEqual((answer["agent_tx_id"], answer["status"]), ("e", "interrupted"))
        self.kernel.stop_cell()
        self.assertNotIn("never", self.kernel.globals_summary())


class TestGlobalsReset(KernelTest):
    def reset_globals(self):
        return self.kernel.request(
            "reset_kernel_globals", "reset_kernel_globals_complete", agent_tx_id="r"
        )

    def test_pk14_a_reset_removes_everything_of_the_user(self):
        self.run_ok(
            "import asyncio, os, sys\n"
            "x = 1\n"
            "os.mkdir('sub')\n"
            "os.chdir('sub')\n"
            "sys.stdout = None\n"
            "async def forever():\n"
            "    try: await asyncio.sleep(60)\n"
            "    finally: os.mkdir('cancelled')\n"
            "task = asyncio.create_task(forever())"
        )
        expected = {"type": "reset_kernel_globals_complete", "agent_tx_id": "r", "threads": []}
        self.assertEqual(self.reset_globals(), expected)
        self.assertEqual(self.kernel.globals_summary(), {})
        run = self.run_ok("import os\nprint('heard')\nos.path.basename(os.getcwd())")
        self.assertEqual((run.shown_text, run.text()), ("'cwd'", "heard\n"))
        self.assertTrue((self.kernel.folder / "cwd" / "sub" / "cancelled").is_dir())
        run = self.run_ok("sorted(name for name in globals() if name[0] != '_')")
        self.assertEqual(run.shown_text, "['In', 'Out', 'os']")
        run = self.run_ok("import pickle\nclass A: pass\ntype(pickle.loads(pickle.dumps(A()))) is A")
        self.assertEqual(run.shown_text, "True")

    def test_pk14_a_reset_names_the_threads_that_are_left(self):
        self.run_ok(
            "import threading\n"
            "threading.Thread(target=threading.Event().wait, name='mine', daemon=True).start()"
        )
        self.assertEqual(self.reset_globals()["threads"], ["mine"])

    def test_pk14_a_reset_gives_up_on_a_task_that_does_not_end(self):
        self.run_ok(
            "import asyncio\n"
            "async def stay():\n"
            "    while True:\n"
            "        try: await asyncio.sleep(60)\n"
            "        except asyncio.CancelledError: pass\n"
            "task = asyncio.create_task(stay())\n"
            "await asyncio.sleep(0)"
        )
        started = time.monotonic()
        self.assertEqual(self.reset_globals()["threads"], [])
        self.assertLess(time.monotonic() - started, 5)
        self.assertEqual(self.run_ok("1 + 1").shown_text, "2")

    def test_pk14_a_reset_reports_its_errors(self):
        self.run_ok("import os\nos.rmdir(os.getcwd())")
        self.assertIn("FileNotFoundError", self.reset_globals()["error"])
        self.assertEqual(self.run_ok("1 + 1").shown_text, "2")
