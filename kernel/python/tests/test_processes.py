"""Stopping code that waits for processes ends the processes too."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import unittest
from unittest import mock

from harness import IMPORT_ROOT, KernelTest, skip_unless_installed

sys.path.insert(0, IMPORT_ROOT)
from assay.run import process_tree  # noqa: E402

# Makes a Popen return only some seconds after its process was started.
SLOW_POPEN = (
    "import subprocess, time\n"
    "execute = subprocess.Popen._execute_child\n"
    "def slow(self, *args):\n"
    "    execute(self, *args)\n"
    "    print('begun')\n"
    "    time.sleep({})\n"
    "subprocess.Popen._execute_child = slow\n"
)


class TestProcesses(KernelTest):
    def stop_and_check_processes(self, code: str, within: float = 3.0) -> str:
        """Runs code until it prints "begun", stops it, and checks that none of its processes is left.

        Returns the class name of the error with which the cell ended.
        """
        self.kernel.run_until_begun(code)
        started = time.monotonic()
        run = self.kernel.stop_cell()
        self.assertLess(time.monotonic() - started, within)
        self.assertEqual(run.result["status"], "interrupted", run.result["exception"])
        ended = time.monotonic() + 5  # they are killed, but may take a while to go
        while left := _other_processes_of_session(self.kernel.process.pid):
            if time.monotonic() > ended:
                for pid in left:
                    process_tree._send_signal(pid, signal.SIGKILL)
                self.fail(left)
        return run.error_output["ename"] if run.outputs else ""

    def test_pk7_stopping_a_command_ends_all_its_processes(self):
        for command in (
            "sleep 4747; echo",
            "(trap '' INT; sleep 4747; echo)",
            "sleep 4747 & sleep 4747",
            "sleep 4747 | sleep 4747 | cat",
            "trap 'sleep 4747' INT; sleep 4747; echo",
            "timeout 4747 sleep 4747; echo",  # makes its own process group
        ):
            with self.subTest(command=command):
                ended = self.stop_and_check_processes(f"print('begun')\n!{command}")
                self.assertEqual(ended, "KeyboardInterrupt")

    def test_pk7_stopping_ends_the_process_that_a_function_waits_for(self):
        for call in (
            "run(['sleep', '4747'])",
            "run('sleep 4747; echo', shell=True)",
            "run('(trap \"\" INT; sleep 4747; echo)', shell=True)",
            "check_output('sleep 4747 | cat', shell=True)",
            "call('sleep 4747; echo', shell=True)",
        ):
            with self.subTest(call=call):
                ended = self.stop_and_check_processes(f"import subprocess\nprint('begun')\nsubprocess.{call}")
                self.assertEqual(ended, "KeyboardInterrupt")

    def test_pk7_stopping_ends_a_process_that_is_just_being_started(self):
        self.run_ok(SLOW_POPEN.format(0.3))
        for call in ("run", "check_output", "call"):
            with self.subTest(call=call):
                ended = self.stop_and_check_processes(f"subprocess.{call}(['sleep', '4747'])")
                self.assertEqual(ended, "KeyboardInterrupt")

    def test_pk7_stopping_waits_two_seconds_for_a_process_to_start(self):
        self.run_ok(SLOW_POPEN.format(60))
        self.stop_and_check_processes("subprocess.run(['sleep', '0'])", within=5.0)

    def test_pk7_stopping_leaves_a_popen_of_the_user_alone(self):
        self.kernel.run_until_begun(
            "import subprocess\np = subprocess.Popen(['sleep', '4747'])\nprint('begun')\np.wait()"
        )
        self.kernel.stop_cell()
        self.assertEqual(self.run_ok("p.poll()\nx = p.kill()\np.wait()").shown_text, "-9")

    @skip_unless_installed("IPython")
    def test_pk7_stopping_a_script_magic_ends_all_its_processes(self):
        for script in ("sleep 4747; echo", "sleep 4747 & sleep 4747; echo", "(trap '' INT; sleep 4747)"):
            with self.subTest(script=script):
                self.stop_and_check_processes(f"%%bash\necho begun\n{script}")


class TestProcessTree(unittest.TestCase):
    """Tests how process trees are ended. A shell starts a "sleep 4747" for each line that it reads."""

    def setUp(self) -> None:
        self.shell = subprocess.Popen(
            ["sh", "-c", "while read line; do sleep 4747 >/dev/null & echo $!; done"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        self.started: list[int] = []
        self.addCleanup(self.end_processes)

    def end_processes(self) -> None:
        for pid in [self.shell.pid, *self.started]:
            process_tree._send_signal(pid, signal.SIGKILL)
        self.shell.communicate()

    def start_sleep(self) -> None:
        self.shell.stdin.write(b"\n")
        self.started.append(int(self.shell.stdout.readline()))

    def test_pk7_a_process_forked_between_two_listings_is_found(self):
        """The shell is sent SIGSTOP and is listed, then returns from a fork, and only then stops."""
        stop_requests: list[int] = []
        real_list, real_send = process_tree._list_with_descendants, process_tree._send_signal

        def send_signal(pid: int, number: int) -> bool:
            if pid == self.shell.pid and number == signal.SIGSTOP and not self.started:
                stop_requests.append(pid)
                return True
            return real_send(pid, number)

        def list_tree(roots: list[int]) -> list[int]:
            found = real_list(roots)
            if stop_requests and not self.started:
                self.start_sleep()
                real_send(self.shell.pid, signal.SIGSTOP)
                os.waitid(os.P_PID, self.shell.pid, os.WSTOPPED)
            return found

        with mock.patch.multiple(process_tree, _list_with_descendants=list_tree, _send_signal=send_signal):
            process_tree.end_process_tree(self.shell.pid)
        self.assertEqual(len(self.started), 1, "the shell did not fork")
        ended = time.monotonic() + 5
        while _is_running(self.started[0]):
            self.assertLess(time.monotonic(), ended)

    def test_pk7_processes_of_an_ended_child_are_left_alone(self):
        self.start_sleep()
        self.shell.kill()
        os.waitid(os.P_PID, self.shell.pid, os.WEXITED | os.WNOWAIT)
        with mock.patch.object(process_tree, "_send_signal") as send_signal:
            process_tree.end_process_tree(self.shell.pid)
        send_signal.assert_not_called()

    def test_a_process_that_is_not_a_child_is_left_alone(self):
        self.start_sleep()
        with mock.patch.object(process_tree, "_send_signal") as send_signal:
            process_tree.end_process_tree(self.started[0])
        send_signal.assert_not_called()


def _is_running(pid: int) -> bool:
    stat = process_tree._read_process_stat(str(pid))
    return bool(stat) and stat[0] not in (b"Z", b"X")


def _other_processes_of_session(session: int) -> dict[int, bytes]:
    """Returns the command lines of the processes of a session, except of its leader, by process id."""
    lines = {}
    for entry in os.listdir("/proc"):
        stat = process_tree._read_process_stat(entry) if entry.isdigit() and int(entry) != session else []
        if stat and int(stat[3]) == session and stat[0] not in (b"Z", b"X"):
            with contextlib.suppress(OSError), open(f"/proc/{entry}/cmdline", "rb") as line:
                lines[int(entry)] = line.read()
    return lines
