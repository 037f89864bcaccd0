"""Summaries of the user's variables, between runs and while a cell runs."""

import sys
import threading
import time
import unittest
from unittest import mock

from harness import IMPORT_ROOT, KernelTest, skip_unless_installed

sys.path.insert(0, IMPORT_ROOT)
from assay.introspect import inspection  # noqa: E402


class TestInspector(unittest.TestCase):
    def test_pk8_a_thread_that_begins_late_costs_no_variable_and_adds_none(self):
        for items, summaries in (([], {}), ([("a", 1)], {"a": {"type": "int", "repr": "1"}})):
            with self.subTest(items=items), mock.patch.object(inspection, "start_new_thread") as start:
                begun = []

                def start_but_the_first(function, args, begun=begun):
                    begun.append(function)
                    return threading.Thread(target=function).start() if len(begun) > 1 else None

                start.side_effect = start_but_the_first
                self.assertEqual(inspection.Inspector()._inspect_until_deadline(items), summaries)
                self.assertEqual(len(begun), 2)


class TestSummary(KernelTest):
    def test_pk8_the_summary_has_only_names_of_the_user(self):
        self.run_ok("import os, sys as s\nfrom os import path\n_a = 1\n__b = 2\nc = 3\n4")
        self.assertEqual(self.kernel.globals_summary(), {"c": {"type": "int", "repr": "3"}})

    def test_pk8_summaries_of_common_values(self):
        self.run_ok(
            "import collections, dataclasses, datetime, decimal\n"
            "i, f, s, n, b = 1, 1.5, 'x', None, True\n"
            "inf, nan = float('inf'), float('nan')\n"
            "l, d, e, t = [1, 2], {'a': [1]}, {1}, (1,)\n"
            "def g(): pass\n"
            "class K: pass\n"
            "P = collections.namedtuple('P', 'x y')\n"
            "p = P(1, [2])\n"
            "@dataclasses.dataclass\n"
            "class D:\n"
            "    x: object\n"
            "k = D([1])\n"
            "when = datetime.date(2024, 1, 2)"
        )
        summary = self.kernel.globals_summary()
        for name, info in (
            ("i", {"type": "int", "repr": "1"}),
            ("f", {"type": "float", "repr": "1.5"}),
            ("s", {"type": "str", "repr": "'x'"}),
            ("n", {"type": "NoneType", "repr": "None"}),
            ("b", {"type": "bool", "repr": "True"}),
            ("inf", {"type": "float", "repr": "inf"}),
            ("nan", {"type": "float", "repr": "nan"}),
            ("l", {"type": "list", "repr": "[1, 2]", "len": 2}),
            ("d", {"type": "dict", "repr": "{'a': [1]}", "len": 1}),
            ("e", {"type": "set", "repr": "{1}", "len": 1}),
            ("t", {"type": "tuple", "repr": "(1,)"}),
            ("K", {"type": "type", "repr": "<class '__main__.K'>"}),
            ("p", {"type": "P", "repr": "P(x=1, y=[2])"}),
            ("k", {"type": "D", "repr": "D(x=[1])"}),
            ("when", {"type": "date", "repr": "datetime.date(2024, 1, 2)"}),
        ):
            with self.subTest(name=name):
                self.assertEqual(summary[name], info)
        self.assertEqual(summary["g"]["type"], "function")

    def test_pk8_large_values_are_summarized_quickly(self):
        self.run_ok(
            "numbers = list(range(10_000_000))\n"
            "table = dict.fromkeys(range(1_000_000))\n"
            "text = 'x' * 100_000_000\n"
            "giant = 1 << 10_000_000\n"
            "deep = []\n"
            "for i in range(100_000): deep = [deep]\n"
            "wide = [[[[[[0] * 300] * 300] * 300] * 300] * 300] * 300\n"
            "me = {}\n"
            "me['me'] = me"
        )
        # The kernel gives each value 0.1 s. On a busy machine that may pass before the thread that
        # inspects one has run at all, so ask again.
        for _ in range(20):
            summary = self.kernel.globals_summary()
            if not any("error" in info for info in summary.values()):
                break
        for name, info in summary.items():
            with self.subTest(name=name):
                self.assertNotIn("error", info)
                self.assertLessEqual(len(info["repr"]), 1000)
        self.assertEqual(summary["me"]["repr"], "{'me': {...}}")
        self.assertEqual(summary["numbers"]["len"], 10_000_000)

    def test_pk8_values_that_cannot_be_inspected(self):
        self.run_ok(
            "import time\n"
            "class A: pass\n"
            "class Slow:\n"
            "    def __repr__(self): time.sleep(60)\n"
            "class Busy:\n"
            "    def __repr__(self):\n"
            "        while True: pass\n"
            "class Raises:\n"
            "    def __repr__(self): raise ValueError('no')\n"
            "class Exits:\n"
            "    def __repr__(self): raise SystemExit\n"
            "class Prints:\n"
            "    def __repr__(self):\n"
            "        print('noise')\n"
            "        return 'quiet'\n"
            "class Wrong:\n"
            "    def __repr__(self): return 3\n"
            "a, slow, b, busy, raises, exits, prints, wrong, z = "
            "A(), Slow(), 1, Busy(), Raises(), Exits(), Prints(), Wrong(), 2"
        )
        self.kernel.send("globals_summary")
        frames = self.kernel.receive_until("globals_summary")
        self.assertEqual(len(frames), 1, "text that a __repr__ printed was sent")
        summary = frames[0]["summary"]
        self.assertEqual(summary["slow"]["error"], "its inspection takes over 0.1 s")
        self.assertEqual(summary["busy"]["error"], "its inspection takes over 0.1 s")
        self.assertEqual(summary["raises"], {"type": "Raises", "error": "ValueError: no"})
        self.assertIn("SystemExit", summary["exits"]["error"])
        self.assertEqual(summary["prints"]["repr"], "quiet")
        self.assertIn("TypeError", summary["wrong"]["error"])
        self.assertEqual((summary["b"]["repr"], summary["z"]["repr"]), ("1", "2"))
        again = self.kernel.globals_summary()
        self.assertEqual(again["slow"]["error"], "an earlier inspection of it has not ended")
        state = self.kernel.request("debug_state", "debug_state")["data"]
        self.assertEqual(state["abandoned_inspections"], 2)

    def test_pk8_inspection_ends_after_a_second_in_all(self):
        self.run_ok(
            "import time\n"
            "class Slow:\n"
            "    def __repr__(self):\n"
            "        time.sleep(0.06)\n"
            "        return 'slow'\n"
            "for i in range(40): globals()[f'v{i}'] = Slow()"
        )
        started = time.monotonic()
        summary = self.kernel.globals_summary()
        self.assertLess(time.monotonic() - started, 2.0)
        self.assertEqual(summary["v0"], {"type": "Slow", "repr": "slow"})
        self.assertIn("not inspected", summary["v39"]["error"])

    def test_pk8_the_summary_has_at_most_500_names(self):
        self.run_ok("for i in range(499): globals()[f'v{i}'] = i")
        answer = self.kernel.request("globals_summary", "globals_summary", agent_tx_id="s")
        self.assertEqual((len(answer["summary"]), answer["truncated"]), (500, False))
        self.assertEqual(answer["agent_tx_id"], "s")
        self.run_ok("one_more = 1")
        answer = self.kernel.request("globals_summary", "globals_summary")
        self.assertEqual((len(answer["summary"]), answer["truncated"]), (500, True))

    def test_info_about_one_global(self):
        self.run_ok("x = [1]")
        answer = self.kernel.request(
            "get_global_info", "get_global_info_response", key="x", agent_tx_id="g"
        )
        self.assertEqual(
            answer,
            {
                "type": "get_global_info_response",
                "agent_tx_id": "g",
                "status": "success",
                "info": {"type": "list", "repr": "[1]", "len": 1},
            },
        )
        answer = self.kernel.request("get_global_info", "get_global_info_response", key="os")
        self.assertEqual((answer["status"], "'os'" in answer["error"]), ("error", True))

    def test_pk1_requests_are_answered_while_a_cell_runs(self):
        self.kernel.run_until_begun("x = 5\nprint('begun')\nwhile True: pass")
        for _ in range(40):  # the cell never ends by itself
            self.assertEqual(self.kernel.globals_summary()["x"]["repr"], "5")
            self.kernel.request("ping", "pong")
        self.assertEqual(self.kernel.stop_cell().result["status"], "interrupted")

    def test_pk1_a_repr_never_runs_on_the_cell_s_thread(self):
        self.run_ok(
            "import threading\n"
            "class A:\n"
            "    def __repr__(self): return str(threading.current_thread() is threading.main_thread())\n"
            "a = A()"
        )
        self.assertEqual(self.kernel.globals_summary()["a"]["repr"], "False")


class TestSummaryOfTables(KernelTest):
    @skip_unless_installed("numpy", "pandas")
    def test_pk8_summaries_of_tables_and_arrays(self):
        self.run_ok(
            "import numpy as np, pandas as pd\n"
            "df = pd.DataFrame({'a': [1, 2], 3: [1.5, None], ('x', 'y'): ['s', 't']})\n"
            "class Sub(pd.DataFrame): pass\n"
            "sub = Sub({'a': [1]})\n"
            "wide = pd.DataFrame(np.zeros((2, 51)))\n"
            "s = df['a']\n"
            "array = np.zeros((1000, 3), dtype='float32')\n"
            "scalar = np.float64(2.5)\n"
            "nested = [array, df]"
        )
        summary = self.kernel.globals_summary()
        self.assertEqual(
            summary["df"],
            {
                "type": "DataFrame",
                "columns": ["a", "3", "('x', 'y')"],
                "dtypes": {"a": "int64", "3": "float64", "('x', 'y')": "object"},
                "column_preview_truncated": False,
                "shape": [2, 3],
            },
        )
        self.assertEqual((summary["sub"]["type"], summary["sub"]["columns"]), ("Sub", ["a"]))
        wide = summary["wide"]
        self.assertEqual((len(wide["columns"]), len(wide["dtypes"]), wide["shape"]), (50, 50, [2, 51]))
        self.assertIs(wide["column_preview_truncated"], True)
        self.assertEqual(summary["s"], {"type": "Series", "dtype": "int64", "shape": [2]})
        expected = {"type": "ndarray", "dtype": "float32", "shape": [1000, 3]}
        self.assertEqual(summary["array"], expected)
        self.assertIn("2.5", summary["scalar"]["repr"])
        nested = "[<ndarray, shape (1000, 3)>, <DataFrame, shape (2, 3)>]"
        self.assertEqual(summary["nested"]["repr"], nested)

    def test_pk8_summaries_of_anndata_objects(self):
        """The library anndata is not needed, because its class is recognized by name."""
        self.run_ok(
            "class Frame:\n"
            "    columns = [f'c{i}' for i in range(51)]\n"
            "    dtypes = dict.fromkeys(columns, 'int64')\n"
            "class AnnData:\n"
            "    n_obs, n_vars, obs, var, obsm = 3, 4, Frame, Frame, {'X_pca': 0}\n"
            "AnnData.__module__ = 'anndata._core.anndata'\n"
            "adata = AnnData()"
        )
        info = self.kernel.globals_summary()["adata"]
        self.assertEqual(
            (info["type"], info["n_obs"], info["n_vars"], info["obsm_keys"]),
            ("AnnData", 3, 4, ["X_pca"]),
        )
        self.assertEqual((len(info["obs_dtypes"]), info["obs_dtypes_truncated"]), (50, True))
        self.assertEqual((len(info["var_dtypes"]), info["var_dtypes_truncated"]), (50, True))
