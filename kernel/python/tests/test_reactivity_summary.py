"""The exact text of the reactivity summary."""

from harness import KernelTest

EMPTY = "## Reactive Dependencies\n\n### Signals\n\n### Code Cell Dependencies\n"


class TestReactivitySummary(KernelTest):
    def run_cells(self, **sources):
        for cell_id, source in sources.items():
            self.run_ok("from assay import *\n" * (cell_id == "a") + source, cell_id)

    def reactivity_summary(self):
        answer = self.kernel.request("reactivity_summary", "reactivity_summary", agent_tx_id="r")
        self.assertEqual(set(answer), {"type", "agent_tx_id", "summary", "cell_reactivity"})
        action = self.kernel.request("agent_action", "agent_action_response", action="request_reactivity_summary", tx_id="t")
        expected = {"tx_id": "t", "status": "success", "summary": answer["summary"], "cell_reactivity": answer["cell_reactivity"]}
        self.assertEqual(action, {"type": "agent_action_response", **expected})
        return answer["summary"], answer["cell_reactivity"]

    def test_pk12_the_summary_without_signals_is_empty(self):
        self.assertEqual(self.reactivity_summary(), (EMPTY, {}))
        self.run_ok("x = 1")
        self.run_ok("from assay import Signal", "b")
        self.run_ok("x", "c")
        self.assertEqual(self.reactivity_summary(), (EMPTY, {}))

    def test_pk12_the_summary_lists_signals_widgets_and_local_signals(self):
        self.run_ok("from assay import Signal, w_select\ny, x = Signal(1), Signal(2)\nunused = Signal(0)", "a")
        self.run_ok("w = w_select('Pick', ['u', 'v'], key='pick')\nw_select('Other')", "w")
        self.run_ok("some = [Signal(i) for i in range(3)]\nx(y() + 1)", "b")
        self.run_ok("x(), w.value, some[2](), some[0]()", "c")
        self.run_ok("y()", "d")
        summary, cells = self.reactivity_summary()
        self.assertEqual(
            summary,
            "## Reactive Dependencies\n"
            "\n"
            "### Signals\n"
            "\n"
            "- **b/local-1** (local) - used by cells: c\n"
            "- **b/local-2** (local) - used by cells: c\n"
            "- **unused** (global variable) - used by cells: none\n"
            "- **w/pick** (widget) - used by cells: c\n"
            "- **w/select_1** (widget) - used by cells: none\n"
            "- **x** (global variable) - used by cells: c\n"
            "- **y** (global variable) - used by cells: b, d\n"
            "\n"
            "### Code Cell Dependencies\n"
            "\n"
            "- **a** - defines: unused, x, y\n"
            "- **b** - defines: b/local-1, b/local-2 - depends on signals: y - depends on cells: a\n"
            "- **c** - depends on signals: b/local-1, b/local-2, w/pick, x - depends on cells: a, b, w\n"
            "- **d** - depends on signals: y - depends on cells: a\n"
            "- **w** - defines: w/pick, w/select_1\n",
        )
        self.assertEqual(
            cells,
            {
                "a": {"signals_defined": ["unused", "x", "y"], "depends_on_signals": [], "depends_on_cells": []},
                "b": {"signals_defined": ["b/local-1", "b/local-2"], "depends_on_signals": ["y"], "depends_on_cells": ["a"]},
                "c": {
                    "signals_defined": [],
                    "depends_on_signals": ["b/local-1", "b/local-2", "w/pick", "x"],
                    "depends_on_cells": ["a", "b", "w"],
                },
                "d": {"signals_defined": [], "depends_on_signals": ["y"], "depends_on_cells": ["a"]},
                "w": {"signals_defined": ["w/pick", "w/select_1"], "depends_on_signals": [], "depends_on_cells": []},
            },
        )

    def test_pk12_the_summary_follows_changes(self):
        self.run_ok("from assay import Signal\ns = Signal(1)", "a")
        self.run_ok("s()", "b")
        self.run_ok("s = Signal(1)", "c")
        _, cells = self.reactivity_summary()
        self.assertEqual(cells["c"]["signals_defined"], ["s"], "the cell that defined it last")
        self.assertEqual(cells["b"]["depends_on_cells"], ["c"])
        self.assertNotIn("a", cells)
        self.kernel.send("dispose_cell", cell_id="b")
        self.run_ok("t = s\ndel s", "d")
        summary, cells = self.reactivity_summary()
        self.assertIn("- **t** (global variable) - used by cells: none\n", summary)
        self.assertEqual(list(cells), ["c"])
        self.run_ok("del t", "d")
        self.assertEqual(self.reactivity_summary(), (EMPTY, {}))

    def test_pk12_signals_of_execute_code_and_signals_with_two_names(self):
        self.kernel.execute_code("from assay import Signal\nb = a = Signal(1)\nclass N: s = Signal(2)")
        self.run_ok("b(), N.s()", "c")
        summary, cells = self.reactivity_summary()
        self.assertIn("- **a** (global variable) - used by cells: c\n- **local-1** (local) - used by cells: c\n", summary)
        self.assertEqual(cells["c"], {"signals_defined": [], "depends_on_signals": ["a", "local-1"], "depends_on_cells": []})

    def test_pk12_a_cell_that_reads_its_own_signal_does_not_depend_on_itself(self):
        self.run_ok("from assay import Signal\ns = Signal(1)\ns()", "a")
        _, cells = self.reactivity_summary()
        self.assertEqual(cells["a"], {"signals_defined": ["s"], "depends_on_signals": ["s"], "depends_on_cells": []})

    def test_pk12_line_breaks_in_names_are_removed(self):
        self.run_ok("from assay import w_slider\nw = w_slider(key='a\\n## b')\nw.value", "c\nd")
        summary, _ = self.reactivity_summary()
        self.assertIn("- **c d/a ## b** (widget) - used by cells: c d\n", summary)

    def test_pk12_a_widget_not_made_again_and_not_read_is_left_out(self):
        self.run_ok("from assay import w_slider\nw_slider(key='a')", "c")
        self.run_ok("1", "c")
        self.assertEqual(self.reactivity_summary(), (EMPTY, {}))
