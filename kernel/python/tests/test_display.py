"""Showing values: MIME bundles, display() and the like, figures and tables."""

import json

from harness import KernelProcess, KernelTest, SharedKernelTest, skip_unless_installed

RICH = """
class Rich:
    def __repr__(self): return 'rich'
    def _repr_html_(self): return '<b>rich</b>'
    def _repr_markdown_(self): return '**rich**'
    def _repr_svg_(self): return '<svg/>'
    def _repr_png_(self): return b'\\x89PNG'
    def _repr_jpeg_(self): return 'anBlZw==', {'width': 3}
    def _repr_latex_(self): return '$x$'
    def _repr_json_(self): return {'a': [1, float('nan'), (2,), {3: 4}, object]}
"""


class TestMimeBundle(KernelTest):
    def test_pk3_a_value_is_sent_in_all_its_formats(self):
        (output,) = self.run_ok(RICH + "Rich()").outputs
        data = output["data"]
        self.assertEqual(
            data,
            {
                "text/plain": "rich",
                "text/html": "<b>rich</b>",
                "text/markdown": "**rich**",
                "image/svg+xml": "<svg/>",
                "image/png": "iVBORw==",
                "image/jpeg": "anBlZw==",
                "text/latex": "$x$",
                "application/json": {"a": [1, None, [2], {"3": 4}, "<class 'object'>"]},
            },
        )
        self.assertEqual(output["metadata"], {"image/jpeg": {"width": 3}})

    def test_pk3_repr_mimebundle_takes_precedence_over_other_formats(self):
        (output,) = self.run_ok(
            "class A:\n"
            "    def _repr_mimebundle_(self, include=None, exclude=None):\n"
            "        return {'text/html': 'bundle', 'image/png': b'1', 'text/plain': 'p'}, {'k': float('inf')}\n"
            "    def _repr_html_(self): return 'method'\n"
            "    def _repr_latex_(self): return 'x'\n"
            "A()"
        ).outputs
        expected = {"text/html": "bundle", "image/png": "MQ==", "text/plain": "p", "text/latex": "x"}
        self.assertEqual(output["data"], expected)
        self.assertEqual(output["metadata"], {"k": None})

    def test_pk3_formats_that_raise_are_reported_and_others_are_shown(self):
        for body, plain in (
            ("def __repr__(self): raise ValueError('no')", "<A: its repr raised ValueError: no>"),
            ("def __repr__(self): return 3", "<A: its repr raised TypeError: __repr__ returned"),
            ("def __repr__(self): return 'a'\n    def _repr_html_(self): 1 / 0",
             "a\n<_repr_html_ raised ZeroDivisionError: division by zero>"),
            ("def __repr__(self): return 'a'\n    def _repr_html_(self): return None", "a"),
            ("def __repr__(self): return 'a'\n    _repr_html_ = None", "a"),
            ("def __repr__(self): return 'a'\n    def __getattr__(self, name): 1 / 0", "a"),
            ("class M(type):\n        def __getattr__(self, name): raise OSError(name)\n"
             "class A(metaclass=A.M):\n    def __repr__(self): return 'a'", "a"),
        ):  # fmt: skip
            with self.subTest(body=body):
                run = self.run_ok(f"class A:\n    {body}\nA()\n")
                self.assertTrue(run.shown_text.startswith(plain), run.shown_text)
                self.assertEqual(list(run.outputs[0]["data"]), ["text/plain"])

    def test_pk3_a_class_is_not_shown_by_its_instances_methods(self):
        self.assertEqual(self.run_ok(RICH + "Rich").shown_text, "__main__.Rich")

    def test_formats_of_an_object_or_a_property_are_shown(self):
        run = self.run_ok(
            "class A: pass\n"
            "class B:\n"
            "    _repr_html_ = property(lambda self: lambda: '<b>property</b>')\n"
            "    _repr_markdown_ = property(lambda self: None)\n"
            "class Inventor:\n"
            "    def __getattr__(self, name): return lambda *a, **k: '<b>invented</b>'\n"
            "a = A()\n"
            "a._repr_html_ = lambda: '<b>object</b>'\n"
            "display(a, B(), Inventor())"
        )
        self.assertEqual([o["data"].get("text/html") for o in run.outputs], ["<b>object</b>", "<b>property</b>", None])
        self.assertNotIn("text/markdown", run.outputs[1]["data"])

    def test_a_long_repr_is_cut(self):
        self.assertLess(len(self.run_ok("'x' * 5_000_000").shown_text), 1_100_000)

    def test_an_output_over_the_frame_limit_is_replaced_by_a_note(self):
        run = self.run_ok(
            "class A:\n    def _repr_html_(self): return 'x' * (65 << 20)\nA()\ndisplay(A())\n1"
        )
        self.assertIn("over the limit", run.outputs[0]["data"]["text/plain"])
        self.assertEqual(run.outputs[1]["data"]["text/plain"], "1")


class TestDisplay(KernelTest):
    def test_pk3_display_shows_values(self):
        run = self.run_ok(RICH + "display(1, Rich())\ndisplay()")
        self.assertEqual([o["output_type"] for o in run.outputs], ["display_data"] * 2)
        self.assertEqual(run.outputs[0]["data"], {"text/plain": "1"})
        self.assertEqual(run.outputs[1]["data"]["text/html"], "<b>rich</b>")

    def test_pk3_update_display_replaces_an_output(self):
        run = self.run_ok(
            "h = display(1, display_id=True)\n"
            "h.update(2)\n"
            "display(3, display_id='mine')\n"
            "update_display(4, display_id='mine')\n"
            "h.display(5)"
        )
        observed = [
            (o["output_type"], o["data"]["text/plain"], o["transient"]["display_id"])
            for o in run.outputs
        ]
        own_id = observed[0][2]
        self.assertEqual(
            observed,
            [
                ("display_data", "1", own_id),
                ("update_display_data", "2", own_id),
                ("display_data", "3", "mine"),
                ("update_display_data", "4", "mine"),
                ("display_data", "5", own_id),
            ],
        )
        self.assertEqual(len(own_id), 32)

    def test_pk3_clear_output_clears_the_output(self):
        run = self.run_ok("clear_output()\nclear_output(wait=True)")
        self.assertEqual(
            run.outputs,
            [
                {"output_type": "clear_output", "wait": False},
                {"output_type": "clear_output", "wait": True},
            ],
        )

    def test_pk3_display_of_raw_bundles_and_metadata(self):
        run = self.run_ok(
            "display({'text/plain': 'p', 'x/y': {'n': float('nan')}}, raw=True, metadata={'m': 1})"
        )
        self.assertEqual(run.outputs[0]["data"], {"text/plain": "p", "x/y": {"n": None}})
        self.assertEqual(run.outputs[0]["metadata"], {"m": 1})
        json.dumps(run.outputs, allow_nan=False)

    def test_display_outside_of_a_run_prints_text(self):
        self.run_ok(
            "import asyncio\n"
            "async def late():\n"
            "    await asyncio.sleep(0)\n"
            "    display('later')\n"
            "task = asyncio.create_task(late())"
        )
        self.assertIsNone(self.kernel.receive_until_printed("'later'\n")[-1]["active_cell"])

    def test_the_user_may_assign_the_name_display(self):
        self.assertEqual(self.run_ok("display = 3\ndisplay").shown_text, "3")
        self.run_ok("del display\ndisplay(1)")

    @skip_unless_installed("IPython")
    def test_pk3_display_functions_of_ipython_are_replaced(self):
        run = self.run_ok(
            "from IPython.display import HTML, Markdown, Image, clear_output as clear, display as show\n"
            "from IPython.display import update_display as update, publish_display_data\n"
            "from IPython.core.display_functions import display as inner\n"
            "show(HTML('<i>x</i>'))\n"
            "inner(Markdown('*x*'), display_id='i')\n"
            "update(HTML('y'), display_id='i')\n"
            "clear(wait=True)\n"
            "publish_display_data({'text/plain': 'p'}, transient={'display_id': 'q'})\n"
            "Image(data=b'\\x89PNG\\r\\n\\x1a\\n', format='png')"
        )
        self.assertEqual(run.text(), "")
        outputs = run.outputs
        self.assertEqual(outputs[0]["data"]["text/html"], "<i>x</i>")
        self.assertEqual(outputs[1]["data"]["text/markdown"], "*x*")
        self.assertEqual(outputs[2]["output_type"], "update_display_data")
        self.assertEqual(outputs[3], {"output_type": "clear_output", "wait": True})
        self.assertEqual(outputs[4]["transient"], {"display_id": "q"})
        self.assertTrue(outputs[5]["data"]["image/png"].startswith("iVBORw0KGgo"))


    @skip_unless_installed("IPython")
    def test_pk3_objects_of_ipython_display_classes_are_shown(self):
        for made, mime in (
            ("HTML('x')", "text/html"),
            ("Markdown('x')", "text/markdown"),
            ("Latex('$x$')", "text/latex"),
            ("SVG('<svg xmlns=\"http://www.w3.org/2000/svg\"/>')", "image/svg+xml"),
            ("JSON({'a': 1})", "application/json"),
            ("Image(data=b'\\xff\\xd8\\xff\\xe0\\0\\0JFIF', format='jpeg')", "image/jpeg"),
            ("Javascript('1')", "application/javascript"),
            ("IFrame('x', 1, 1)", "text/html"),
        ):
            for shell in ("", "get_ipython()\n"):
                with self.subTest(made=made, shell=shell):
                    run = self.run_ok(f"from IPython.display import *\n{shell}{made}")
                    data = run.outputs[-1]["data"]
                    self.assertIn(mime, data)
                    self.assertIn("text/plain", data)

    def test_pk3_a_value_that_displays_itself_is_shown_once(self):
        run = self.run_ok(
            "class A:\n"
            "    def _ipython_display_(self): print('itself')\n"
            "    def _repr_html_(self): return 'no'\n"
            "display(A())\nA()"
        )
        self.assertEqual((run.text(), run.outputs), ("itself\nitself\n", []))
        run = self.run_ok(
            "class A:\n    def _ipython_display_(self): 1 / 0\n    def __repr__(self): return 'a'\nA()"
        )
        self.assertEqual(run.shown_text, "a\n<_ipython_display_ raised ZeroDivisionError: division by zero>")

    @skip_unless_installed("PIL")
    def test_pk3_images_are_shown(self):
        (output,) = self.run_ok("from PIL import Image\nImage.new('RGB', (2, 3))").outputs
        self.assertTrue(output["data"]["image/png"].startswith("iVBORw0KGgo"))
        self.assertIn("size=2x3", output["data"]["text/plain"])

    @skip_unless_installed("sympy")
    def test_pk3_formulas_are_shown_as_latex(self):
        (output,) = self.run_ok("import sympy\nsympy.symbols('x') ** 2 / 3").outputs
        self.assertIn("frac", output["data"]["text/latex"])
        self.assertEqual(output["data"]["text/plain"], "x**2/3")


class TestPlotlyPlots(KernelTest):
    MAKE_FIGURE = "import plotly.graph_objects as go\nf = go.Figure(data=[go.Bar(y=list(range(5000)))])\n"

    def assert_plot(self, output, kind):
        self.assertEqual(output["output_type"], kind)
        data = output["data"]
        self.assertEqual(sorted(data), ["application/vnd.plotly.v1+json", "text/plain"])
        self.assertEqual(len(data["application/vnd.plotly.v1+json"]["data"][0]["y"]), 5000)
        self.assertLess(len(data["text/plain"]), 3000)

    @skip_unless_installed("plotly")
    def test_pk3_plotly_plots_are_shown_with_and_without_ipython(self):
        for before in ("", "import sys\nsys.modules['IPython'] = None\n"):
            with self.subTest(before=before):
                kernel = self.kernel = KernelProcess()
                self.addCleanup(kernel.close)
                shown, displayed, last = self.run_ok(before + self.MAKE_FIGURE + "f.show()\ndisplay(f)\nf").outputs
                self.assert_plot(shown, "display_data")
                self.assert_plot(displayed, "display_data")
                self.assert_plot(last, "execute_result")
                self.assertEqual(kernel.run_cell("1").result["figure_outputs"], [])
                self.assertEqual(kernel.run_cell("f = f.update()").result["figure_outputs"], ["f"])

    @skip_unless_installed("plotly", "IPython", "nbformat")
    def test_pk3_another_plotly_renderer_is_called(self):
        run = self.run_ok(self.MAKE_FIGURE + "f.show('json')")
        self.assertEqual(list(run.outputs[0]["data"]), ["application/json"])


class TestPandasTables(SharedKernelTest):
    @skip_unless_installed("pandas")
    def test_a_printed_dataframe_is_as_wide_as_in_a_notebook(self):
        run = self.run_ok("import pandas as pd\nprint(pd.DataFrame([range(14)], columns=[f'column{i}' for i in range(14)]))")
        self.assertIn("column13", run.text())
        self.assertNotIn("...", run.text())

    @skip_unless_installed("pandas")
    def test_pk3_a_large_dataframe_is_truncated_and_its_shape_shown(self):
        (output,) = self.run_ok(
            "import pandas as pd\npd.DataFrame({f'c{i}': range(1000) for i in range(60)})"
        ).outputs
        for mime, form in (("text/html", "1000 rows × 60 columns"), ("text/plain", "[1000 rows x 60 columns]")):
            self.assertIn(form, output["data"][mime])
        rows = output["data"]["text/html"].split("<tbody>")[1].count("<tr>")
        self.assertEqual(rows, 101)  # one of them is the row of dots
        columns = output["data"]["text/html"].split("</thead>")[0].count("<th>")
        self.assertLessEqual(columns, 53)

    @skip_unless_installed("pandas")
    def test_options_of_pandas_that_the_user_has_set_are_followed(self):
        run = self.run_ok(
            "import pandas as pd\nwith pd.option_context('display.max_rows', 4, 'display.min_rows', 4, 'display.max_columns', 60):\n"
            "    display(pd.DataFrame({f'c{i}': range(80) for i in range(55)}))"
        )
        html = run.outputs[0]["data"]["text/html"]
        self.assertEqual(html.split("<tbody>")[1].count("<tr>"), 5, "two rows, dots, two rows")
        self.assertIn("c54", html)
        self.assertIn("80 rows × 55 columns", html)

    @skip_unless_installed("pandas")
    def test_pk3_a_small_dataframe_is_shown_whole(self):
        run = self.run_ok("import pandas as pd\ndf = pd.DataFrame({'a': range(80)})\ndf")
        self.assertIn("80 rows × 1 columns", run.outputs[0]["data"]["text/html"])
        self.assertIn("[80 rows x 1 columns]", run.shown_text)
        self.assertEqual(run.result["dataframe_outputs"], ["df"])
        self.assertEqual(run.result["outputs"], ["df"])


class TestMatplotlibFigures(SharedKernelTest):
    def assert_png(self, output):
        self.assertEqual(output["output_type"], "display_data")
        self.assertTrue(output["data"]["image/png"].startswith("iVBORw0KGgo"))
        self.assertTrue(output["data"]["text/plain"].startswith("<Figure size"))

    @skip_unless_installed("matplotlib")
    def test_pk3_open_figures_are_shown_at_the_end_and_closed(self):
        run = self.run_ok(
            "import matplotlib.pyplot as plt\n"
            "f = plt.figure()\nplt.plot([1, 2])\ng = plt.figure()\nplt.plot([2, 1]);\nprint('before')"
        )
        self.assertEqual(len(run.outputs), 2)
        self.assert_png(run.outputs[0])
        self.assert_png(run.outputs[1])
        self.assertEqual(run.text("stderr"), "")
        self.assertEqual(run.frames[-2]["static_figure_outputs"], ["f", "g"])
        self.assertEqual(self.run_ok("plt.get_fignums()").shown_text, "[]")
        self.assertEqual(self.run_ok("plt.get_backend().lower()").shown_text, "'agg'")

    @skip_unless_installed("matplotlib")
    def test_pk3_pyplot_show_shows_figures_at_once(self):
        for use in ("", "import matplotlib\nmatplotlib.use('Agg')\n"):
            run = self.run_ok(
                use + "import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()\nprint('after')\nplt.show()"
            )
            frame_types = [f["type"] for f in run.frames]
            self.assertLess(frame_types.index("cell_output"), frame_types.index("kernel_stdio"))
            self.assertEqual(len(run.outputs), 1)
            self.assert_png(run.outputs[0])
            self.assertEqual(run.text("stderr"), "")

    @skip_unless_installed("matplotlib")
    def test_pk3_a_figure_that_was_shown_is_not_shown_again(self):
        run = self.run_ok("import matplotlib.pyplot as plt\nf, a = plt.subplots()\nf")
        self.assertEqual([o["output_type"] for o in run.outputs], ["execute_result"])
        self.assertIn("image/png", run.outputs[0]["data"])
        self.assertEqual(len(self.run_ok("display(f)").outputs), 1)

    @skip_unless_installed("matplotlib")
    def test_pk3_a_new_figure_is_shown_where_an_old_one_was(self):
        run = self.run_ok(
            "import gc, matplotlib.pyplot as plt\n"
            "for i in range(5):\n"
            "    f = plt.figure()\n"
            "    display(f)\n"
            "    plt.close(f)\n"
            "    del f\n"
            "    gc.collect()\n"
            "plt.figure();"
        )
        self.assertEqual(len(run.outputs), 6)

    @skip_unless_installed("matplotlib")
    def test_pk3_figures_of_a_failing_cell_are_shown(self):
        run = self.run_failing("import matplotlib.pyplot as plt\nplt.plot([1])\n1 / 0")
        self.assert_png(run.outputs[0])

    @skip_unless_installed("matplotlib")
    def test_pk3_a_figure_that_cannot_be_drawn_does_not_hide_others(self):
        run = self.run_ok(
            "import matplotlib.pyplot as plt\n"
            "f, a = plt.subplots()\n"
            "a.set_title('$\\\\nonsense{$')\n"
            "plt.figure(); plt.plot([1]);"
        )
        self.assertIn("<savefig raised", run.outputs[0]["data"]["text/plain"])
        self.assert_png(run.outputs[1])
        self.assertEqual(self.run_ok("plt.get_fignums()").shown_text, "[]")


class TestChosenMatplotlibBackend(KernelTest):
    environment = {"MPLBACKEND": "svg"}

    @skip_unless_installed("matplotlib")
    def test_a_matplotlib_backend_chosen_by_the_user_is_kept(self):
        self.assertEqual(self.run_ok("import os\nos.environ['MPLBACKEND']").shown_text, "'svg'")
        run = self.run_ok("import matplotlib.pyplot as plt\nplt.plot([1])\nplt.get_backend().lower()")
        self.assertEqual(run.outputs[0]["data"]["text/plain"], "'svg'")
        self.assertIn("image/png", run.outputs[1]["data"])
