"""IPython's syntax without IPython: !command, %pip and a few more."""

import sys

from harness import KernelTest, without_versions

HIDE_IPYTHON = "import sys\nsys.modules['IPython'] = None"


class TestCommands(KernelTest):
    def setUp(self):
        super().setUp()
        self.run_ok(HIDE_IPYTHON)

    def test_pk4_a_command_prints_what_it_writes(self):
        run = self.run_ok("!echo out; echo err >&2; printf last")
        self.assertEqual((run.text(), run.text("stderr")), ("out\nerr\nlast", ""))
        self.assertEqual(run.outputs, [])

    def test_pk4_output_of_a_command_comes_while_it_runs(self):
        self.kernel.run_until_begun("!echo begun; while [ ! -e go ]; do sleep 0.01; done; echo done")
        (self.kernel.folder / "cwd" / "go").touch()
        self.kernel.receive_until_printed("done\n")
        self.kernel.receive_until("start_cell", cell_id=None)

    def test_pk4_the_exit_status_is_kept(self):
        for command, status in (("exit 3", "3"), ("true", "0"), ("kill -9 $$", "-9")):
            with self.subTest(command=command):
                self.assertEqual(self.run_ok(f"!{command}\n_exit_code").shown_text, status)

    def test_pk4_the_lines_of_a_command_can_be_assigned(self):
        for code, shown in (
            ("x = !printf 'a\\nb b\\n'\nx", "['a', 'b b']"),
            ("x = !echo err >&2; exit 2\nx, _exit_code", "(['err'], 2)"),
            ("x=!echo '#' \"it's\"\nx[0]", '"# it\'s"'),
            ("d = {}\nd['k'] = !echo 1\nd", "{'k': ['1']}"),
            ("!!echo 1", "['1']"),
            ("x = !printf '\\xff'\nx", "['\ufffd']"),
        ):
            with self.subTest(code=code):
                self.assertEqual(self.run_ok(code).shown_text, shown)

    def test_pk4_variables_in_commands_are_expanded(self):
        self.run_ok("n, s = 3, 'ab'")
        for command, text in (
            ('echo "{n + 1} {s!r:>6} $s$n"', "4   'ab' ab3\n"),
            ("echo '$$n' {{x}}", "$n {x}\n"),
            ("echo '$HOME' {s}", "$HOME ab\n"),
            ("echo a b | awk '{print $2}'", "b\n"),
        ):
            with self.subTest(command=command):
                self.assertEqual(self.run_ok("!" + command).text(), text)
        self.assertEqual(self.run_ok("def f(s):\n    !echo {s}\nf('local')").text(), "local\n")

    def test_pk4_a_command_may_have_several_lines(self):
        run = self.run_ok("if True:\n    !echo a \\\n      b\n1 / 1\n!echo c")
        self.assertEqual(run.text(), "a b\nc\n")
        error = self.run_failing("!echo a \\\n b\n\n1 / 0").result["exception"]
        self.assertIn('File "<cell c>", line 4, in <module>\n    1 / 0', without_versions(error))

    def test_pk4_background_processes_of_a_command_go_on(self):
        run = self.run_ok("!(while [ ! -e go ]; do sleep 0.01; done; echo late) & echo early")
        self.assertEqual(run.text(), "early\n")
        (self.kernel.folder / "cwd" / "go").touch()
        self.kernel.receive_until_printed("late\n")

    def test_pk4_a_snippet_keeps_the_output_of_its_commands(self):
        answer = self.kernel.execute_code("!echo a\n5")
        self.assertEqual((answer["stdout"], answer["result"]), ("a\n", "5"))

    def test_pk4_command_output_follows_redirected_stdout(self):
        run = self.run_ok(
            "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as out:\n"
            "    !echo caught\nout.getvalue()"
        )
        self.assertEqual((run.shown_text, run.text()), ("'caught\\n'", ""))

    def test_children_of_a_command_do_not_have_the_socket(self):
        self.assertEqual(self.run_ok("x = !ls -l /proc/self/fd\n'socket' in ''.join(x)").shown_text, "False")


class TestMagics(KernelTest):
    def setUp(self):
        super().setUp()
        self.run_ok(HIDE_IPYTHON)

    def test_pk4_pip_magic_works_without_ipython(self):
        for code in ("%pip --version", "%pip \\\n--version", "  %pip --version", "x = %pip --version"):
            with self.subTest(code=code):
                self.assertIn("pip ", self.run_ok(code).text())
        self.assertIn("error", self.run_ok("pip install ./missing").text().lower())

    def test_pk4_cd_and_pwd_magics(self):
        self.run_ok("import os\nos.mkdir('sub')")
        self.assertTrue(self.run_ok("%cd sub").text().endswith("/sub\n"))
        self.assertTrue(self.run_ok("%pwd").shown_text.endswith("/sub'"))
        self.run_ok("cd ..")

    def test_pk4_matplotlib_inline_magic_is_accepted(self):
        self.assertEqual(self.run_ok("%matplotlib inline").outputs, [])

    def test_pk4_other_magics_are_a_usage_error_that_names_them(self):
        for code, what in (
            ("%timeit 1", "%timeit"),
            ("%%bash\nif true; then echo '\n'; fi", "%%bash"),
            ("\n\n%%time\n1", "%%time"),
            ("x = %who", "%who"),
            ("%matplotlib qt", "%matplotlib"),
            ("len?", "help"),
            ("?len", "help"),
            ("str.join??", "help"),
        ):
            with self.subTest(code=code):
                run = self.run_failing(code)
                self.assertEqual(run.error_output["ename"], "UsageError")
                self.assertTrue(run.error_output["evalue"].startswith(f"{what} needs IPython, which {sys.executable} "))
                self.assertIn('File "<cell c>", line ', without_versions(run.result["exception"]))
                self.assertNotIn("/assay/", run.result["exception"])

    def test_pk4_the_statements_before_a_magic_have_run(self):
        self.run_failing("before = 1\n%timeit 1\nafter = 1")
        self.assertEqual(self.run_ok("before").shown_text, "1")

    def test_pk4_python_that_looks_like_a_magic_is_run_as_python(self):
        for code, shown in (
            ("(7\n% 4)", "3"),
            ("'''\n%magic\n!ls\nx?\n'''", "'\\n%magic\\n!ls\\nx?\\n'"),
            ("7 \\\n% 4", "3"),
            ("1 != 2", "True"),
            ("x = [\n  1 # is this ok?\n]\nx", "[1]"),
        ):
            with self.subTest(code=code):
                self.assertEqual(self.run_ok(code).shown_text, shown)

    def test_pk4_python_beside_a_magic_is_not_changed(self):
        run = self.run_ok(
            "!true\nx = (7\n% 4)\ny = '''\n!false\n'''\nz = f\"{x!r}\"  # !false\n"
            "w = {'a': '!', \"b\": r'\\\\'}\nv = x != 3 or 5 \\\n% 3\n(x, y, z, w, v)"
        )
        self.assertEqual(run.shown_text, "(3, '\\n!false\\n', '3', {'a': '!', 'b': '\\\\\\\\'}, 2)")

    def test_pk6_invalid_source_with_magics_is_still_a_syntax_error(self):
        for code in ("x = = 1", "!true\nx = = 1", "f(%magic)", "a ? b", "x = (\n%magic"):
            with self.subTest(code=code):
                self.assertEqual(self.run_failing(code).error_output["ename"], "SyntaxError")

    def test_an_indented_cell_runs(self):
        self.assertEqual(self.run_ok("    x = 1\n    if x:\n        x = 2\n    x").shown_text, "2")
        self.assertEqual(self.run_failing("    x = 1\n  y").error_output["ename"], "IndentationError")

    def test_get_ipython_without_ipython_works_in_cells_only(self):
        self.run_ok("get_ipython().system('true')\nget_ipython().run_line_magic('cd', '.')")
        (self.kernel.folder / "cwd" / "library.py").write_text("def ask(): return get_ipython()")
        self.assertEqual(self.run_failing("import library\nlibrary.ask()").error_output["ename"], "NameError")
