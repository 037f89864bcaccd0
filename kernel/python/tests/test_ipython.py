"""IPython in the kernel: magics, help, captured output, and when it is loaded."""

from harness import KernelTest, skip_unless_installed, without_versions

IS_IPYTHON_LOADED = "import sys\n'IPython' in sys.modules"


@skip_unless_installed("IPython")
class TestIPython(KernelTest):
    def test_pk4_plain_cells_do_not_load_ipython(self):
        for code in ("1 + 1", "x = [1] * 100\nx", "display(1)", "def f(): pass\nf", "get_ipython"):
            self.run_ok(code)
        self.kernel.run_cell("x = = 1")
        self.kernel.run_cell("1 / 0")
        self.assertEqual(self.run_ok(IS_IPYTHON_LOADED).shown_text, "False")
        self.run_ok("%pwd")
        self.assertEqual(self.run_ok(IS_IPYTHON_LOADED).shown_text, "True")

    @skip_unless_installed("pandas", "matplotlib")
    def test_pk4_libraries_that_call_get_ipython_do_not_load_it(self):
        self.run_ok("import pandas, matplotlib.pyplot\npandas.DataFrame({'a': [1]})")
        self.assertEqual(self.run_ok(IS_IPYTHON_LOADED).shown_text, "False")

    def test_pk4_line_magics_run(self):
        for code, shown in (
            ("%cd .\n%pwd", None),
            ("x = %pwd\nx == get_ipython().run_line_magic('pwd', '')", "True"),
            ("%env KERNEL_TEST=1\nimport os\nos.environ['KERNEL_TEST']", "'1'"),
            ("for i in range(2):\n    %time j = i\nj", "1"),
            ("%time 6 * 7", "42"),
            ("t = %timeit -n 1 -r 1 -o -q 1\nt.loops", "1"),
            ("%precision 2\n1 / 3", "0.33"),
            ("%precision\n1 / 3", "0.3333333333333333"),
            ("%store x", None),
        ):
            with self.subTest(code=code):
                run = self.run_ok(code)
                if shown is not None:
                    self.assertEqual(run.shown_text, shown)

    def test_pk4_cell_magics_run(self):
        run = self.run_ok("%%time\nk = 7\nk")
        self.assertIn("Wall time", run.text())
        self.assertEqual((run.shown_text, run.result["outputs"]), ("7", ["k"]))
        self.assertEqual(self.run_ok("%%bash\necho out\necho err >&2").text("stderr"), "err\n")
        self.assertIn("<p>", self.run_ok("%%html\n<p>").outputs[0]["data"]["text/html"])
        self.run_ok("%%writefile made.py\nmade = 3")
        self.assertEqual(self.run_ok("%run made.py\nmade").shown_text, "3")

    def test_pk4_capture_magic_captures_output(self):
        run = self.run_ok(
            "%%capture kept\nimport sys\nprint('out')\nprint('err', file=sys.stderr)\ndisplay(1)\n"
            "!echo command\n2"
        )
        self.assertEqual([f for f in run.frames if f["type"] in ("kernel_stdio", "cell_output")], [])
        run = self.run_ok("kept.stdout, kept.stderr, [o.data['text/plain'] for o in kept.outputs]")
        self.assertEqual(run.shown_text, r"('out\ncommand\n', 'err\n', ['1', '2'])")

    @skip_unless_installed("matplotlib")
    def test_pk4_capture_magic_captures_figures(self):
        self.run_ok("%matplotlib inline\n%config InlineBackend.figure_format = 'retina'")
        run = self.run_ok("%%capture kept\nimport matplotlib.pyplot as plt\nplt.plot([1]);")
        self.assertEqual(run.outputs, [])
        self.assertEqual(self.run_ok("['image/png' in o.data for o in kept.outputs]").shown_text, "[True]")
        self.assertEqual(self.run_ok("%matplotlib qt").text("stderr"), "figures are shown in the notebook, not by 'qt'\n")

    @skip_unless_installed("matplotlib")
    def test_pk4_figures_have_the_configured_formats(self):
        plot = "import matplotlib.pyplot as plt\nplt.figure(figsize=(2, 1))\nplt.plot([1]);"
        self.run_ok("%config InlineBackend.figure_formats = ['svg']")
        self.assertEqual(set(self.run_ok(plot).outputs[0]["data"]), {"image/svg+xml", "text/plain"})
        self.run_ok("%config InlineBackend.figure_format = 'retina'")
        (output,) = self.run_ok(plot).outputs
        self.assertEqual(set(output["data"]), {"image/png", "text/plain"})
        self.assertEqual(set(output["metadata"]["image/png"]), {"width", "height"})
        self.run_ok("%config InlineBackend.rc = {'lines.linewidth': 7.0}")
        self.assertEqual(self.run_ok("plt.rcParams['lines.linewidth']").shown_text, "7.0")

    def test_pk4_debug_magic_says_that_there_is_no_input(self):
        self.run_failing("1 / 0")
        self.assertIn("%debug needs input, which this notebook does not offer", self.run_ok("%debug").text("stderr"))

    def test_pk4_a_cell_with_capture_magic_may_await(self):
        self.run_ok("%%capture kept\nimport asyncio\nprint(await asyncio.sleep(0, 'slept'))")
        self.assertEqual(self.run_ok("kept.stdout").shown_text, r"'slept\n'")

    def test_pk4_run_cell_returns_a_result(self):
        self.assertEqual(self.run_ok("r = get_ipython().run_cell('x = 3\\n!echo hi\\n4')\n(r.success, r.result)").text(), "hi\n")
        shown = [o["data"]["text/plain"] for o in self.run_ok("r = get_ipython().run_cell('x + 1')\n(r.success, r.result)").outputs]
        self.assertEqual(shown, ["4", "(True, 4)"])
        for code, shown in (
            ("1 / 0", "(False, ZeroDivisionError('division by zero'), None)"),
            ("x = = 1", "(False, None, True)"),
        ):
            with self.subTest(code=code):
                run = self.run_ok(
                    f"r = get_ipython().run_cell({code!r})\n"
                    "(r.success, r.error_in_exec, isinstance(r.error_before_exec, SyntaxError) or None)"
                )
                self.assertEqual(run.shown_text, shown)
                self.assertIn("Error", run.text("stderr"))
        self.run_failing("%%capture\n1 / 0")

    def test_pk4_a_function_that_fails_after_a_cell_does_not_fail_it(self):
        self.run_ok("def f(*_): 1 / 0\nget_ipython().events.register('post_run_cell', f)")
        run = self.run_ok("6 * 7")
        self.assertEqual(run.shown_text, "42")
        self.assertIn("ZeroDivisionError", run.text("stderr"))

    def test_pk4_help_requests_print_text(self):
        self.run_ok("def f(x):\n    'Doubles x.'\n    return 2 * x", "d")
        for code, expected_text in (("f?", "Doubles x."), ("?f", "Doubles x."), ("f??", "return 2 * x"), ("%time?", "Time execution")):
            with self.subTest(code=code):
                run = self.run_ok(code)
                self.assertIn(expected_text, run.text())
                self.assertNotIn("\x1b", run.text())

    def test_pk4_shell_commands_run(self):
        self.run_ok("n = 3\n%pwd")
        self.assertEqual(self.run_ok("!echo {n} $n; echo err >&2").text(), "3 3\nerr\n")
        self.assertEqual(self.run_ok("x = !echo a; echo b\n(x.n, x.s, x[1])").shown_text, r"('a\nb', 'a b', 'b')")
        self.assertEqual(self.run_ok("!exit 4\n_exit_code").shown_text, "4")
        self.assertEqual(self.run_ok("def f(y):\n    !echo {y}\nf('local')").text(), "local\n")

    def test_pk4_a_magic_without_percent_sign_runs(self):
        self.assertIn("pip ", self.run_ok("pip list --version").text())
        self.assertEqual(self.kernel.run_cell("cd / nowhere").text(), "")

    def test_pk4_an_error_in_a_magic_fails_the_cell(self):
        self.run_ok("open('bad.py', 'w').write('def f():\\n    1 / 0\\nf()\\n')")
        for code, name, frame in (
            ("%nosuch", "UsageError", '  File "<cell c>", line 1'),
            ("%%nosuch\n1", "UsageError", '  File "<cell c>", line 1'),
            ("\n%time 1 / 0", "ZeroDivisionError", '  File "<cell c>", line 2'),
            ("%%time\n\n1 / 0", "ZeroDivisionError", '  File "<timed eval>", line '),
            ("%%capture\nx = 1\n1 / 0", "ZeroDivisionError", '  File "<magic in c>", line 2'),
            ("%run bad.py", "ZeroDivisionError", 'bad.py", line 2, in f'),
            ("%%bash\nexit 3", "CalledProcessError", '  File "<cell c>", line 1'),
            ("%time x = = 1", "SyntaxError", ""),
        ):
            with self.subTest(code=code):
                run = self.run_failing(code)
                self.assertEqual(run.error_output["ename"], name)
                self.assertIn(frame, without_versions(run.result["exception"]))
                self.assertNotIn("/IPython/", run.result["exception"])
                self.assertNotIn("/assay/", run.result["exception"])

    def test_pk4_a_broken_cell_magic_fails_only_its_cell(self):
        self.run_failing("%%time")
        self.run_failing("%%bash --nosuch\n1")

    def test_pk4_autoreload_reloads_changed_modules(self):
        self.run_ok("%load_ext autoreload\n%autoreload 2")
        self.run_ok("import os\nopen('lib.py', 'w').write('x = 1')\nos.utime('lib.py', (1, 1))\nimport lib")
        self.run_ok("open('lib.py', 'w').write('x = 22')\nNone")
        self.assertEqual(self.run_ok("lib.x").shown_text, "22")

    def test_pk4_formatters_registered_by_the_user_are_used(self):
        self.run_ok(
            "class A:\n"
            "    def _repr_html_(self): return 'own'\n"
            "formatters = get_ipython().display_formatter.formatters\n"
            "formatters['text/html'].for_type(A, lambda a: '<b>registered</b>')\n"
            "formatters['text/plain'].for_type(A, lambda a, printer, cycle: printer.text('plain'))"
        )
        data = self.run_ok("A()").outputs[0]["data"]
        self.assertEqual(data, {"text/html": "<b>registered</b>", "text/plain": "plain"})
        self.run_ok("formatters['text/html'].for_type(A, lambda a: 1 / 0);")
        data = self.run_ok("A()").outputs[0]["data"]
        self.assertEqual(list(data), ["text/plain"])
        self.assertIn("text/html raised ZeroDivisionError", data["text/plain"])

    def test_pk4_there_is_only_one_ipython_shell(self):
        run = self.run_ok("import IPython\n(IPython.get_ipython() is get_ipython(), get_ipython().user_ns is globals())")
        self.assertEqual(run.shown_text, "(True, True)")
        self.assertEqual(self.run_ok("type(get_ipython()).__name__").shown_text, "'ZMQInteractiveShell'")

    def test_pk4_ipython_starts_no_thread_and_writes_no_history(self):
        self.run_ok("%pwd")
        self.assertEqual(self.run_ok("import threading\nlen(threading.enumerate())").shown_text, "1")
        self.assertEqual(list(self.kernel.folder.rglob("history*")), [])
        self.assertEqual(self.kernel.globals_summary(), {})

    def test_pk14_magics_work_after_a_reset(self):
        self.run_ok("%cd .")
        self.kernel.request("reset_kernel_globals", "reset_kernel_globals_complete")
        self.run_ok("%cd .\n!true")
        self.run_ok("globals().clear()")
        self.run_ok("%cd .")

    def test_pk4_magics_work_in_execute_code(self):
        answer = self.kernel.execute_code("print(1)\n%pwd")
        self.assertTrue(answer["result"].endswith("/cwd'"), answer)
        self.assertEqual(self.kernel.execute_code("%time 1 / 0")["ename"], "ZeroDivisionError")
