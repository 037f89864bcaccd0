"""Starting and ending a kernel, and requests that are malformed or unknown."""

import os
import select
import signal
import subprocess
import sys
import time

from harness import TIMEOUT, IMPORT_ROOT, KernelProcess, KernelTest, RunRecord


class TestKernelStart(KernelTest):
    def test_the_ready_message_comes_first_and_describes_the_kernel(self):
        self.assertEqual(
            self.kernel.ready,
            {
                "type": "ready",
                "language": "python",
                "version": sys.version.split()[0],
                "pid": self.kernel.process.pid,
                "protocol": 1,
                "actions": True,
            },
        )

    def test_a_start_creates_no_files_and_prints_nothing(self):
        self.kernel.request("ping", "pong")
        self.assertEqual(self.kernel.descriptor_text("out") + self.kernel.descriptor_text("err"), "")
        found = sorted(path.name for path in self.kernel.folder.rglob("*"))
        self.assertEqual(found, ["cwd", "err", "out"])

    def test_a_plain_cell_imports_little(self):
        self.run_ok("print(1)\n1 + 1")
        run = self.run_ok(
            "import sys\n"
            "slow = 'asyncio inspect typing dataclasses traceback ast socket ctypes queue contextvars'.split()\n"
            "before = set(BEFORE.split())\n"
            "[name for name in slow if name in sys.modules and name not in before]".replace(
                "BEFORE", repr(_modules_of_a_bare_interpreter())
            )
        )
        self.assertEqual(run.shown_text, "[]")

    def test_sys_path_begins_with_the_working_folder_and_lacks_the_kernel(self):
        (self.kernel.folder / "cwd" / "channel.py").write_text("mine = 1")
        (self.kernel.folder / "cwd" / "run.py").write_text("mine = 2")
        run = self.run_ok(
            "import sys, channel, run\n"
            "import assay.introspect.bounded_repr\n"
            "(sys.path[0], channel.mine, run.mine, sys.argv)"
        )
        self.assertEqual(run.shown_text, "('', 1, 2, [''])")
        run = self.run_ok(f"[entry for entry in sys.path if entry.startswith({IMPORT_ROOT!r})]")
        self.assertEqual(run.shown_text, "[]")

    def test_the_user_s_globals_contain_nothing_of_the_kernel(self):
        run = self.run_ok("print(*sorted(name for name in globals() if name != '_'))")
        expected = "In Out __builtins__ __doc__ __loader__ __name__ __package__ __spec__\n"
        self.assertEqual(run.text(), expected)

    def test_children_do_not_inherit_the_socket(self):
        run = self.run_ok(
            "import subprocess, sys\n"
            "subprocess.run(['ls', '-l', '/proc/self/fd'], capture_output=True, close_fds=False,"
            " text=True).stdout.count('socket')"
        )
        self.assertEqual(run.shown_text, "0")


class TestKernelEnd(KernelTest):
    def test_the_end_of_the_socket_ends_a_busy_kernel(self):
        self.kernel.run_until_begun("print('begun')\nwhile True: pass")
        started = time.monotonic()
        self.assertEqual(self.kernel.close(), 0)
        self.assertLess(time.monotonic() - started, 2)

    def test_the_end_of_the_socket_with_unread_messages_ends_the_kernel(self):
        self.kernel.send("ping")
        select.select([self.kernel.socket], [], [], TIMEOUT)  # the answer is there and stays unread
        self.assertEqual(self.kernel.close(), 0)

    def test_the_end_of_the_socket_ends_a_kernel_that_sends(self):
        self.kernel.send("run_cell", cell_id="c", code="while True: print('x')")
        self.kernel.receive_until_printed("x")
        self.assertEqual(self.kernel.close(), 0)

    def test_sigterm_ends_a_busy_kernel(self):
        self.kernel.run_until_begun("print('begun')\nwhile True: pass")
        self.kernel.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.kernel.process.wait(TIMEOUT), -signal.SIGTERM)

    def test_a_user_thread_does_not_keep_the_kernel_alive(self):
        self.kernel.run_cell("import threading\nthreading.Thread(target=threading.Event().wait).start()")
        self.assertEqual(self.kernel.close(), 0)

    def test_an_invalid_frame_length_ends_the_kernel_with_a_message(self):
        for length in (0, -1, 1 << 40):
            with self.subTest(length=length):
                kernel = KernelProcess()
                self.addCleanup(kernel.close)
                kernel.socket.sendall(length.to_bytes(8, "little", signed=True))
                self.assertEqual(kernel.process.wait(TIMEOUT), 1)
                self.assertIn(f"frame length {length}", kernel.descriptor_text("err"))

    def test_pk6_a_crash_prints_the_cell(self):
        self.kernel.send("run_cell", cell_id="c", code="import ctypes\nctypes.string_at(0)")
        self.assertEqual(self.kernel.process.wait(TIMEOUT), -signal.SIGSEGV)
        self.assertIn("<cell c>", self.kernel.descriptor_text("err"))

    def test_pk6_text_printed_right_before_an_exit_arrives(self):
        self.kernel.send("run_cell", cell_id="c", code="import os\nprint('bye')\nos._exit(3)")
        self.kernel.receive_until_printed("bye\n")
        self.assertEqual(self.kernel.process.wait(TIMEOUT), 3)


class TestRequests(KernelTest):
    def test_malformed_messages_are_answered_and_change_nothing(self):
        for body, expected_text in (
            (b"{", "message is not JSON"),
            (b"\xff", "message is not JSON"),
            (b"[" * 100_000, "message is not JSON"),
            (b"[1]", "not a JSON object with a type"),
            (b"{}", "not a JSON object with a type"),
            (b'{"type": 3}', "not a JSON object with a type"),
            (b'{"type": "fly"}', "unknown message type 'fly'"),
            (b'{"type": "run_cell", "code": "1"}', "run_cell: cell_id is not a string"),
            (b'{"type": "run_cell", "cell_id": "", "code": "1"}', "run_cell: cell_id is empty"),
            (b'{"type": "run_cell", "cell_id": "c", "code": 1}', "run_cell: code is not a string"),
            (b'{"type": "stop_cell"}', "stop_cell: agent_tx_id is not a string"),
            (b'{"type": "set_widget_value", "data": []}', "set_widget_value: data is not an object"),
            (b'{"type": "agent_action", "action": "dance", "tx_id": "t"}', "action 'dance'"),
        ):
            with self.subTest(body=body[:80]):
                self.kernel.send_body(body)
                answer = self.kernel.receive()
                self.assertEqual(answer["type"], "error")
                self.assertIn(expected_text, answer["data"]["message"])
        self.assertEqual(self.run_ok("1 + 1").result["run_sequencer"], 1)

    def test_the_init_message_is_not_answered(self):
        self.kernel.send("init", widget_states={}, kernel_pid=1)
        self.kernel.send("ping", agent_tx_id="p")
        self.assertEqual(self.kernel.receive(), {"type": "pong", "agent_tx_id": "p"})

    def test_set_widget_value_without_widgets_fails_each_key(self):
        answer = self.kernel.request(
            "set_widget_value", "set_widget_value_response", data={"c/a": "1", "c/b": "2"}
        )
        self.assertEqual(answer["status"], "error")
        self.assertEqual(sorted(answer["errors"]), ["c/a", "c/b"])

    def test_reactivity_summary_is_well_formed(self):
        answer = self.kernel.request("reactivity_summary", "reactivity_summary", agent_tx_id="r")
        self.assertEqual(answer["cell_reactivity"], {})
        self.assertIn("## Reactive Dependencies", answer["summary"])
        self.assertEqual(answer["agent_tx_id"], "r")

    def test_summaries_are_also_answered_as_agent_actions(self):
        self.kernel.run_cell("x = 1")
        answer = self.kernel.request(
            "agent_action", "agent_action_response", action="request_globals_summary", tx_id="a"
        )
        self.assertEqual(answer["tx_id"], "a")
        self.assertEqual(answer["status"], "success")
        self.assertEqual(answer["summary"], {"x": {"type": "int", "repr": "1"}})
        answer = self.kernel.request(
            "agent_action", "agent_action_response", action="request_reactivity_summary", tx_id="b"
        )
        self.assertEqual((answer["tx_id"], answer["cell_reactivity"]), ("b", {}))

    def test_debug_state_lists_running_and_queued_cells(self):
        self.kernel.run_until_begun("print('begun')\nimport time\ntime.sleep(60)")
        self.kernel.send("run_cell", cell_id="d", code="1")
        state = self.kernel.request("debug_state", "debug_state")["data"]
        self.assertEqual(state["running"], ["c"])
        self.assertEqual(state["queue"], ["d"])
        self.assertEqual(state["run_sequencer"], 1)
        self.kernel.send("stop_cell", cell_id="c")
        self.assertIsInstance(RunRecord(self.kernel.receive_until("start_cell", cell_id=None)), RunRecord)


def _modules_of_a_bare_interpreter() -> str:
    code = "import sys; print(*sys.modules)"
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()
