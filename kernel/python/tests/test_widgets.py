"""Widgets: their states, the values they can be set to, and the cells that run then."""

import json

from harness import printed_text, skip_unless_installed
from test_reactive import HOLD_CODE, IDLE, ReactiveTest, frame_events, ids_of_cells_run

IMPORT_WIDGETS = "from assay.widgets import *\n"


class WidgetTest(ReactiveTest):
    def widget_states(self, frames):
        """Returns the states of widgets that were sent last for each cell in frames, by cell and key."""
        return {f["cell_id"]: f["widget_state"] for f in frames if f["type"] == "cell_widgets"}

    def make_widgets(self, code, cell_id="c"):
        """Runs a cell that makes widgets, and returns their states by key."""
        return self.widget_states(self.run_ok(IMPORT_WIDGETS + code, cell_id).frames).get(cell_id, {})

    def set_widget_values(self, **values):
        """Sets values of widgets of the cell c, by key, and returns all frames until the kernel is idle."""
        self.send_widget_values(**values)
        return self.kernel.receive_until("start_cell", cell_id=None)

    def send_widget_values(self, **values):
        data = {f"c/{key}": json.dumps(value) for key, value in values.items()}
        self.kernel.send("set_widget_value", data=data)

    def error_of_setting_widget(self, key, value):
        """Sets a widget of the cell c that no cell reads. Returns the error in the answer, or "" if there is none."""
        text = value if isinstance(value, str) else json.dumps(value)
        answer = self.kernel.request(
            "set_widget_value", "set_widget_value_response", data={f"c/{key}": text}, agent_tx_id="w"
        )
        self.assertEqual(answer["agent_tx_id"], "w")
        self.assertEqual(answer["status"], "error" if answer["errors"] else "success")
        return answer["errors"].get(f"c/{key}", "")


class TestWidgetStates(WidgetTest):
    def test_pk11_a_widget_as_last_value_is_not_also_an_output(self):
        run = self.run_ok(IMPORT_WIDGETS + "w_row([w_slider('N'), w_checkbox('Yes')])")
        self.assertEqual(run.outputs, [])
        self.assertIn("c/row_1", self.widget_states(run.frames)["c"])
        self.assertEqual(self.run_ok("_.key", "d").shown_text, "'c/row_1'")
        self.assertEqual(self.run_ok("_ and 1; w = w_button('B'); [w]", "e").shown_text, "[<w_button e/button_1>]")
        self.assertEqual(self.run_ok("w", "f").shown_text, "<w_button e/button_1>")
        bare = "class W(type(w)): __init__ = lambda self: None\n__repr__ = 1\nW.__repr__ = lambda self: 'bare'\nW()"
        self.assertEqual(self.run_ok(bare, "g").shown_text, "bare")

    def test_pk11_states_of_input_widgets(self):
        states = self.make_widgets(
            "w_select('Pick', ['a', 'b'], default='b', appearance={'placeholder': '...'})\n"
            "w_multi_select(label='Some', options=(1, 2.5), default=[1], required=True, readonly=True)\n"
            "w_radio('One', range(2), direction='vertical')\n"
            "w_text_input('Text', value='v', default='d', key='name')\n"
            "w_checkbox('Yes', default=True)\n"
            "w_button('Go')\n"
            "w_slider('N', min=1, max=9, step=2, marks={1: 'low'}, scale_type='linear')\n"
            "w_range_slider('R', min=0.0, max=1.0, default=(0.2, 0.8))"
        )
        common = {"appearance": None, "readonly": False, "default": None}
        number = {"step": None, "scale_type": None, "tooltip_formatter": None, "marks": None}
        expected = {
            "select_1": {
                "type": "select", "label": "Pick", "options": ["a", "b"], "required": False,
                "default": "b", "value": "b", "appearance": {"placeholder": "..."},
            },
            "multi_select_1": {
                "type": "multi_select", "label": "Some", "options": [1, 2.5], "required": True,
                "default": [1], "value": [1], "readonly": True,
            },
            "radio_1": {
                "type": "radio", "label": "One", "options": [0, 1], "required": False,
                "direction": "vertical", "value": None,
            },
            "name": {"type": "text_input", "label": "Text", "default": "d", "value": "v"},
            "checkbox_1": {"type": "checkbox", "label": "Yes", "default": True, "value": True},
            "button_1": {"type": "button", "label": "Go", "value": 0},
            "slider_1": {
                "type": "slider", "label": "N", "min": 1, "max": 9, "value": 1,
                **number, "step": 2, "scale_type": "linear", "marks": {"1": "low"},
            },
            "range_slider_1": {
                "type": "range_slider", "label": "R", "min": 0.0, "max": 1.0,
                "default": [0.2, 0.8], "value": [0.2, 0.8], **number,
            },
        }  # fmt: skip
        self.assertEqual(states, {f"c/{key}": {**common, **state} for key, state in expected.items()})
        self.assertEqual(list(states), [f"c/{key}" for key in expected], "states are in the order of the calls")

    def test_pk11_states_of_output_and_layout_widgets(self):
        states = self.make_widgets(
            "a, b = w_text_output('# Hi', appearance={'message_box': 'info'}), w_text_output(3)\n"
            "w_row(items=[a, b])\n"
            "w_column([a])\n"
            "with w_grid(columns=12, rows=2) as g:\n"
            "    g.add(item=a, col_span=4, row_span=1)\n"
            "    g.add(b)\n"
            "w_table('T')\n"
            "w_plot('P')"
        )
        self.assertEqual((states["c/text_output_1"]["content"], states["c/text_output_2"]["value"]), ("# Hi", "3"))
        self.assertEqual(states["c/row_1"]["items"], [{"key": "c/text_output_1"}, {"key": "c/text_output_2"}])
        self.assertEqual(states["c/column_1"]["items"], [{"key": "c/text_output_1"}])
        grid = states["c/grid_1"]
        spans = [{"key": "c/text_output_1", "col_span": 4, "row_span": 1}, {"key": "c/text_output_2", "col_span": 1, "row_span": 1}]
        self.assertEqual((grid["columns"], grid["rows"], grid["items"]), (12, 2, spans))
        self.assertEqual((states["c/table_1"]["value"], states["c/plot_1"]["display_id"]), (None, None))
        self.assertTrue(all(state["readonly"] for state in states.values()))

    def test_pk11_initial_values_of_widgets(self):
        self.make_widgets(
            "import datetime\n"
            "day = datetime.date(2024, 1, 2)\n"
            "values = [w.value for w in (w_select(options='ab'), w_multi_select(options='ab'), w_radio(options='ab'), w_text_input(),"
            " w_checkbox(), w_button(), w_slider(), w_slider(max=-1), w_range_slider(min=2, max=5), w_range_slider(),"
            " w_select(options=[day], default=day), w_text_output('t'), w_row())]"
        )
        shown = "[None, [], None, '', False, False, 0, -1, (2, 5), (0, 0), datetime.date(2024, 1, 2), 't', None]"
        self.assertEqual(self.run_ok("print(values)", "d").text(), shown + "\n")

    def test_pk11_a_star_import_imports_all_names(self):
        names = "[name for name in dir() if name.startswith('w_')]"
        frames = self.run_ok(f"from assay import *\nfrom assay.widgets import __all__ as listed\n"
                             f"sorted(listed) == sorted([*{names}, 'submit_widget_state']), Signal.__name__").frames
        self.assertIn("(True, 'Signal')", json.dumps(frames))

    def test_pk11_widget_keys_are_given_or_counted(self):
        states = self.make_widgets("w_checkbox(key='checkbox_1')\nw_checkbox()\nw_checkbox(key='a/b')\nw_slider()\nw_checkbox()")
        keys = ["checkbox_1", "checkbox_2", "a/b", "slider_1", "checkbox_3"]
        self.assertEqual(list(states), [f"c/{key}" for key in keys])

    def test_pk11_wrong_widget_arguments_raise(self):
        for code, error in (
            ("w_select('x', ['a'], default='b')", "ValueError: default: 'b' is not an option; they are ['a']"),
            ("w_slider(min=1, max=3, value=4)", "ValueError: value: 4 is above max, 3"),
            ("w_slider(min=3, max=1)", "ValueError: min 3 is above max 1"),
            ("w_select(options=['a'], defualt='a')", "TypeError"),
            ("w_slider(min='a')", "TypeError: min: expected a number, found 'a'"),
            ("w_select(7)", "TypeError: label: expected a string, found int"),
            ("w_checkbox(key='')", "TypeError: key: expected a string with text in it, found ''"),
            ("w_checkbox(key='k'); w_slider(key='k')", "ValueError: this cell has a widget with the key 'k' already"),
            ("w_row([1])", "TypeError: items: expected widgets, found int"),
            ("w_table(source=[1])", "TypeError: source: expected a DataFrame, found list"),
            ("w_grid(columns=0)", "ValueError: columns: expected a number from 1 on, found 0"),
        ):
            with self.subTest(code=code):
                run = self.run_failing(IMPORT_WIDGETS + code)
                self.assertIn(error, run.result["exception"])
                self.assertNotIn("/assay/", run.result["exception"])

    def test_pk11_only_a_running_cell_can_make_a_widget(self):
        answer = self.kernel.execute_code(IMPORT_WIDGETS + "w_slider()")
        self.assertEqual(answer["error"], "w_slider: only the code of a running cell can make a widget")
        run = self.run_ok("import threading\nt = threading.Thread(target=w_slider)\nt.start()\nt.join()")
        self.assertIn("only the code of a running cell", run.text("stderr"))

    def test_pk11_widgets_of_a_failing_cell_are_sent(self):
        run = self.kernel.run_cell(IMPORT_WIDGETS + "w_text_output('No data')\nexit()")
        self.assertEqual([kind for kind, *_ in frame_events(run.frames)], ["start_cell", "cell_widgets", "cell_result", "start_cell"])

    def test_pk11_updated_widgets_lists_the_widgets_that_changed(self):
        run = self.run_ok(IMPORT_WIDGETS + "w_slider('a', key='a')\nw_slider('b', key='b')")
        updated = [f["updated_widgets"] for f in run.frames if f["type"] == "cell_widgets"]
        self.assertEqual(updated, [["c/a", "c/b"]])
        run = self.run_ok("w_slider('a', key='a')\nw_slider('B', key='b')\nw_slider(key='c')")
        updated = [f["updated_widgets"] for f in run.frames if f["type"] == "cell_widgets"]
        self.assertEqual(updated, [["c/b", "c/c"]])
        run = self.run_ok("1")
        self.assertEqual(self.widget_states(run.frames), {"c": {}})
        self.assertEqual(self.widget_states(self.run_ok("1").frames), {})

    def test_pk11_submit_widget_state_sends_widgets_before_the_cell_ends(self):
        run = self.run_ok(IMPORT_WIDGETS + "import sys\nw_slider()\nsubmit_widget_state()\nw_checkbox()\nsys.stdout.write('on\\n');")
        frame_types = [f["type"] for f in run.frames]
        expected = ["start_cell", "cell_widgets", "kernel_stdio", "cell_widgets", "cell_result", "start_cell"]
        self.assertEqual(frame_types, expected)

    def test_pk11_states_are_strict_json_and_bounded(self):
        states = self.make_widgets(
            "class A:\n    def __repr__(self): raise ValueError\n"
            "w_select('x', [float('nan'), A()], appearance={1: A()})\nw_text_output('x' * 1_000_000)"
        )
        self.assertEqual(states["c/select_1"]["options"][0], None)
        self.assertIn("its repr raised ValueError", states["c/select_1"]["options"][1])
        self.assertLess(len(states["c/text_output_1"]["content"]), 70_000)

    def test_pk11_states_too_large_for_a_message_are_shortened(self):
        states = self.make_widgets("w_select('big', [str(i) * 1_000_000 for i in range(70)])")
        self.assertEqual((states["c/select_1"]["type"], states["c/select_1"]["label"]), ("select", "big"))
        self.assertIn("over the limit", states["c/select_1"]["error"])

    @skip_unless_installed("pandas")
    def test_pk11_the_state_of_a_table_widget_is_a_preview(self):
        states = self.make_widgets(
            "import pandas as pd\n"
            "df = pd.DataFrame({'a': range(100), 'b': ['x' * 1000] * 100, 'c': pd.Timestamp('2024-01-02'), 'd': [list(range(10**6))] * 100})\n"
            "t = w_table(label='T', source=df)\n"
            "pick = w_select('c', df['a'].unique()[:2], default=df['a'][1])"
        )
        state = states["c/table_1"]
        self.assertEqual((state["shape"], state["columns"], len(state["rows"])), ([100, 4], ["a", "b", "c", "d"], 20))
        self.assertEqual(state["dtypes"]["a"], "int64")
        self.assertEqual((state["rows"][1][0], state["rows"][0][2]), (1, "2024-01-02T00:00:00"))
        self.assertLess(len(state["rows"][0][1]), 300)
        self.assertTrue(state["rows"][0][3].startswith("[0, 1, 2, "))
        self.assertLess(len(json.dumps(state)), 20_000)
        self.assertEqual(state["value"], {"columns": ["a", "b", "c", "d"], "shape": [100, 4]})
        self.assertEqual(states["c/select_1"]["options"], [0, 1])
        self.assertEqual(self.run_ok("t.value is df, pick.value", "d").shown_text, "(True, 1)")

    @skip_unless_installed("matplotlib")
    def test_pk11_a_plot_is_shown_once_with_its_key(self):
        run = self.run_ok(
            IMPORT_WIDGETS + "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1, 2])\nw_plot(label='P', source=ax, key='p');"
        )
        (output,) = run.outputs
        self.assertIn("image/png", output["data"])
        self.assertEqual(output["transient"]["display_id"], "c/p")
        self.assertEqual(self.widget_states(run.frames)["c"]["c/p"]["display_id"], "c/p")


class TestSettingWidgetValues(WidgetTest):
    def test_pk11_a_value_set_from_outside_runs_the_readers(self):
        self.make_widgets("w = w_select('Pick', ['a', 'b'], default='a', key='w')")
        self.run_ok("print(w.value)", "r")
        self.run_ok("w.sample(), w._signal.sample()", "n")
        frames = self.set_widget_values(w="b")
        self.assertEqual(
            frame_events(frames),
            [
                ("set_widget_value_response", None),
                ("cell_widgets", "c"),
                ("run_queue", ["r"]),
                ("run_queue", []),
                ("start_cell", "r"),
                ("cell_result", "r", "ok"),
                IDLE,
            ],
        )
        self.assertEqual(self.widget_states(frames)["c"]["c/w"]["value"], "b")
        self.assertEqual(frames[1]["updated_widgets"], ["c/w"])
        self.assertEqual(printed_text(frames), "b\n")

    def test_pk11_values_set_from_outside_are_checked(self):
        self.make_widgets(
            "w_select('', ['a', 1, True], key='s')\nw_select('', ['a'], required=True, key='q')\n"
            "w_multi_select('', ['a', 'b'], key='m')\nw_text_input(key='t')\nw_checkbox(key='c')\nw_button(key='b')\n"
            "w_slider(min=0, max=1, key='n')\nw_range_slider(min=0, max=9, key='r')\nw_slider(key='ro', readonly=True)\nw_row(key='row')"
        )
        for key, value, error in (
            ("s", '"a"', ""), ("s", "1", ""), ("s", "true", ""), ("s", "null", ""), ("s", "1.0", ""),
            ("s", '"b"', "'b' is not an option; they are ['a', 1, True]"),
            ("s", "[]", "[] is not an option; they are ['a', 1, True]"),
            ("q", "null", "None is not an option; they are ['a']"),
            ("m", '["b", "a"]', ""), ("m", '["b", "z"]', "'z' is not an option; they are ['a', 'b']"),
            ("m", '"a"', "'a' is not a list of options"),
            ("t", '"x"', ""), ("t", "1", "1 is not a string"),
            ("c", "true", ""), ("c", "1", "1 is neither true nor false"),
            ("b", "true", ""), ("b", "false", "False is not true, which presses the button"),
            ("n", "0.5", ""), ("n", "1", ""), ("n", "2", "2 is above max, 1"), ("n", "-1", "-1 is below min, 0"),
            ("n", "true", "True is not a number"), ("n", '"1"', "'1' is not a number"),
            ("n", "NaN", "the value is not JSON: NaN is no JSON value"),
            ("r", "[1, 2]", ""), ("r", "[2, 1]", "2 is above 1"), ("r", "[1]", "[1] is not a list of two numbers"),
            ("r", "[1, 10]", "10 is above max, 9"),
            ("ro", "1", "the widget is read-only"), ("row", "1", "the widget is read-only"),
            ("none", "1", "there is no such widget"),
            ("n", "{", "the value is not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ):  # fmt: skip
            with self.subTest(key=key, value=value):
                self.assertEqual(self.error_of_setting_widget(key, value), error)
        self.assertIn("not JSON", self.error_of_setting_widget("t", "[" * 100_000))
        answer = self.kernel.request("set_widget_value", "set_widget_value_response", data={"c/n": 1})
        self.assertEqual(answer["errors"], {"c/n": "the value is not a string of JSON"})

    def test_pk11_one_invalid_widget_key_fails_that_key_only(self):
        self.make_widgets("a, b = w_slider(min=0, max=5, key='a'), w_slider(min=0, max=5, key='b')")
        self.run_ok("print(a.value, b.value)", "r")
        frames = self.set_widget_values(a=9, b=3, z=1)
        self.assertEqual(
            frames[0],
            {
                "type": "set_widget_value_response",
                "status": "error",
                "errors": {"c/a": "9 is above max, 5", "c/z": "there is no such widget"},
            },
        )
        self.assertIn("0 3\n", printed_text(frames))

    def test_two_values_in_one_message_cause_one_rerun(self):
        self.make_widgets("a, b = w_slider(key='a'), w_slider(key='b')")
        self.run_ok("print(a.value, b.value)", "r")
        frames = self.set_widget_values(a=1, b=2)
        self.assertEqual(
            frame_events(frames),
            [
                ("set_widget_value_response", None),
                ("cell_widgets", "c"),
                ("run_queue", ["r"]),
                ("run_queue", []),
                ("start_cell", "r"),
                ("cell_result", "r", "ok"),
                IDLE,
            ],
        )
        self.assertEqual(printed_text(frames), "1 2\n")

    def test_setting_the_same_value_reruns_nothing(self):
        self.make_widgets("a = w_slider(key='a')")
        self.run_ok("a.value", "r")
        self.set_widget_values(a=1)
        self.send_widget_values(a=1)
        self.kernel.send("ping")
        self.assertEqual([f["type"] for f in self.kernel.receive_until("pong")], ["set_widget_value_response", "pong"])
        self.assertEqual(ids_of_cells_run(self.run_ok("2", "d").frames), ["d"])

    def test_a_value_set_from_outside_survives_a_rerun_of_its_cell(self):
        code = "a = w_select('', ['x', 'y'], default='x', key='a')\nprint(a.value)"
        self.make_widgets(code)
        frames = self.set_widget_values(a="y")
        self.assertEqual((ids_of_cells_run(frames), printed_text(frames)), (["c"], "y\n"))
        self.assertEqual(self.run_ok(code).text(), "y\n")
        self.assertEqual(self.run_ok(code.replace("'y']", "'z']")).text(), "x\n", "y is no longer an option")
        self.assertEqual(self.run_ok(code).text(), "x\n", "the value was forgotten")

    def test_readers_follow_the_widget_that_replaces_theirs(self):
        self.make_widgets("a = w_slider(key='a', value=1)")
        self.run_ok("print(a.value)", "r")
        self.assertEqual(ids_of_cells_run(self.run_ok("a = w_slider(key='a', value=1)", "c").frames), ["c"])
        self.assertEqual(ids_of_cells_run(self.run_ok("a = w_slider(key='a', value=2)", "c").frames), ["c", "r"])
        self.assertEqual(ids_of_cells_run(self.set_widget_values(a=7)), ["r"])

    def test_readers_are_kept_while_their_widget_is_not_made(self):
        self.make_widgets("a = w_slider(key='a')")
        self.run_ok("a.value", "r")
        for broken in ("1 / 0", "x = = 1", "exit()", "1"):
            with self.subTest(broken=broken):
                self.kernel.run_cell(broken)
                frames = self.run_ok("a = w_slider(key='a')", "c").frames
                self.assertEqual(ids_of_cells_run(frames), ["c"])
                self.run_value += 1
                self.assertEqual(ids_of_cells_run(self.set_widget_values(a=self.run_value)), ["r"])

    def test_widget_keys_of_cells_whose_id_has_slashes(self):
        self.make_widgets("a = w_slider(key='x/a')", "c/d")
        self.run_ok("a.value", "r")
        self.kernel.send("set_widget_value", data={"c/d/x/a": "1"})
        frames = self.kernel.receive_until("start_cell", cell_id=None)
        self.assertEqual((ids_of_cells_run(frames), list(self.widget_states(frames))), (["r"], ["c/d"]))

    def test_a_widget_can_be_set_while_its_cell_runs(self):
        self.make_widgets("a = w_slider(key='a')")
        self.run_ok("a.value", "r")
        code = f"a = w_slider(key='a')\n{HOLD_CODE}\nprint(a.value)"
        for begin in (code, code.replace("a = w_slider(key='a')\n", "", 1) + "\na = w_slider(key='a')"):
            with self.subTest(begin=begin):
                self.kernel.run_until_begun(begin)
                before = self.run_value
                self.run_value = before + 1
                self.send_widget_values(a=self.run_value)
                frames = self.release_held_cell() + self.kernel.receive_until_printed("begun\n")
                frames += self.release_held_cell_and_finish()
                self.assertEqual(
                    frame_events(frames),
                    [
                        ("set_widget_value_response", None),
                        ("cell_widgets", "c"),
                        ("cell_result", "c", "ok"),
                        ("cell_widgets", "c"),
                        ("run_queue", ["c", "r"]),
                        ("run_queue", ["r"]),
                        ("start_cell", "c"),
                        ("cell_widgets", "c"),
                        ("cell_result", "c", "ok"),
                        ("run_queue", []),
                        ("start_cell", "r"),
                        ("cell_result", "r", "ok"),
                        IDLE,
                    ],
                )
                self.assertEqual(printed_text(frames), f"{before}\nbegun\n{self.run_value}\n")

    run_value = 0

    def test_a_value_that_the_remade_widget_cannot_have_is_reported(self):
        self.make_widgets("a = w_slider(key='a')")
        self.kernel.run_until_begun(HOLD_CODE + "\na = w_slider(key='a', max=1)", "c")
        self.send_widget_values(a=5)
        frames = self.release_held_cell_and_finish()
        (error,) = [frame for frame in frames if frame["type"] == "error"]
        self.assertEqual(error["data"]["message"], "set_widget_value: c/a: 5 is above max, 1")
        self.assertEqual(self.run_ok("a.sample()", "d").shown_text, "0")

    def test_pk10_widgets_of_a_cell_that_runs_again_are_dropped_first(self):
        self.make_widgets("a, b = w_slider(key='a'), w_slider(key='b')")
        self.run_ok("a.value + b.value", "r")
        self.make_widgets("a = w_slider(key='a')")
        self.assertEqual(self.error_of_setting_widget("b", 1), "there is no such widget")
        self.assertEqual(ids_of_cells_run(self.set_widget_values(a=1)), ["r"])

    def test_pk10_disposing_a_cell_forgets_its_widgets_and_their_values(self):
        self.make_widgets("a = w_slider(key='a')")
        self.set_one_widget_value("a", 4)
        self.kernel.send("dispose_cell", cell_id="c")
        self.assertEqual(self.error_of_setting_widget("a", 1), "there is no such widget")
        self.assertEqual(self.make_widgets("a = w_slider(key='a')")["c/a"]["value"], 0)

    def set_one_widget_value(self, key, value):
        self.assertEqual(self.error_of_setting_widget(key, value), "")
        self.kernel.receive_until("cell_widgets")

    def test_a_stopped_re_run_keeps_the_widgets(self):
        self.make_widgets("a, b = w_slider(key='a'), w_slider(key='b')\nb.value")
        self.run_ok(f"if a.value: {HOLD_CODE}\nb.sample()", "r")
        self.make_widgets("a.value\nb = w_slider(key='b')", "s")
        self.send_widget_values(a=1, b=1)
        self.kernel.receive_until_printed("begun\n")
        self.kernel.send("stop_cell", cell_id="s")
        frames = self.kernel.receive_until("cell_result", cell_id="s")
        self.assertEqual(frame_events(frames)[1:], [("start_cell", "s"), ("cell_widgets", "s"), ("cell_result", "s", "interrupted")])
        self.assertEqual(list(frames[-2]["widget_state"]), ["s/b"])

    def test_a_reactive_loop_keeps_the_widgets(self):
        frames = self.kernel.run_cell(IMPORT_WIDGETS + "from assay import Signal\ns = globals().get('s') or Signal(0)\nw_slider(key='a')\ns(s() + 1)").frames
        self.assertEqual(frame_events(frames)[-3:], [("cell_widgets", "c"), ("cell_result", "c", "error"), IDLE])
        self.assertEqual(list(self.widget_states(frames)["c"]), ["c/a"])

    def test_pk11_a_press_is_true_in_the_runs_that_it_causes(self):
        self.make_widgets("go = w_button('Go', key='go')\nn = w_slider(key='n')\nprint('own', go.value)")
        self.run_ok("print('r', go.value, n.value)", "r")
        frames = self.set_widget_values(go=True)
        self.assertEqual((ids_of_cells_run(frames), printed_text(frames)), (["c", "r"], "own True\nr True 0\n"))
        self.assertEqual(self.widget_states(frames)["c"]["c/go"]["value"], 1)
        frames = self.set_widget_values(n=5)
        self.assertEqual(printed_text(frames), "r False 5\n")
        self.assertEqual(ids_of_cells_run(self.set_widget_values(go=True)), ["c", "r"])
        self.assertEqual(self.run_ok("go.value", "new").shown_text, "False")
        self.assertEqual(self.kernel.execute_code("go.value")["result"], "False")

    def test_pk11_a_press_that_no_cell_has_read_has_no_later_effect(self):
        self.make_widgets("go = w_button(key='go')\nn = w_slider(key='n')")
        self.run_ok("n.value == 1 or print(go.value)", "r")
        self.set_widget_values(n=1)
        self.set_one_widget_value("go", True)
        self.assertIn("False\n", printed_text(self.set_widget_values(n=2)))

    def test_pk10_cells_that_read_a_widget_run_after_its_cell(self):
        self.run_ok("from assay import Signal\nfile = Signal('f')", "s")
        self.make_widgets("pick = w_select('', [file() + '1', file() + '2'], key='p', default=file() + '1')")
        self.run_ok("print(file(), pick.value)", "a")
        frames = self.run_ok("file('g')", "z").frames
        self.assertEqual((ids_of_cells_run(frames), printed_text(frames)), (["z", "c", "a"], "g g1\n"))

    def test_the_init_message_restores_widget_values(self):
        states = {"c/a": {"type": "slider", "value": 3}, "c/b": {"value": "z"}, "c/c": 7, "c/d": {}}
        self.kernel.send("init", widget_states=states)
        made = self.make_widgets("w_slider(key='a')\nw_select('', ['x'], value='x', key='b')\nw_slider(key='c')\nw_slider(key='d')")
        self.assertEqual([state["value"] for state in made.values()], [3, "x", 0, 0])

    def test_pk14_a_reset_removes_widgets_and_tells_the_server(self):
        self.make_widgets("a = w_slider(key='a')")
        self.set_one_widget_value("a", 4)
        self.kernel.send("reset_kernel_globals")
        frames = self.kernel.receive_until("reset_kernel_globals_complete")
        self.assertEqual(self.widget_states(frames), {"c": {}})
        self.assertEqual(self.error_of_setting_widget("a", 1), "there is no such widget")
        self.assertEqual(self.make_widgets("a = w_slider(key='a')")["c/a"]["value"], 0)

    def test_setting_a_widget_before_widgets_are_imported(self):
        self.assertEqual(self.error_of_setting_widget("a", 1), "there is no such widget")
        answer = self.kernel.request("set_widget_value", "set_widget_value_response", data={})
        self.assertEqual((answer["status"], answer["errors"]), ("success", {}))
        answer = self.kernel.request("set_widget_value", "error", data=[])
        self.assertIn("data is not an object", answer["data"]["message"])

    def test_pk8_the_summary_names_a_widget_by_its_key(self):
        self.make_widgets("w = w_select('', ['a'], key='w')")
        self.assertEqual(self.kernel.globals_summary()["w"], {"type": "Select", "repr": "<w_select c/w>"})
