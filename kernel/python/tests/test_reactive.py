"""Signals: which cells run again, when, and in which order the frames come."""

import importlib
import os
import sys
from random import Random

from harness import IMPORT_ROOT, KernelTest, RunRecord, skip_unless_installed

IMPORT_SIGNAL = "from assay import Signal\n"
HOLD_CODE = "print('begun'), open('go').read()"  # blocks until release_held_cell() writes to the FIFO


def frame_events(frames):
    """Returns the frames without text and outputs, as tuples: type, cell or queue, and status of a cell_result."""
    events = []
    for frame in frames:
        kind = frame["type"]
        if kind == "run_queue":
            events.append((kind, frame["queue"]))
        elif kind == "cell_result":
            events.append((kind, frame["cell_id"], frame["status"]))
        elif kind not in ("kernel_stdio", "cell_output"):
            events.append((kind, frame.get("cell_id")))
    return events


def ids_of_cells_run(frames):
    """Returns the ids of the cells that have a cell_result in frames, in order."""
    return [frame["cell_id"] for frame in frames if frame["type"] == "cell_result"]


IDLE = ("start_cell", None)


def events_of_writer_and_reader(writer, reader):
    """Returns the events of a run of the cell writer that makes the cell reader run again."""
    return [
        ("start_cell", writer),
        ("run_queue", [reader]),
        ("cell_result", writer, "ok"),
        ("run_queue", []),
        ("start_cell", reader),
        ("cell_result", reader, "ok"),
        IDLE,
    ]


class ReactiveTest(KernelTest):
    def setUp(self):
        super().setUp()
        self.gate = self.kernel.folder / "cwd" / "go"
        os.mkfifo(self.gate)

    def release_held_cell(self):
        """Lets a cell with HOLD_CODE go on, and returns the frames received before."""
        self.kernel.send("ping")
        frames = self.kernel.receive_until("pong")
        self.gate.write_text("")
        return frames[:-1]

    def release_held_cell_and_finish(self):
        """Lets a cell with HOLD_CODE go on, and returns all frames until the kernel is idle."""
        return self.release_held_cell() + self.kernel.receive_until("start_cell", cell_id=None)

    def run_cells(self, **sources):
        """Runs cells, given as source by id. Fails the test if one fails or makes another cell run again."""
        for cell_id, source in sources.items():
            run = self.run_ok(source, cell_id)
            self.assertEqual(ids_of_cells_run(run.frames), [cell_id])

    def text_of_cell(self, frames, cell):
        """Returns the text that a cell printed, according to frames."""
        return "".join(f["data"] for f in frames if f["type"] == "kernel_stdio" and f["active_cell"] == cell)

    def frames_of_run(self, code, cell_id="z"):
        """Runs a cell, and returns all frames until the kernel is idle."""
        return self.run_ok(code, cell_id).frames

    def cells_rerun_by(self, code, cell_id="z"):
        """Runs a cell, and returns the ids of the cells that run again because of it, in order."""
        return ids_of_cells_run(self.frames_of_run(code, cell_id))[1:]


class TestSignal(ReactiveTest):
    def test_pk9_a_cell_that_reads_a_changed_signal_runs_again(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)", b="print(s())")
        frames = self.frames_of_run("s(2)", "c")
        self.assertEqual(frame_events(frames), events_of_writer_and_reader("c", "b"))
        self.assertEqual(self.text_of_cell(frames, "b"), "2\n")
        starts = [f["run_sequencer"] for f in frames if f["type"] == "start_cell" and f["cell_id"]]
        results = [f["run_sequencer"] for f in frames if f["type"] == "cell_result"]
        self.assertEqual(starts, results)

    def test_pk9_which_ways_of_reading_subscribe_a_cell(self):
        self.run_cells(a=IMPORT_SIGNAL + "import asyncio, threading\ns = Signal(0)\ndef read(): return s()\nasync def aread(): return s()")
        for code, reruns in (
            ("s()", True),
            ("s.value", True),
            ("read()", True),
            ("[f() for f in [s]]", True),
            ("await aread()", True),
            ("await asyncio.sleep(0)\ns()", True),
            ("await asyncio.gather(aread())", True),
            ("await asyncio.create_task(aread())", True),
            ("await asyncio.to_thread(read)", True),
            ("asyncio.run(aread())", True),
            ("if False: s()", False),
            ("s.sample()", False),
            ("t = threading.Thread(target=read)\nt.start()\nt.join()", False),
            ("task = asyncio.create_task(asyncio.sleep(0.01))\ntask.add_done_callback(lambda _: s())", False),
            ("repr(s)", False),
            ("s", False),
        ):
            with self.subTest(code=code):
                self.run_ok(code, "reader")
                self.assertEqual(self.cells_rerun_by("s(s.sample() + 1)"), ["reader"] if reruns else [])

    def test_a_signal_read_in_a_function_called_by_a_cell(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)\ndef inner(): return s() + 1\ndef outer(): return inner() * 10", b="print(outer())")
        frames = self.frames_of_run("s(2)", "c")
        self.assertEqual(frame_events(frames), events_of_writer_and_reader("c", "b"))
        self.assertEqual(self.text_of_cell(frames, "b"), "30\n")

    def test_a_signal_may_hold_an_object_whose_equality_is_no_bool(self):
        self.run_cells(
            a=IMPORT_SIGNAL + "class Frame:\n    def __eq__(self, other): return Frame()\n    def __bool__(self): raise ValueError\ns = Signal(Frame())",
            b="s()",
        )
        self.assertEqual(frame_events(self.frames_of_run("s(Frame())", "c")), events_of_writer_and_reader("c", "b"))
        frames = self.frames_of_run("s(s.sample())", "c")
        self.assertEqual(frame_events(frames), [("start_cell", "c"), ("cell_result", "c", "ok"), IDLE])

    def test_pk9_plain_variables_do_not_subscribe(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)\nx = 1", b="x")
        self.assertEqual(self.cells_rerun_by("x = 2"), [])

    def test_pk9_signal_writes_take_effect_at_the_end_of_the_run(self):
        self.run_cells(a=IMPORT_SIGNAL + "s, t = Signal(1), Signal(1)", b="print(s(), t())")
        frames = self.frames_of_run("s(2)\nt.value = 2\ns.value = 3\nprint(s.sample(), t.sample())")
        self.assertEqual((self.text_of_cell(frames, "z"), self.text_of_cell(frames, "b")), ("1 1\n", "3 2\n"))
        self.assertEqual(ids_of_cells_run(frames), ["z", "b"])

    def test_pk9_writing_an_equal_value_reruns_nothing(self):
        self.run_cells(
            a=IMPORT_SIGNAL
            + "class Loud:\n"
            "    def __eq__(self, other): raise ValueError\n"
            "class Table:\n"
            "    def __eq__(self, other): return Table()\n"
            "    def __bool__(self): raise ValueError('ambiguous')\n"
            "class Same:\n"
            "    def __eq__(self, other): return True\n"
            "nan, loud = float('nan'), Loud()\n"
            "s = Signal(None)",
            b="s()",
        )
        for value, changes in (
            ("1", True), ("1", False), ("1.0", False), ("True", False), ("2", True),
            ("[1, 2]", True), ("[1, 2]", False), ("'x'", True), ("'xx'[:1]", False),
            ("nan", True), ("nan", False), ("float('nan')", True),
            ("loud", True), ("loud", False), ("Loud()", True),
            ("Table()", True), ("Table()", True), ("s.sample()", False),
            ("Same()", True), ("7", False), ("None", False),
        ):  # fmt: skip
            with self.subTest(value=value):
                self.assertEqual(self.cells_rerun_by(f"s({value})"), ["b"] if changes else [])

    def test_pk9_the_last_write_wins_even_if_it_restores_the_value(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)", b="s()")
        self.assertEqual(self.cells_rerun_by("s(2)\ns(1)"), [])

    def test_pk9_a_value_changed_in_place_is_unchanged(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal([])", b="s()")
        self.assertEqual(self.cells_rerun_by("s.sample().append(1)\ns(s.sample())"), [])

    def test_pk9_subscriptions_are_those_of_the_last_run(self):
        self.run_cells(a=IMPORT_SIGNAL + "s, t = Signal(1), Signal(1)", b="s() > 1 and t()")
        self.assertEqual(self.cells_rerun_by("t(2)"), [])
        self.assertEqual(self.cells_rerun_by("s(2)"), ["b"])
        self.assertEqual(self.cells_rerun_by("t(3)"), ["b"])
        self.assertEqual(self.cells_rerun_by("s(0)"), ["b"])
        self.assertEqual(self.cells_rerun_by("t(4)"), [])

    def test_pk10_an_edited_cell_drops_its_subscriptions(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)", b="s()")
        self.run_ok("1", "b")
        self.assertEqual(self.cells_rerun_by("s(2)"), [])

    def test_pk10_a_cell_that_cannot_be_compiled_keeps_its_subscriptions(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)", b="print(s())")
        self.kernel.run_cell("print(s()", "b")
        frames = self.frames_of_run("s(2)", "c")
        self.assertEqual(ids_of_cells_run(frames), ["c", "b"])
        self.assertEqual([f["status"] for f in frames if f["type"] == "cell_result"], ["ok", "error"], "its present source runs")
        self.kernel.run_cell("print(s())", "b")
        self.assertEqual(self.cells_rerun_by("s(3)", "c"), ["b"])

    def test_pk10_a_disposed_cell_does_not_run_again(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)", b="s()")
        self.kernel.send("dispose_cell", cell_id="b")
        self.assertEqual(self.cells_rerun_by("s(2)"), [])

    def test_pk10_a_cell_disposed_of_while_it_runs_does_not_run_again(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)")
        self.kernel.run_until_begun("s()\nprint('begun')\nwhile True: pass", "b")
        self.kernel.send("dispose_cell", cell_id="b")
        self.kernel.receive_until("start_cell", cell_id=None)
        self.assertEqual(self.cells_rerun_by("s(2)"), [])

    def test_signals_in_classes_modules_and_annotations(self):
        (self.kernel.folder / "cwd" / "mine.py").write_text("from assay import Signal\ns: Signal[int] = Signal(1)\n")
        self.run_cells(a="import mine\nclass A: s = mine.s", b="A.s() + 1")
        self.assertEqual(self.cells_rerun_by("mine.s(5)"), ["b"])
        self.assertEqual(self.run_ok("mine.s").shown_text, "Signal(5)")
        self.assertEqual(self.run_ok("from assay.reactive.signals import Signal as S\nS is type(mine.s)").shown_text, "True")

    def test_a_call_with_two_values_is_an_error(self):
        self.run_failing(IMPORT_SIGNAL + "Signal(1)(2, 3)")

    def test_pk8_the_summary_shows_the_value_of_a_signal(self):
        self.run_cells(a=IMPORT_SIGNAL + "s, t = Signal([1, 2]), Signal(Signal(3))")
        summary = self.kernel.globals_summary()
        self.assertEqual(summary["s"], {"type": "list", "repr": "[1, 2]", "len": 2, "signal": True})
        self.assertEqual(summary["t"], {"type": "int", "repr": "3", "signal": True})
        answer = self.kernel.request("get_global_info", "get_global_info_response", key="s")
        self.assertIs(answer["info"]["signal"], True)

    def test_pk8_an_inspection_neither_reads_nor_writes(self):
        self.run_cells(
            a=IMPORT_SIGNAL + "s, t = Signal(1), Signal(1)\nclass A:\n    def __repr__(self):\n        t(t() + 1)\n        return str(s())\nx = A()",
            b="t()",
        )
        self.assertEqual(self.kernel.globals_summary()["x"]["repr"], "1")
        self.assertEqual(self.cells_rerun_by("s(2)"), [])
        self.assertEqual(self.run_ok("t.sample()").shown_text, "1")

    @skip_unless_installed("pandas")
    def test_a_signal_may_hold_a_dataframe(self):
        self.run_cells(a=IMPORT_SIGNAL + "import pandas as pd\ns = Signal(pd.DataFrame({'a': [1]}))", b="len(s())")
        self.assertEqual(self.kernel.globals_summary()["s"]["shape"], [1, 1])
        self.assertIs(self.kernel.globals_summary()["s"]["signal"], True)
        self.assertEqual(self.cells_rerun_by("s(s.sample())"), [])
        self.assertEqual(self.cells_rerun_by("s(s.sample().copy())"), ["b"])
        self.assertEqual(self.cells_rerun_by("s(s.sample()['a'].sum())"), ["b"])
        self.assertEqual(self.cells_rerun_by("import numpy\ns(numpy.int64(1))"), [])


class TestRerunOrder(ReactiveTest):
    def test_a_diamond_of_dependencies_runs_each_cell_once(self):
        self.run_cells(
            a=IMPORT_SIGNAL + "s, t = Signal(1), Signal(10)",
            d="print('d', s(), t())",
            b="t(s() * 10)",
        )
        frames = self.frames_of_run("s(2)", "c")
        self.assertEqual(
            frame_events(frames),
            [
                ("start_cell", "c"),
                ("run_queue", ["b", "d"]),
                ("cell_result", "c", "ok"),
                ("run_queue", ["d"]),
                ("start_cell", "b"),
                ("cell_result", "b", "ok"),
                ("run_queue", []),
                ("start_cell", "d"),
                ("cell_result", "d", "ok"),
                IDLE,
            ],
        )
        self.assertEqual(self.text_of_cell(frames, "d"), "d 2 20\n")

    def test_a_diamond_of_dependencies_over_a_cell_that_reruns_later(self):
        """A change runs cells b, c and d in this order: d reads what c writes, and c runs only because b does."""
        self.run_cells(
            a=IMPORT_SIGNAL + "s, t, u = Signal(1), Signal(1), Signal(1)",
            d="print(s(), u())",
            c="u(t())",
            b="t(s())",
        )
        frames = self.frames_of_run("s(2)")
        self.assertEqual(ids_of_cells_run(frames), ["z", "b", "c", "d"])
        self.assertEqual(self.text_of_cell(frames, "d"), "2 2\n")
        queues = [frame["queue"] for frame in frames if frame["type"] == "run_queue"]
        self.assertEqual(queues, [["b", "d"], ["d"], ["c", "d"], ["d"], []])

    def test_a_chain_of_dependencies_and_its_branches_run_in_order(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = [Signal(0) for i in range(6)]", **{f"c{i}": f"s[{i + 1}](s[{i}]() + 1)" for i in (4, 2)})
        for i in (3, 0, 1):
            self.run_ok(f"s[{i + 1}](s[{i}]() + 1)", f"c{i}")
        self.assertEqual(self.cells_rerun_by("s[0](10)"), ["c0", "c1", "c2", "c3", "c4"])

    def test_in_random_graphs_each_affected_cell_runs_once_in_order(self):
        """In each random graph, cell i reads some of the signals before its own and writes its own."""
        for seed in range(4):
            with self.subTest(seed=seed):
                random = Random(seed)
                size = 12
                reads = [sorted(random.sample(range(i), min(i, random.randrange(1, 4)))) for i in range(size)]
                self.run_ok(IMPORT_SIGNAL + f"s = [Signal(0) for i in range({size})]", "a")
                order = list(range(1, size))
                random.shuffle(order)
                for i in order:
                    self.run_ok(f"s[{i}](1 + sum(s[j]() for j in {reads[i]}))", f"c{seed}-{i:02}")
                values, affected = [100], {0}
                for i in range(1, size):
                    values.append(1 + sum(values[j] for j in reads[i]))
                    if affected & set(reads[i]):
                        affected.add(i)
                again = self.cells_rerun_by("s[0](100)")
                self.assertEqual(sorted(again), [f"c{seed}-{i:02}" for i in sorted(affected - {0})])
                reached = [values[i] for i in sorted(affected)]
                shown = self.run_ok(f"print([s[i].sample() for i in {sorted(affected)}])", "y").text()
                self.assertEqual(shown, f"{reached}\n")

    def test_cells_that_do_not_depend_keep_the_order_of_their_first_run(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)", y="s()", x="s()", w="s()")
        self.run_ok("s()  # edited", "y")
        self.assertEqual(self.cells_rerun_by("s(2)"), ["y", "x", "w"])

    def test_reruns_come_before_later_requests(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)", b="s()", d="s()")
        self.kernel.run_until_begun(HOLD_CODE + "\ns(2)", "c")
        for cell in ("x", "d", "y"):
            self.kernel.send("run_cell", cell_id=cell, code="s.sample()")
        frames = self.release_held_cell_and_finish()
        self.assertEqual(ids_of_cells_run(frames), ["c", "b", "x", "d", "y"])
        queues = [frame["queue"] for frame in frames if frame["type"] == "run_queue"]
        self.assertEqual(queues[2:4], [["x", "d", "y"], ["b", "x", "d", "y"]])

    def test_a_cell_requested_while_its_rerun_waits_runs_once_with_the_newer_source(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)", slow=f"if s() > 1: {HOLD_CODE}", b="print('old', s())")
        self.kernel.send("run_cell", cell_id="c", code="s(2)")
        self.kernel.receive_until_printed("begun\n")
        self.kernel.send("run_cell", cell_id="x", code="1")
        self.kernel.send("run_cell", cell_id="b", code="print('new', s())")
        frames = self.release_held_cell_and_finish()
        self.assertEqual(
            frame_events(frames),
            [
                ("run_queue", ["b", "x"]),
                ("cell_result", "slow", "ok"),
                ("run_queue", ["x"]),
                ("start_cell", "b"),
                ("cell_result", "b", "ok"),
                ("run_queue", []),
                ("start_cell", "x"),
                ("cell_result", "x", "ok"),
                IDLE,
            ],
        )
        self.assertEqual(self.text_of_cell(frames, "b"), "new 2\n")

    def test_a_cell_disposed_while_queued_does_not_run(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)", slow=f"if s() == 2: {HOLD_CODE}", b="s()")
        self.kernel.send("run_cell", cell_id="c", code="s(2)")
        self.kernel.receive_until_printed("begun\n")
        self.kernel.send("dispose_cell", cell_id="b")
        self.assertEqual(
            frame_events(self.release_held_cell_and_finish()),
            [
                ("run_queue", []),
                ("start_cell", "b"),
                ("cell_result", "b", "interrupted"),
                ("cell_result", "slow", "ok"),
                IDLE,
            ],
        )
        self.assertEqual(self.cells_rerun_by("s(3)"), ["slow"])

    def test_a_cell_stopped_while_queued_keeps_its_subscriptions(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)", slow=f"if s() == 2: {HOLD_CODE}", b="s()")
        self.kernel.send("run_cell", cell_id="c", code="s(2)")
        self.kernel.receive_until_printed("begun\n")
        self.kernel.send("stop_cell", cell_id="b")
        self.assertEqual(ids_of_cells_run(self.release_held_cell_and_finish()), ["b", "slow"])
        self.assertEqual(self.cells_rerun_by("s(3)"), ["slow", "b"])

    def test_pk10_a_failing_cell_keeps_the_others_running(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)", b="1 / (2 - s())", c="s()")
        frames = self.frames_of_run("s(2)")
        results = [(f["cell_id"], f["status"]) for f in frames if f["type"] == "cell_result"]
        self.assertEqual(results, [("z", "ok"), ("b", "error"), ("c", "ok")])
        self.assertEqual(self.cells_rerun_by("s(3)"), ["b", "c"])


class TestReactiveLoop(ReactiveTest):
    def reactive_loop_error(self, frames, cell):
        result = [f for f in frames if f["type"] == "cell_result" and f["cell_id"] == cell][-1]
        self.assertEqual((result["status"], result["has_exception"]), ("error", True))
        return result["exception"]

    def test_a_reactive_loop_of_one_cell_is_ended(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(0)")
        self.kernel.send("run_cell", cell_id="l", code="s(s() + 1)")
        frames = self.kernel.receive_until("start_cell", cell_id=None)
        one = [("run_queue", ["l"]), ("cell_result", "l", "ok"), ("run_queue", []), ("start_cell", "l")]
        self.assertEqual(frame_events(frames), [("start_cell", "l"), *one * 21, ("cell_result", "l", "error"), IDLE])
        self.assertEqual(
            self.reactive_loop_error(frames, "l"),
            "ReactiveLoop: cell l was run again 20 times because of one change, and does not run again. The loop: l writes s, "
            "which l reads. Write a signal only when its value has to change, or read it with sample()\n",
        )
        errors = [f["output"]["ename"] for f in frames if f["type"] == "cell_output"]
        self.assertEqual(errors, ["ReactiveLoop"])
        self.assertEqual(self.run_ok("s.sample()").shown_text, "21")

    def test_the_error_of_a_reactive_loop_names_both_cells(self):
        self.run_cells(a=IMPORT_SIGNAL + "s, t = Signal(0), Signal(0)", other="s()", p="if s() > 0: t(s() + 1)")
        frames = self.kernel.run_cell("s(t() + 1)", "q").frames
        self.assertEqual(ids_of_cells_run(frames).count("p"), 21)
        self.assertEqual(ids_of_cells_run(frames).count("q"), 21)
        self.assertIn("p writes t, which q reads; q writes s, which p reads", self.reactive_loop_error(frames, "p"))
        frames = self.frames_of_run("t(1000)")
        self.assertEqual(ids_of_cells_run(frames)[:3], ["z", "q", "p"], "q runs before p, because of what they read and wrote before")

    def test_a_reactive_loop_whose_value_settles_ends_without_error(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(0)")
        frames = self.frames_of_run("s(min(s() + 1, 15))", "l")
        self.assertEqual(ids_of_cells_run(frames), ["l"] * 16)

    def test_twenty_reruns_of_one_cause_are_allowed(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(0)")
        results = [f["status"] for f in self.frames_of_run("s(min(s() + 1, 20))", "l") if f["type"] == "cell_result"]
        self.assertEqual(results, ["ok"] * 21)

    def test_stopping_a_cell_ends_its_reactive_loop(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(0)")
        self.kernel.run_until_begun(HOLD_CODE + "\ns(s() + 1)", "l")
        run = self.kernel.stop_cell("l")
        self.assertEqual(frame_events(run.frames), [("cell_result", "l", "interrupted"), IDLE])

    def test_many_writers_of_one_reader_are_not_a_loop(self):
        """One cell reads 30 signals, each of which another cell writes, without being stopped as a loop."""
        self.run_cells(a=IMPORT_SIGNAL + "go = Signal(0)\ns = [Signal(0) for i in range(30)]", last="[x() for x in s]")
        for i in range(30):
            self.kernel.run_cell(f"s[{i}](go())", f"w{i}")
        self.assertEqual(self.cells_rerun_by("go(1)"), [f"w{i}" for i in range(30)] + ["last"])


class TestFailedAndStoppedRuns(ReactiveTest):
    def test_writes_of_a_failing_run_are_dropped_and_reported(self):
        self.run_cells(a=IMPORT_SIGNAL + "s, t = Signal(1), Signal(1)", b="s()", c="t()")
        run = self.kernel.run_cell("s(2)\nt(2)\n1 / 0", "z")
        self.assertEqual(frame_events(run.frames), [("start_cell", "z"), ("cell_result", "z", "error"), IDLE])
        self.assertEqual(run.text("stderr"), "The run failed or was stopped: its writes to s, t are dropped.\n")
        self.assertEqual(self.run_ok("s.sample(), t.sample()").shown_text, "(1, 1)")

    def test_signal_writes_of_a_run_that_calls_exit_take_effect(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)", b="s()")
        for leave in ("exit()", "import sys; sys.exit(0)"):
            with self.subTest(leave=leave):
                self.assertEqual(ids_of_cells_run(self.kernel.run_cell(f"s(s.sample() + 1)\n{leave}", "z").frames), ["z", "b"])

    def test_writes_of_a_stopped_run_are_dropped(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)", b="s()")
        for code in (
            "s(2)\nprint('begun')\nwhile True: pass",
            "import asyncio\ns(2)\nprint('begun')\nawait asyncio.sleep(60)",
            "s(2)\ntry:\n    print('begun')\n    while True: pass\nexcept KeyboardInterrupt: pass",
        ):
            with self.subTest(code=code):
                self.kernel.run_until_begun(code)
                run = self.kernel.stop_cell()
                self.assertEqual(frame_events(run.frames), [("cell_result", "c", "interrupted"), IDLE])
                self.assertIn("its writes to s are dropped", run.text("stderr"))
                self.assertEqual(self.run_ok("s.sample()", "y").shown_text, "1")

    def test_a_comparison_that_does_not_end_can_be_stopped(self):
        self.run_cells(
            a=IMPORT_SIGNAL + "class A:\n    def __eq__(self, other):\n        print('begun')\n        while True: pass\ns = Signal(A())",
            b="s()",
        )
        self.kernel.run_until_begun("s(A())")
        run = self.kernel.stop_cell()
        self.assertEqual(frame_events(run.frames), [("cell_result", "c", "interrupted"), IDLE])
        self.assertIn("its writes to s are dropped", run.text("stderr"))

    def test_a_failing_run_subscribes_to_what_it_has_read(self):
        self.run_cells(a=IMPORT_SIGNAL + "s, t = Signal(1), Signal(1)")
        self.kernel.run_cell("s()\n1 / 0\nt()", "b")
        self.assertEqual(self.cells_rerun_by("t(2)"), [])
        self.assertEqual(self.cells_rerun_by("s(2)"), ["b"])


class TestRedefinition(ReactiveTest):
    def test_a_redefined_signal_keeps_its_readers(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)", b="print(s())")
        frames = self.frames_of_run(IMPORT_SIGNAL + "s = Signal(2)", "a")
        self.assertEqual((ids_of_cells_run(frames), self.text_of_cell(frames, "b")), (["a", "b"], "2\n"))
        self.assertEqual(self.cells_rerun_by("s(3)"), ["b"])

    def test_redefining_a_signal_with_an_equal_value_reruns_nothing(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)", b="s()")
        self.assertEqual(self.cells_rerun_by(IMPORT_SIGNAL + "s = Signal(1)", "a"), [])
        self.assertEqual(self.cells_rerun_by("s(3)"), ["b"])

    def test_signal_writes_after_a_redefinition_take_effect(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)", b="print(s())")
        frames = self.frames_of_run(IMPORT_SIGNAL + "s(7)\ns = Signal(2)\ns(3)", "a")
        self.assertEqual((ids_of_cells_run(frames), self.text_of_cell(frames, "b")), (["a", "b"], "3\n"))
        self.assertEqual(self.cells_rerun_by("s(8)\ns = Signal(3)", "a"), [], "the write came before the redefinition")

    def test_the_defining_cell_does_not_rerun_for_its_own_redefinition(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)\ns()")
        self.assertEqual(self.cells_rerun_by("s(2)"), ["a"])
        self.assertEqual(self.run_ok("s.sample()").shown_text, "1", "cell a ran again and redefined it")

    def test_the_defining_cell_reruns_for_a_value_written_after_it_read(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)")
        frames = self.frames_of_run("s = Signal(1)\nif s() == 1 and not globals().get('once'):\n    once = True\n    s(2)", "a")
        self.assertEqual(ids_of_cells_run(frames), ["a", "a"])

    def test_old_and_new_signal_are_the_same_after_a_redefinition(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)\nkeep = [s]", b="keep[0]()")
        self.assertEqual(self.cells_rerun_by("s = Signal(2)\nkeep.append(s)", "a"), ["b"])
        self.assertEqual(self.run_ok("keep[0].sample()").shown_text, "2")
        self.assertEqual(self.cells_rerun_by("keep[1](5)"), ["b"])

    def test_a_signal_defined_after_del_has_no_readers(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)", b="s()")
        self.run_cells(d="del s")
        self.assertEqual(self.cells_rerun_by("s = Signal(2)", "a"), [])
        self.assertEqual(self.cells_rerun_by("s(3)"), [])

    def test_a_signal_with_a_second_name_is_not_replaced(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = t = Signal(1)", b="t()")
        self.assertEqual(self.cells_rerun_by("s = Signal(2)", "a"), [])
        self.assertEqual(self.run_ok("s.sample(), t.sample()").shown_text, "(2, 1)")

    def test_assigning_an_existing_signal_replaces_nothing(self):
        self.run_cells(a=IMPORT_SIGNAL + "s, t = Signal(1), Signal(2)", b="s()")
        self.assertEqual(self.cells_rerun_by("s = t"), [])
        self.assertEqual(self.run_ok("s is t, t.sample()").shown_text, "(True, 2)")

    def test_a_failing_run_redefines_signals(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)", b="print(s())")
        frames = self.kernel.run_cell(IMPORT_SIGNAL + "s = Signal(2)\n1 / 0", "a").frames
        self.assertEqual((ids_of_cells_run(frames), self.text_of_cell(frames, "b")), (["a", "b"], "2\n"))

    def test_a_stopped_run_redefines_signals_but_reruns_nothing(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)", b="s()")
        self.kernel.run_until_begun("s = Signal(2)\nprint('begun')\nwhile True: pass", "a")
        run = self.kernel.stop_cell("a")
        self.assertEqual(ids_of_cells_run(run.frames), ["a"])
        self.assertEqual(run.text("stderr"), "Stopped: b will not run again.\n")
        self.assertEqual(self.run_ok("s.sample()").shown_text, "2")

    def test_execute_code_can_redefine_a_signal(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)", b="s()")
        self.kernel.execute_code("s = Signal(2)")
        self.assertEqual(ids_of_cells_run(self.kernel.receive_until("start_cell", cell_id=None)), ["b"])


class TestWritesOutsideOfCells(ReactiveTest):
    def test_pk14_execute_code_never_subscribes_and_its_writes_run_the_readers(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)", b="s()")
        self.kernel.send("execute_code", code="s(s() + 1)\ns.sample()", agent_tx_id="e")
        frames = self.kernel.receive_until("start_cell", cell_id=None)
        self.assertEqual(
            frame_events(frames),
            [
                ("run_queue", ["b"]),
                ("execute_code_response", None),
                ("run_queue", []),
                ("start_cell", "b"),
                ("cell_result", "b", "ok"),
                IDLE,
            ],
        )
        self.assertEqual(frames[1]["result"], "1")

    def test_pk14_writes_of_failing_code_are_dropped(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)", b="s()")
        answer = self.kernel.execute_code("s(2)\n1 / 0")
        self.assertEqual(answer["stderr"], "The run failed or was stopped: its writes to s are dropped.\n")
        self.assertEqual(self.run_ok("s.sample()").shown_text, "1")

    def test_pk14_interleaved_sessions_write_each_at_its_own_end(self):
        self.run_cells(a=IMPORT_SIGNAL + "import asyncio\nended = asyncio.Event()\ns, t = Signal(1), Signal(1)", b="s(), t()")
        self.kernel.send("execute_code", code="s(2)\nawait ended.wait()\nt.sample()", session="x")
        last = "asyncio.get_running_loop().call_later(0.05, ended.set)"
        self.kernel.send("execute_code", code=f"t(2)\nawait asyncio.sleep(0)\n{last}\ns.sample()", session="y")
        frames = self.kernel.receive_until("start_cell", cell_id=None)
        answers = [f["result"] for f in frames if f["type"] == "execute_code_response"]
        self.assertEqual((answers, ids_of_cells_run(frames)), (["1", "2"], ["b"]))
        self.assertEqual(self.run_ok("s.sample(), t.sample()").shown_text, "(2, 2)")

    def test_pk14_signals_first_imported_by_code_that_awaits(self):
        self.run_ok("import asyncio")
        self.kernel.execute_code("await asyncio.sleep(0)\nfrom assay import Signal\ns = Signal(1)\nawait asyncio.sleep(0)\ns(2)")
        self.assertEqual(self.run_ok("s.sample()").shown_text, "2")

    def test_a_write_of_a_thread_belongs_to_the_present_run(self):
        self.run_cells(a=IMPORT_SIGNAL + "import threading\ns = Signal(1)", b="s()")
        frames = self.frames_of_run("t = threading.Thread(target=lambda: s(2))\nt.start()\nt.join()\ns.sample()", "c")
        self.assertEqual(ids_of_cells_run(frames), ["c", "b"])
        self.assertEqual(RunRecord(frames[:4]).shown_text, "1")

    def test_a_write_between_runs_is_applied_at_once(self):
        for write in (
            "import threading\ndef write():\n    open('go').read()\n    s(2)\n    t(2)\nthreading.Thread(target=write).start()",
            "import asyncio\ntask = asyncio.create_task(asyncio.to_thread(open, 'go'))\ntask.add_done_callback(lambda _: (s(3), t(3)))",
        ):
            with self.subTest(write=write):
                self.run_ok(IMPORT_SIGNAL + "s, t = Signal(1), Signal(1)", "a")
                self.run_ok("s(), t()", "b")
                self.run_cells(c=write)
                self.assertEqual(set(ids_of_cells_run(self.release_held_cell_and_finish())), {"b"})

    def test_requests_are_answered_while_a_reading_cell_runs(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)")
        self.kernel.run_until_begun("s()\nprint('begun')\nwhile True: pass", "b")
        answer = self.kernel.request("reactivity_summary", "reactivity_summary")
        self.assertEqual(answer["cell_reactivity"]["b"]["depends_on_signals"], ["s"])
        self.assertIs(self.kernel.globals_summary()["s"]["signal"], True)
        self.assertEqual(self.kernel.request("debug_state", "debug_state")["data"]["running"], ["b"])
        self.kernel.stop_cell("b")

    def test_pk14_a_reset_leaves_no_signals(self):
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)\nimport builtins\nbuiltins.kept = s", b="s()")
        self.kernel.request("reset_kernel_globals", "reset_kernel_globals_complete")
        answer = self.kernel.request("reactivity_summary", "reactivity_summary")
        self.assertEqual(answer["cell_reactivity"], {})
        self.assertEqual(self.cells_rerun_by("kept(2)"), [])
        self.run_cells(a=IMPORT_SIGNAL + "s = Signal(1)", b="s()")
        self.assertEqual(self.cells_rerun_by("s(2)"), ["b"])

    def test_signal_writes_of_a_forked_process_have_no_effect(self):
        self.run_cells(a=IMPORT_SIGNAL + "import os\ns = Signal(1)", b="s()")
        self.assertEqual(self.cells_rerun_by("pid = os.fork()\nif pid: os.waitpid(pid, 0)\nelse: s(2)"), [])
        self.assertEqual(self.cells_rerun_by("s(2)"), ["b"])


class TestDependencyGraph(ReactiveTest):
    """Tests the graph of cells and signals alone, without a kernel."""

    def setUp(self):
        sys.path.insert(0, IMPORT_ROOT)
        self.addCleanup(sys.path.remove, IMPORT_ROOT)
        self.module = importlib.import_module("assay.reactive.graph")
        self.graph = self.module.Graph()

    def add_relations(self, *relations):
        nodes = {}
        for cell, reads, writes in relations:
            self.graph.clear_relations(cell)
            for name in reads:
                self.graph.add_reader(nodes.setdefault(name, self.module.Node(name)), cell)
            for name in writes:
                self.graph.add_writer(nodes.setdefault(name, self.module.Node(name)), cell)
        return nodes

    def test_run_order_puts_producers_first(self):
        for relations, order in (
            ((("a", "s", ""), ("b", "s", "")), "ab"),
            ((("b", "t", ""), ("a", "s", "t")), "ab"),
            ((("d", "su", ""), ("c", "t", "u"), ("b", "s", "t")), "bcd"),
            ((("x", "t", "s"), ("y", "s", "t")), "xy"),
            ((("z", "t", ""), ("y", "s", "t"), ("x", "t", "s")), "yxz"),
            ((("e", "v", ""), ("a", "v", "v")), "ae"),
        ):
            with self.subTest(relations=relations):
                self.graph = self.module.Graph()
                kept = self.add_relations(*relations)
                cells = [cell for cell, _, _ in relations]
                for given in (cells, cells[::-1]):
                    self.assertEqual("".join(self.graph.run_order(given)), order)
                del kept

    def test_shortest_loop_is_found(self):
        nodes = self.add_relations(("a", "z", "s"), ("b", "s", "t"), ("c", "s", "u"), ("d", "tu", "z"))
        steps = [(writer, node.value, reader) for writer, node, reader in self.graph.shortest_loop("a")]
        self.assertEqual(steps, [("a", "s", "b"), ("b", "t", "d"), ("d", "z", "a")])
        self.graph.remove_cell("d")
        self.assertEqual(self.graph.shortest_loop("a"), [])
        self.assertEqual(len(nodes), 4)

    def test_a_node_that_was_garbage_collected_relates_nothing(self):
        nodes = self.add_relations(("a", "s", ""), ("b", "", "s"))
        self.assertEqual(len(self.graph.nodes_read_by("a")), 1)
        nodes.clear()
        self.assertEqual(self.graph.relations(), {"a": ([], []), "b": ([], [])})

    def test_run_order_of_a_thousand_readers_and_a_long_chain(self):
        kept = self.add_relations(*((f"r{i}", "s", "") for i in range(1000)))
        self.assertEqual(len(self.graph.run_order(f"r{i}" for i in range(1000))), 1000)
        nodes = [self.module.Node(i) for i in range(301)]
        for i in reversed(range(300)):
            self.graph.add_reader(nodes[i], f"c{i:03}")
            self.graph.add_writer(nodes[i + 1], f"c{i:03}")
        chain = [f"c{i:03}" for i in range(300)]
        self.assertEqual(self.graph.run_order(reversed(chain)), chain)
        self.assertEqual(len(kept), 1)
