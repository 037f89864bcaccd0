"""Stopping cells that run and cells that wait."""

import statistics
import time

from harness import KernelTest, RunRecord, skip_unless_installed


class TestStop(KernelTest):
    def run_and_stop(self, code: str, within: float = 2.0) -> RunRecord:
        """Runs a cell until it prints "begun", and stops it. Fails the test if it ends later than `within` seconds.

        Returns the run.
        """
        self.kernel.run_until_begun(code)
        started = time.monotonic()
        run = self.kernel.stop_cell()
        self.assertLess(time.monotonic() - started, within)
        self.assertEqual(run.result["status"], "interrupted", run.result["exception"])
        self.assertEqual(self.run_ok("40 + 2").shown_text, "42")
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
                self.run_and_stop(code, within=3.0)

    def test_pk7_a_stop_lets_an_import_finish(self):
        self.make_package("import os\nprint('begun')\nwhile not os.path.exists('go'): pass\nvalue = part.value")
        self.kernel.run_until_begun("import package\nwhile True: pass")
        self.kernel.send("stop_cell", cell_id="c")
        self.kernel.request("ping", "pong")  # when it is answered, the first interrupt was sent
        (self.kernel.folder / "cwd" / "go").touch()
        run = RunRecord(self.kernel.receive_until("start_cell", cell_id=None))
        self.assertEqual(run.result["status"], "interrupted")
        self.assertEqual(self.run_ok("import package\npackage.value").shown_text, "7")

    def test_pk7_an_import_that_does_not_end_is_interrupted(self):
        for spin in (
            "print('begun')\nwhile True: pass",
            "import itertools, sys\nsys.stdout.writelines(itertools.chain(['begun\\n'], itertools.repeat('')))",
        ):
            with self.subTest(spin=spin):
                self.make_package(spin)
                self.run_and_stop("import package", within=5.0)

    def make_package(self, source: str) -> None:
        """Writes a Python package that imports its own module and then runs source."""
        folder = self.kernel.folder / "cwd" / "package"
        folder.mkdir(exist_ok=True)
        (folder / "part.py").write_text("value = 7")
        (folder / "__init__.py").write_text("from .part import *\n" + source)

    def test_pk7_code_that_waits_for_a_thread_pool_is_interrupted_again_after_a_second(self):
        self.run_and_stop(
            "import time\nfrom concurrent.futures import ThreadPoolExecutor\n"
            "with ThreadPoolExecutor(1) as pool:\n"
            "    future = pool.submit(time.sleep, 60)\n"
            "    print('begun')\n"
            "    future.result()",
            within=4.0,
        )

    @skip_unless_installed("IPython")
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
                self.run_and_stop(code, within=3.0)

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
                run = self.run_and_stop("import asyncio\n" + code)
                self.assertEqual(run.error_output["ename"], "KeyboardInterrupt")
                self.assertNotIn("/assay/", run.result["exception"])

    def test_pk7_a_task_that_is_being_scheduled_is_not_lost(self):
        """Scheduling each step of the asyncio task takes long, so that the interrupt most likely comes during it."""
        for attempt in range(4):
            with self.subTest(attempt=attempt):
                self.run_and_stop(
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

    def test_pk7_background_tasks_of_a_stopped_cell_go_on(self):
        self.kernel.run_until_begun(
            "import asyncio\n"
            "async def count():\n"
            "    global n\n"
            "    for n in range(1, 9): await asyncio.sleep(0.01)\n"
            "task = asyncio.create_task(count())\n"
            "print('begun')\n"
            "await asyncio.sleep(60)"
        )
        self.kernel.stop_cell()
        self.assertEqual(self.run_ok("await task\nn").shown_text, "8")

    def test_pk7_a_stopped_run_has_a_traceback(self):
        run = self.run_and_stop("def f():\n    while True: pass\nprint('begun')\nf()")
        self.assertIs(run.result["has_exception"], True)
        self.assertIn('File "<cell c>", line 2, in f', run.result["exception"])
        self.assertEqual(run.error_output["ename"], "KeyboardInterrupt")

    def test_pk7_code_that_swallows_the_interrupt_is_interrupted_again_after_a_second(self):
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
                run = self.run_and_stop(code.replace("SPIN", spin), within=5.0)
                self.assertEqual(run.text(), "True\n")
                self.assertIs(run.result["has_exception"], False)

    def test_pk7_a_task_that_swallows_cancellation_is_cancelled_again_after_a_second(self):
        run = self.run_and_stop(
            "import asyncio\n"
            "for i in range(2):\n"
            "    try:\n"
            "        if not i: print('begun')\n"
            "        await asyncio.sleep(60)\n"
            "    except asyncio.CancelledError: print('no')",
            within=4.0,
        )
        self.assertEqual(run.text(), "no\nno\n")

    def test_pk7_a_finally_block_is_not_interrupted_for_a_second(self):
        run = self.run_and_stop(
            "import time\n"
            "try:\n"
            "    print('begun')\n"
            "    while True: pass\n"
            "finally:\n"
            "    time.sleep(0.3)\n"
            "    print('cleaned')"
        )
        self.assertEqual(run.text(), "cleaned\n")

    def test_pk7_a_stopped_run_that_handles_the_interrupt_is_interrupted(self):
        run = self.run_and_stop(
            "try:\n    print('begun')\n    while True: pass\nexcept KeyboardInterrupt: x = 1\nx"
        )
        self.assertEqual((run.shown_text, run.result["outputs"]), ("1", ["x"]))

    def test_pk7_stopped_queued_cells_leave_the_queue(self):
        self.kernel.run_until_begun("import time\nprint('begun')\ntime.sleep(60)")
        for cell_id in ("x", "y", "x"):
            self.kernel.send("run_cell", cell_id=cell_id, code="never = 1")
        self.kernel.receive_until("run_queue", queue=["x", "y", "x"])
        self.kernel.send("stop_cell", cell_id="x")
        frames = self.kernel.receive_until("cell_result", run_sequencer=3)
        observed = [(f["type"], f.get("cell_id"), f.get("status")) for f in frames]
        self.assertEqual(
            observed,
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
        self.assertEqual(self.kernel.receive_until("cell_result")[-1]["cell_id"], "y")
        self.assertEqual(self.kernel.stop_cell().result["cell_id"], "c")
        self.assertNotIn("never", self.kernel.globals_summary())

    def test_dispose_stops_a_running_cell(self):
        self.kernel.run_until_begun("print('begun')\nwhile True: pass")
        self.kernel.send("dispose_cell", cell_id="c")
        run = RunRecord(self.kernel.receive_until("start_cell", cell_id=None))
        self.assertEqual(run.result["status"], "interrupted")

    def test_stopping_a_cell_that_does_not_run_has_no_effect(self):
        self.kernel.send("stop_cell", cell_id="c")
        self.kernel.send("stop_cell", cell_id="other")
        self.kernel.run_until_begun("import time\nprint('begun')\ntime.sleep(0.2)\n3")
        self.kernel.send("stop_cell", cell_id="other")
        run = RunRecord(self.kernel.receive_until("start_cell", cell_id=None))
        self.assertEqual((run.result["status"], run.shown_text), ("ok", "3"))

    def test_a_stop_at_any_moment_stops_its_own_run_only(self):
        """Sends run_cell and stop_cell messages of two cells as close together as possible."""
        for i in range(150):
            self.kernel.send("run_cell", cell_id="a", code="print('x' * 100)\n[1, 2]")
            self.kernel.send("stop_cell", cell_id="a")
            self.kernel.send("run_cell", cell_id="b", code="y = sum(range(2000))\nprint(y)\ny")
            frames = self.kernel.receive_until("cell_result", cell_id="b")
            results = [f for f in frames if f["type"] == "cell_result"]
            self.assertEqual([f["cell_id"] for f in results], ["a", "b"])
            self.assertIn(results[0]["status"], ("ok", "interrupted"))
            self.assertEqual(results[1]["status"], "ok", results[1]["exception"])
        self.kernel.receive_until("start_cell", cell_id=None)

    def test_a_sigint_that_the_kernel_did_not_send_has_no_effect(self):
        run = self.run_ok("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n7")
        self.assertEqual(run.shown_text, "7")

    def test_pk7_a_sigint_handler_of_the_user_does_not_outlive_its_cell(self):
        self.run_ok("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)")
        self.run_and_stop("print('begun')\nwhile True: pass")

    def test_pk7_a_busy_loop_ends_soon(self):
        times = []
        for _ in range(15):
            self.kernel.run_until_begun("print('begun')\nwhile True: pass")
            started = time.monotonic()
            self.kernel.stop_cell()
            times.append(time.monotonic() - started)
        self.assertLess(statistics.median(times), 1)  # milliseconds, but the machine may have much to do
