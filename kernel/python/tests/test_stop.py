"""Stopping what runs and what waits."""

import statistics
import time

from harness import KernelTest, Run, needs


class TestStop(KernelTest):
    def stopped(self, code: str, within: float = 2.0) -> Run:
        """Runs code up to where it prints "begun", stops it, and checks that it ends."""
        self.kernel.begin(code)
        started = time.monotonic()
        run = self.kernel.stop()
        self.assertLess(time.monotonic() - started, within)
        self.assertEqual(run.result["status"], "interrupted", run.result["exception"])
        self.assertEqual(self.run_ok("40 + 2").shown, "42")
        return run

    def test_pk7_code_that_is_busy_or_waits_is_interrupted(self):
        for code in (
            "print('begun')\nwhile True: pass",
            "import time\nprint('begun')\ntime.sleep(60)",
            "import subprocess\nprint('begun')\nsubprocess.run(['sleep', '60'])",
            "import os\nprint('begun')\nos.system('exec sleep 1')\nwhile True: pass",
            "import threading\nprint('begun')\nthreading.Event().wait()",
            "import threading\nprint('begun')\nthreading.Lock().__enter__()\nthreading.Event().wait()",
            "import socket\nprint('begun')\npair = socket.socketpair()\npair[0].recv(1)",
            "print('begun')\nsum(i for i in iter(int, 1))",
            "class A:\n    def __repr__(self):\n        print('begun')\n        while True: pass\nA()",
            "class A:\n    def _repr_html_(self):\n        print('begun')\n        while True: pass\ndisplay(A())",
            "class E(Exception):\n    def __str__(self):\n        print('begun')\n        while True: pass\nraise E",
            "import asyncio\nprint('begun')\nasync def f():\n    while True: pass\nasyncio.run(f())",
            "import asyncio\nprint('begun')\nasyncio.run(asyncio.sleep(60))",
            "import time\nfrom concurrent.futures import ThreadPoolExecutor\n"
            "pool = ThreadPoolExecutor(1)\nprint('begun')\npool.submit(time.sleep, 60).result()",
            "import itertools, sys\nsys.stdout.writelines(itertools.chain(['begun\\n'], itertools.repeat('')))",
            "print('begun')\n!sleep 60",
            "!echo begun; sleep 60; echo never",
            "print('begun')\nx = !sleep 60",
        ):  # fmt: skip
            with self.subTest(code=code):
                self.stopped(code, within=3.0)

    def test_pk7_an_import_that_is_stopped_comes_to_its_end(self):
        self.package("import os\nprint('begun')\nwhile not os.path.exists('go'): pass\nvalue = part.value")
        self.kernel.begin("import package\nwhile True: pass")
        self.kernel.send("stop_cell", cell_id="c")
        self.kernel.ask("ping", "pong")  # the first interrupt was sent
        (self.kernel.folder / "cwd" / "go").touch()
        run = Run(self.kernel.until("start_cell", cell_id=None))
        self.assertEqual(run.result["status"], "interrupted")
        self.assertEqual(self.run_ok("import package\npackage.value").shown, "7")

    def test_pk7_an_import_that_does_not_end_is_interrupted(self):
        for spin in (
            "print('begun')\nwhile True: pass",
            "import itertools, sys\nsys.stdout.writelines(itertools.chain(['begun\\n'], itertools.repeat('')))",
        ):
            with self.subTest(spin=spin):
                self.package(spin)
                self.stopped("import package", within=5.0)

    def package(self, source: str) -> None:
        """Makes a package that needs what it has already loaded of itself, and runs source."""
        folder = self.kernel.folder / "cwd" / "package"
        folder.mkdir(exist_ok=True)
        (folder / "part.py").write_text("value = 7")
        (folder / "__init__.py").write_text("from .part import *\n" + source)

    def test_pk7_a_pool_of_threads_that_is_waited_for_is_left_after_a_second(self):
        self.stopped(
            "import time\nfrom concurrent.futures import ThreadPoolExecutor\n"
            "with ThreadPoolExecutor(1) as pool:\n"
            "    future = pool.submit(time.sleep, 60)\n"
            "    print('begun')\n"
            "    future.result()",
            within=4.0,
        )

    @needs("IPython")
    def test_pk7_magics_are_interrupted(self):
        self.run_ok("%pwd")
        for code in (
            "print('begun')\n%time import time; time.sleep(60)",
            "%%time\nprint('begun')\nwhile True: pass",
            "print('begun')\n%timeit -n 1000000000 -r 1 pass",
            "%%bash\necho begun\nsleep 60; echo",
            "open('script.py', 'w').write('while True: pass')\nprint('begun')\n%run script.py",
            "print('begun')\n!sleep 60",
        ):
            with self.subTest(code=code):
                self.stopped(code, within=3.0)

    def test_pk7_awaiting_code_is_interrupted(self):
        for code in (
            "print('begun')\nawait asyncio.sleep(60)",
            "async def f():\n    print('begun')\n    await asyncio.Event().wait()\nawait f()",
            "print('begun')\nawait asyncio.gather(asyncio.sleep(60), asyncio.sleep(60))",
            "print('begun')\nawait asyncio.sleep(0)\nwhile True: pass",
            "async def f():\n    print('begun')\n    while True: pass\nawait asyncio.create_task(f())",
            "print('begun')\nwhile True: await asyncio.sleep(0)",
            "p = await asyncio.create_subprocess_exec('sleep', '60')\nprint('begun')\nawait p.wait()",
        ):
            with self.subTest(code=code):
                run = self.stopped("import asyncio\n" + code)
                self.assertEqual(run.error["ename"], "KeyboardInterrupt")
                self.assertNotIn("/assay/", run.result["exception"])

    def test_pk7_a_task_that_is_being_scheduled_is_not_lost(self):
        """Scheduling each step of the task takes long, so that the interrupt most likely comes during it."""
        for attempt in range(4):
            with self.subTest(attempt=attempt):
                self.stopped(
                    "import asyncio, time\n"
                    "loop = asyncio.get_running_loop()\n"
                    "check = loop._check_closed\n"
                    "loop._check_closed = lambda: (check(), time.sleep(0.05))\n"
                    "print('begun')\n"
                    "try:\n"
                    "    while True: await asyncio.sleep(0)\n"
                    "finally:\n"
                    "    loop._check_closed = check"
                )

    def test_pk7_a_task_that_the_cell_only_started_is_left_alone(self):
        self.kernel.begin(
            "import asyncio\n"
            "async def count():\n"
            "    global n\n"
            "    for n in range(1, 9): await asyncio.sleep(0.01)\n"
            "task = asyncio.create_task(count())\n"
            "print('begun')\n"
            "await asyncio.sleep(60)"
        )
        self.kernel.stop()
        self.assertEqual(self.run_ok("await task\nn").shown, "8")

    def test_pk7_a_stopped_run_tells_where_it_was(self):
        run = self.stopped("def f():\n    while True: pass\nprint('begun')\nf()")
        self.assertIs(run.result["has_exception"], True)
        self.assertIn('File "<cell c>", line 2, in f', run.result["exception"])
        self.assertEqual(run.error["ename"], "KeyboardInterrupt")

    def test_pk7_code_that_swallows_the_interrupt_is_hit_again_after_a_second(self):
        code = (
            "import time\n"
            "hits = []\n"
            "while len(hits) < 3:\n"
            "    try:\n"
            "        if not hits: print('begun')\n"
            "        while True: SPIN\n"
            "    except BaseException: hits.append(time.monotonic())\n"
            "print(min(b - a for a, b in zip(hits, hits[1:])) > 0.9)"
        )
        for spin in ("pass", "time.sleep(60)"):
            with self.subTest(spin=spin):
                run = self.stopped(code.replace("SPIN", spin), within=5.0)
                self.assertEqual(run.text(), "True\n")
                self.assertIs(run.result["has_exception"], False)

    def test_pk7_cancellation_that_is_swallowed_comes_again_after_a_second(self):
        run = self.stopped(
            "import asyncio\n"
            "for i in range(2):\n"
            "    try:\n"
            "        if not i: print('begun')\n"
            "        await asyncio.sleep(60)\n"
            "    except asyncio.CancelledError: print('no')",
            within=4.0,
        )
        self.assertEqual(run.text(), "no\nno\n")

    def test_pk7_a_finally_block_has_its_time(self):
        run = self.stopped(
            "import time\n"
            "try:\n"
            "    print('begun')\n"
            "    while True: pass\n"
            "finally:\n"
            "    time.sleep(0.3)\n"
            "    print('cleaned')"
        )
        self.assertEqual(run.text(), "cleaned\n")

    def test_pk7_a_run_that_ends_by_itself_when_stopped_is_interrupted(self):
        run = self.stopped(
            "try:\n    print('begun')\n    while True: pass\nexcept KeyboardInterrupt: x = 1\nx"
        )
        self.assertEqual((run.shown, run.result["outputs"]), ("1", ["x"]))

    def test_pk7_waiting_cells_leave_the_queue(self):
        self.kernel.begin("import time\nprint('begun')\ntime.sleep(60)")
        for cell_id in ("x", "y", "x"):
            self.kernel.send("run_cell", cell_id=cell_id, code="never = 1")
        self.kernel.until("run_queue", queue=["x", "y", "x"])
        self.kernel.send("stop_cell", cell_id="x")
        frames = self.kernel.until("cell_result", run_sequencer=3)
        told = [(f["type"], f.get("cell_id"), f.get("status")) for f in frames]
        self.assertEqual(
            told,
            [
                ("run_queue", None, None),
                ("start_cell", "x", None),
                ("cell_result", "x", "interrupted"),
                ("start_cell", "x", None),
                ("cell_result", "x", "interrupted"),
            ],
        )
        self.assertEqual(frames[0]["queue"], ["y"])
        self.kernel.send("dispose_cell", cell_id="y")
        self.assertEqual(self.kernel.until("cell_result")[-1]["cell_id"], "y")
        self.assertEqual(self.kernel.stop().result["cell_id"], "c")
        self.assertNotIn("never", self.kernel.summary())

    def test_dispose_stops_a_running_cell(self):
        self.kernel.begin("print('begun')\nwhile True: pass")
        self.kernel.send("dispose_cell", cell_id="c")
        run = Run(self.kernel.until("start_cell", cell_id=None))
        self.assertEqual(run.result["status"], "interrupted")

    def test_stopping_what_does_not_run_changes_nothing(self):
        self.kernel.send("stop_cell", cell_id="c")
        self.kernel.send("stop_cell", cell_id="other")
        self.kernel.begin("import time\nprint('begun')\ntime.sleep(0.2)\n3")
        self.kernel.send("stop_cell", cell_id="other")
        run = Run(self.kernel.until("start_cell", cell_id=None))
        self.assertEqual((run.result["status"], run.shown), ("ok", "3"))

    def test_a_stop_at_any_moment_hits_its_own_run_only(self):
        """Runs and stops of two cells, as close together as can be."""
        for i in range(150):
            self.kernel.send("run_cell", cell_id="a", code="print('x' * 100)\n[1, 2]")
            self.kernel.send("stop_cell", cell_id="a")
            self.kernel.send("run_cell", cell_id="b", code="y = sum(range(2000))\nprint(y)\ny")
            frames = self.kernel.until("cell_result", cell_id="b")
            results = [f for f in frames if f["type"] == "cell_result"]
            self.assertEqual([f["cell_id"] for f in results], ["a", "b"])
            self.assertIn(results[0]["status"], ("ok", "interrupted"))
            self.assertEqual(results[1]["status"], "ok", results[1]["exception"])
        self.kernel.until("start_cell", cell_id=None)

    def test_an_unasked_for_sigint_has_no_effect(self):
        run = self.run_ok("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n7")
        self.assertEqual(run.shown, "7")

    def test_pk7_a_handler_of_the_user_s_does_not_outlive_its_cell(self):
        self.run_ok("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)")
        self.stopped("print('begun')\nwhile True: pass")

    def test_pk7_a_busy_loop_ends_within_milliseconds(self):
        times = []
        for _ in range(15):
            self.kernel.begin("print('begun')\nwhile True: pass")
            started = time.monotonic()
            self.kernel.stop()
            times.append(time.monotonic() - started)
        self.assertLess(statistics.median(times), 0.050)
