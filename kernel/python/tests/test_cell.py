"""Running cells: their values, the names they bind, their order and the queue."""

from harness import KernelTest


class TestCellValue(KernelTest):
    def test_pk2_the_last_expression_is_shown(self):
        for code, shown in (
            ("1 + 1", "2"),
            ("x = 5\nx", "5"),
            ("'a'", "'a'"),
            ("(1,\n 2)  # not ; the end", "(1, 2)"),
            ("'ä; ö'", "'ä; ö'"),
            ("'''\n;'''", "'\\n;'"),
            ("1\r\n2", "2"),
            ("if True:\n    pass\n7\n\n# the end;\n", "7"),
        ):
            with self.subTest(code=code):
                self.assertEqual(self.run_ok(code).shown_text, shown)

    def test_pk2_cells_without_a_value_show_nothing(self):
        for code in (
            "", "  \n\n", "# only a comment", "x = 1", "None", "1;", "1 ; # said", "(2);\n", "1 \\\n;",
            "'ä' ;", "for i in range(3): i", "def f(): return 1", "import os", "await_ = 1",
        ):  # fmt: skip
            with self.subTest(code=code):
                self.assertEqual(self.run_ok(code).outputs, [])

    def test_pk2_the_value_is_sent_as_an_execute_result(self):
        run = self.run_ok("1")
        self.assertEqual(
            run.outputs,
            [
                {
                    "output_type": "execute_result",
                    "data": {"text/plain": "1"},
                    "metadata": {},
                    "execution_count": run.result["run_sequencer"],
                }
            ],
        )

    def test_pk2_cells_may_await_at_the_top_level(self):
        for code, shown in (
            ("import asyncio\nawait asyncio.sleep(0, 5)", "5"),
            ("x = await asyncio.sleep(0, 6)\nx", "6"),
            ("async def three():\n    for i in range(3): yield i\n[i async for i in three()]",
             "[0, 1, 2]"),
            ("n = 0\nasync for i in three(): n += i\nn", "3"),
            ("async with asyncio.Lock() as lock: n = 9\nn", "9"),
            ("async def f(): return 3\nsum([await f() for i in range(2)])", "6"),
            ("await f()", "3"),
            ("f().close()\n8", "8"),
        ):  # fmt: skip
            with self.subTest(code=code):
                self.assertEqual(self.run_ok(code).shown_text, shown)

    def test_pk2_a_coroutine_that_is_not_awaited_is_a_value(self):
        run = self.run_ok("async def f(): pass\nc = f()\nc")
        self.assertIn("<coroutine object f", run.shown_text)
        self.run_ok("c.close()")

    def test_asyncio_run_works_in_a_plain_cell(self):
        run = self.run_ok("import asyncio\nasync def f(): return 3\nasyncio.run(f())")
        self.assertEqual(run.shown_text, "3")
        self.assertEqual(self.run_ok("await f()").shown_text, "3")
        self.assertEqual(self.run_ok("asyncio.run(f())").shown_text, "3")

    def test_functions_of_plain_cells_may_create_tasks(self):
        self.run_ok(
            "import asyncio\n"
            "async def work(): done.append(1)\n"
            "def start(): return asyncio.create_task(work(), name='mine')\n"
            "done = []"
        )
        self.run_ok("task = start()")
        self.assertEqual(self.run_ok("await task\ndone, task.get_name()").shown_text, "([1], 'mine')")
        run = self.run_failing("import threading\nfrom concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor().submit(start).result()")
        self.assertIn("no running event loop", run.error_output["evalue"])

    def test_features_of_future_stay_on(self):
        self.run_ok("from __future__ import annotations")
        self.run_ok("def f(x: Nowhere): return x", "d")
        self.assertEqual(self.run_ok("f.__annotations__", "e").shown_text, "{'x': 'Nowhere'}")
        self.kernel.request("reset_kernel_globals", "reset_kernel_globals_complete")
        self.run_failing("def f(x: Nowhere): return x")

    def test_in_and_out_have_sources_and_values(self):
        first = self.run_ok("41").result["run_sequencer"]
        self.run_ok("x = 1")
        self.run_ok("42")
        self.assertEqual(self.run_ok(f"In[{first}], Out[{first}], _, __, len(In)").shown_text, f"('41', 41, 42, 41, {first + 4})")
        self.assertEqual(self.kernel.request("globals_summary", "globals_summary")["summary"].keys(), {"x"})
        self.run_ok("In = Out = 1")
        self.assertEqual(self.kernel.request("globals_summary", "globals_summary")["summary"].keys(), {"x", "In", "Out"})

    def test_few_old_results_are_kept(self):
        self.run_ok("import gc, weakref\nclass A: pass\na = weakref.WeakSet()\ndef make():\n    value = A()\n    a.add(value)\n    return value")
        for i in range(30):
            self.run_ok("make()")
        self.assertEqual(self.run_ok("gc.collect(); len(a)").shown_text, "20")

    def test_background_tasks_go_on_between_cells(self):
        self.run_ok(
            "import asyncio\n"
            "async def count():\n"
            "    global n\n"
            "    for n in range(1, 4): await asyncio.sleep(0)\n"
            "    print('counted')\n"
            "task = asyncio.create_task(count())"
        )
        self.assertIsNone(self.kernel.receive_until_printed("counted\n")[-1]["active_cell"])
        self.assertEqual(self.run_ok("n").shown_text, "3")

    def test_an_event_loop_that_the_user_closes_goes_on(self):
        self.run_ok("import asyncio\nawait asyncio.sleep(0)")
        self.run_ok("asyncio.get_event_loop().close()")
        self.assertEqual(self.run_ok("await asyncio.sleep(0, 4)").shown_text, "4")

    def test_requests_do_not_disturb_an_event_loop_run_by_the_user(self):
        self.run_ok("import asyncio\nawait asyncio.sleep(0)")
        self.kernel.run_until_begun(
            "print('begun')\nasyncio.get_event_loop().run_until_complete(asyncio.sleep(0.2, 'done'))"
        )
        self.kernel.send("run_cell", cell_id="d", code="1")
        frames = self.kernel.receive_until("cell_result", cell_id="c")
        self.assertEqual(frames[-1]["status"], "ok", frames[-1]["exception"])
        self.kernel.receive_until("start_cell", cell_id=None)

    def test_cells_can_define_closures_classes_and_decorators(self):
        run = self.run_ok(
            "import functools\n"
            "k = 3\n"
            "class A:\n"
            "    @functools.lru_cache\n"
            "    def f(self): return [k * i for i in range(2)]\n"
            "A().f()"
        )
        self.assertEqual(run.shown_text, "[0, 3]")

    def test_the_last_value_is_kept_in_the_variable_underscore(self):
        self.run_ok("41")
        self.assertEqual(self.run_ok("_ + 1").shown_text, "42")


class TestAssignedNames(KernelTest):
    def names_assigned_by(self, code):
        return self.run_ok(code).result["outputs"]

    def test_cell_result_lists_the_names_assigned_by_the_run(self):
        for code, names in (
            ("b = 1\na = 2", ["a", "b"]),
            ("b = 1", ["b"]),
            ("a + b", []),
            ("_c = 1\nimport os as d", []),
            ("def f(): pass\nclass G: pass", ["G", "f"]),
            ("for i in range(2): pass", ["i"]),
            ("(x := 3)", ["x"]),
            ("p, *q = 1, 2", ["p", "q"]),
            ("with open('/dev/null') as h: pass", ["h"]),
            ("[z for z in range(3)]\nlambda y: y", []),
            ("def g():\n    global w\n    w = 1\ng()", ["g", "w"]),
            ("from math import pi", ["pi"]),
            ("t = 1\ndel t", []),
            ("globals()['u'] = object()", ["u"]),
        ):
            with self.subTest(code=code):
                self.assertEqual(self.names_assigned_by(code), names)

    def test_a_failing_run_reports_the_names_it_bound_before(self):
        self.run_ok("a = 1\nb = 2")
        run = self.kernel.run_cell("a = object()\n1/0\nb = 3")
        self.assertEqual(run.result["outputs"], ["a"])

    def test_old_values_are_not_kept_alive(self):
        self.run_ok("import weakref\nclass A: pass\na = A()\nr = weakref.ref(a)")
        self.assertEqual(self.run_ok("a = 1\nr() is None").shown_text, "True")


class TestRunOrder(KernelTest):
    def test_every_run_has_one_start_and_one_result(self):
        frame_types = []
        for code in ("1", "", "def f(:", "1/0", "import sys; sys.exit(3)", "raise KeyboardInterrupt"):
            run = self.kernel.run_cell(code)
            frame_types.append([f["type"] for f in run.frames if f["type"] in ("start_cell", "cell_result")])
            self.assertEqual(run.frames[0]["run_sequencer"], run.result["run_sequencer"])
            self.assertGreaterEqual(run.result["duration_ms"], 0)
        self.assertEqual(frame_types, [["start_cell", "cell_result", "start_cell"]] * 6)

    def test_a_lone_cell_is_never_announced_as_queued(self):
        run = self.run_ok("1")
        self.assertNotIn("run_queue", [frame["type"] for frame in run.frames])

    def test_queued_cells_run_in_order(self):
        self.kernel.run_until_begun(
            "import os, time\nprint('begun')\nwhile not os.path.exists('go'): time.sleep(0.001)"
        )
        for cell_id in ("x", "y", "x"):
            self.kernel.send("run_cell", cell_id=cell_id, code="1")
        queues = [self.kernel.receive_until("run_queue")[-1]["queue"] for _ in range(3)]
        self.assertEqual(queues, [["x"], ["x", "y"], ["x", "y", "x"]])
        (self.kernel.folder / "cwd" / "go").touch()
        frames = self.kernel.receive_until("start_cell", cell_id=None)
        observed = [
            (f["type"], f.get("queue", f.get("cell_id")), f.get("run_sequencer"))
            for f in frames
            if f["type"] in ("start_cell", "cell_result", "run_queue")
        ]
        self.assertEqual(
            observed,
            [
                ("cell_result", "c", 1),
                ("run_queue", ["y", "x"], None),
                ("start_cell", "x", 2),
                ("cell_result", "x", 2),
                ("run_queue", ["x"], None),
                ("start_cell", "y", 3),
                ("cell_result", "y", 3),
                ("run_queue", [], None),
                ("start_cell", "x", 4),
                ("cell_result", "x", 4),
                ("start_cell", None, 4),
            ],
        )

    def test_printed_text_and_outputs_keep_their_order(self):
        run = self.run_ok("print('a')\ndisplay(1)\nprint('b', end='')\ndisplay(2)\nprint('c')\n3")
        observed = [
            f["data"] if f["type"] == "kernel_stdio" else f["output"]["data"]["text/plain"]
            for f in run.frames
            if f["type"] in ("kernel_stdio", "cell_output")
        ]
        self.assertEqual("".join(observed).replace("\n", ""), "a1b2c3")


class TestMainModule(KernelTest):
    def test_pickle_dataclasses_and_getsource_work_in_the_main_module(self):
        run = self.run_ok(
            "import dataclasses, inspect, pickle, typing\n"
            "@dataclasses.dataclass\n"
            "class P:\n"
            "    x: 'int' = 1\n"
            "def f():\n"
            "    return 1  # here\n"
            "(pickle.loads(pickle.dumps(P(3))), typing.get_type_hints(P), inspect.getsource(f))"
        )
        self.assertEqual(
            run.shown_text, "(P(x=3), {'x': int}, 'def f():\\n    return 1  # here\\n')"
        )
        self.assertIn("return 1", self.run_ok("inspect.getsource(f)", "other").shown_text)

    def test_multiprocessing_works_with_forks(self):
        run = self.run_ok(
            "import multiprocessing\n"
            "def f(x):\n"
            "    print('child', x)\n"
            "    return x * x\n"
            "with multiprocessing.get_context('fork').Pool(2) as pool: squares = pool.map(f, [2, 3])\n"
            "squares"
        )
        self.assertEqual(run.shown_text, "[4, 9]")
        written = sorted(self.kernel.descriptor_text().splitlines())
        self.assertEqual(written, ["child 2", "child 3"])

    def test_a_forked_process_exits_at_the_end_of_its_cell(self):
        run = self.run_ok("import os\npid = os.fork()\nif pid: status = os.waitpid(pid, 0)[1]\npid > 0")
        self.assertEqual(run.shown_text, "True")
        self.assertEqual(self.run_ok("status").shown_text, "0")
        self.run_ok("pid = os.fork()\nif not pid: 1/0\nstatus = os.waitpid(pid, 0)[1]")
        self.assertEqual(self.run_ok("os.WEXITSTATUS(status)").shown_text, "1")
        self.assertIn("ZeroDivisionError", self.kernel.descriptor_text("err"))
