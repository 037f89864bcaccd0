"""Notebooks written for lplots run unchanged."""

from harness import KernelTest
from test_reactive import ids_of_cells_run


class TestLplots(KernelTest):
    def test_pk13_a_notebook_runs_unchanged(self):
        self.run_ok(
            "from lplots import submit_widget_state\n"
            "from lplots.reactive import Signal\n"
            "from lplots.widgets.select import w_select\n"
            "from lplots.widgets.text import w_text_output\n"
            'if "clusters" not in globals():\n'
            "    clusters = Signal(None)\n"
            'pick = w_select(label="Pick", options=["alpha", "bravo"], default="alpha", appearance={"help_text": "one"})\n'
            'w_text_output(content="**" + pick.value + "**", appearance={"message_box": "info"})\n'
            "clusters([pick.value] * 2)\n"
            "submit_widget_state()",
            "a",
        )
        self.assertEqual(self.run_ok("clusters()", "b").shown_text, "['alpha', 'alpha']")
        self.kernel.send("set_widget_value", data={"a/select_1": '"bravo"'})
        frames = self.kernel.receive_until("start_cell", cell_id=None)
        self.assertEqual(ids_of_cells_run(frames), ["a", "b"])
        shown = [f["output"]["data"]["text/plain"] for f in frames if f["type"] == "cell_output"]
        self.assertEqual(shown, ["['bravo', 'bravo']"])

    def test_pk13_every_widget_is_where_lplots_has_it(self):
        self.run_ok(
            "from lplots.widgets.button import w_button\n"
            "from lplots.widgets.checkbox import w_checkbox\n"
            "from lplots.widgets.column import w_column\n"
            "from lplots.widgets.grid import w_grid\n"
            "from lplots.widgets.multiselect import w_multi_select\n"
            "from lplots.widgets.plot import w_plot\n"
            "from lplots.widgets.radio import w_radio_group\n"
            "from lplots.widgets.row import w_row\n"
            "from lplots.widgets.select import w_select\n"
            "from lplots.widgets.slider import w_number_slider_input, w_range_slider_input\n"
            "from lplots.widgets.table import w_table\n"
            "from lplots.widgets.text import w_text_input, w_text_output\n"
            "from lplots.widgets import w_slider, w_radio\n"
            "import lplots.widgets.range_slider, lplots.reactive, assay\n"
            "w_number_slider_input(label='x', default=0.5, min=0.0, max=1.0, step=0.1, scale_type='linear', tooltip_formatter='percentage')\n"
            "w_radio_group(label='r', options=[1, 2], default=1, direction='horizontal', required=False)\n"
            "assert w_number_slider_input is w_slider is assay.w_slider and w_radio_group is assay.w_radio\n"
            "assert lplots.reactive.Signal is assay.Signal and lplots.widgets.range_slider.w_range_slider is assay.w_range_slider\n"
            "lplots.widgets.select.__name__, lplots.__spec__.name"
        )

    def test_pk13_product_only_widgets_raise_not_implemented(self):
        self.run_ok(
            "from lplots import palettes\n"
            "from lplots.widgets.workflow import w_workflow\n"
            "from lplots.widgets.h5 import w_h5\n"
            "from lplots.widgets.igv import w_igv, IGVOptions\n"
            "from lplots.widgets.molstar import w_molstar\n"
            "from lplots.widgets.registry import w_registry_table\n"
            "from lplots.widgets.ldata import w_ldata_picker\n"
            "options: IGVOptions = {}"
        )
        for module, name in (
            ("workflow", "w_workflow"), ("h5", "w_h5"), ("igv", "w_igv"), ("molstar", "w_molstar"),
            ("registry", "w_registry_table"), ("ldata", "w_ldata_picker"),
        ):  # fmt: skip
            with self.subTest(name=name):
                run = self.run_failing(f"{name}(label='x')")
                self.assertEqual(run.error_output["ename"], "NotImplementedError")
                self.assertEqual(run.error_output["evalue"], f"lplots.widgets.{module}.{name} works in the lplots product only")

    def test_pk13_unknown_modules_and_names_are_import_errors(self):
        for code in ("import lplots.themes", "import lplots.widgets.nothing", "from lplots.widgets.select import nothing"):
            with self.subTest(code=code):
                self.assertIn(self.run_failing(code).error_output["ename"], ("ModuleNotFoundError", "ImportError"))
        run = self.run_failing("import assay\nassay.nothing")
        self.assertEqual(run.error_output["evalue"], "module 'assay' has no attribute 'nothing'")

    def test_pk13_an_installed_lplots_is_hidden(self):
        folder = self.kernel.folder / "cwd" / "lplots"
        folder.mkdir()
        (folder / "__init__.py").write_text("raise RuntimeError('it needs its product')")
        self.run_ok("import lplots.reactive")

    def test_pk13_modules_are_loaded_only_when_imported(self):
        code = "import sys\nsorted(m for m in sys.modules if m in ('assay.reactive.signals', 'assay.reactive.graph', 'assay.widgets.widget', 'assay.widgets.lplots'))"
        self.assertEqual(self.run_ok(code).shown_text, "[]")
        self.run_ok("from lplots.reactive import Signal")
        self.assertEqual(self.run_ok(code).shown_text, "['assay.reactive.graph', 'assay.reactive.signals', 'assay.widgets.lplots']")
