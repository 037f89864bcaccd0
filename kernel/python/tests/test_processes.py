"""Stopping code that waits for processes: nothing is left of them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import unittest
from unittest import mock

from harness import PROGRAM, KernelTest, needs

sys.path.insert(0, PROGRAM)
from assay.run import process_tree  # noqa: E402

SLOW = (  # a process runs for a while before its Popen says so
    "import subprocess, time\n"
    "execute = subprocess.Popen._execute_child\n"
    "def slow(self, *args):\n"
    "    execute(self, *args)\n"
    "    print('begun')\n"
    "    time.sleep({})\n"
    "subprocess.Popen._execute_child = slow\n"
)


class TestProcesses(KernelTest):
    def left_nothing(self, code: str, within: float = 3.0) -> str:
        """Stops code where it prints "begun", and checks that no process is left. Returns the error's name."""
        self.kernel.begin(code)
        started = time.monotonic()
        run = self.kernel.stop()
        self.assertLess(time.monotonic() - started, within)
        self.assertEqual(run.result["status"], "interrupted", run.result["exception"])
        ended = time.monotonic() + 5  # killed, and gone as soon as the machine has time for it
        while left := _others(self.kernel.process.pid):
            if time.monotonic() > ended:
                for pid in left:
                    process_tree._send_signal(pid, signal.SIGKILL)
                self.fail(left)
        return run.error["ename"] if run.outputs else ""

    def test_pk7_nothing_is_left_of_a_command_that_is_stopped(self):
        for command in (
            "sleep 4747; echo",
            "(trap '' INT; sleep 4747; echo)",
            "sleep 4747 & sleep 4747",
            "sleep 4747 | sleep 4747 | cat",
            "trap 'sleep 4747' INT; sleep 4747; echo",
            "timeout 4747 sleep 4747; echo",  # leads a process group of its own
        ):
            with self.subTest(command=command):
                ended = self.left_nothing(f"print('begun')\n!{command}")
                self.assertEqual(ended, "KeyboardInterrupt")

    def test_pk7_nothing_is_left_of_a_process_that_a_function_waits_for(self):
        for call in (
            "run(['sleep', '4747'])",
            "run('sleep 4747; echo', shell=True)",
            "run('(trap \"\" INT; sleep 4747; echo)', shell=True)",
            "check_output('sleep 4747 | cat', shell=True)",
            "call('sleep 4747; echo', shell=True)",
        ):
            with self.subTest(call=call):
                ended = self.left_nothing(f"import subprocess\nprint('begun')\nsubprocess.{call}")
                self.assertEqual(ended, "KeyboardInterrupt")

    def test_pk7_a_process_that_has_just_been_started_is_not_forgotten(self):
        self.run_ok(SLOW.format(0.3))
        for call in ("run", "check_output", "call"):
            with self.subTest(call=call):
                ended = self.left_nothing(f"subprocess.{call}(['sleep', '4747'])")
                self.assertEqual(ended, "KeyboardInterrupt")

    def test_pk7_a_process_that_does_not_begin_is_left_after_two_seconds(self):
        self.run_ok(SLOW.format(60))
        self.left_nothing("subprocess.run(['sleep', '0'])", within=5.0)

    def test_pk7_a_process_of_the_user_s_own_is_left_to_the_user(self):
        self.kernel.begin(
            "import subprocess\np = subprocess.Popen(['sleep', '4747'])\nprint('begun')\np.wait()"
        )
        self.kernel.stop()
        self.assertEqual(self.run_ok("p.poll()\nx = p.kill()\np.wait()").shown, "-9")

    @needs("IPython")
    def test_pk7_nothing_is_left_of_a_script_that_is_stopped(self):
        for script in ("sleep 4747; echo", "sleep 4747 & sleep 4747; echo", "(trap '' INT; sleep 4747)"):
            with self.subTest(script=script):
                self.left_nothing(f"%%bash\necho begun\n{script}")


class TestFamily(unittest.TestCase):
    """A shell that starts a "sleep 4747" for each line it gets, and prints its number."""

    def setUp(self) -> None:
        self.shell = subprocess.Popen(
            ["sh", "-c", "while read line; do sleep 4747 >/dev/null & echo $!; done"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        self.started: list[int] = []
        self.addCleanup(self.end)

    def end(self) -> None:
        for pid in [self.shell.pid, *self.started]:
            process_tree._send_signal(pid, signal.SIGKILL)
        self.shell.communicate()

    def start(self) -> None:
        self.shell.stdin.write(b"\n")
        self.started.append(int(self.shell.stdout.readline()))

    def test_pk7_a_process_that_is_forked_between_two_looks_is_found(self):
        """The shell is told to stop, is listed, comes back from a fork, and stops."""
        told: list[int] = []
        listed, signalled = process_tree._with_descendants, process_tree._send_signal

        def tell(pid: int, number: int) -> bool:
            if pid == self.shell.pid and number == signal.SIGSTOP and not self.started:
                told.append(pid)
                return True
            return signalled(pid, number)

        def look(roots: list[int]) -> list[int]:
            found = listed(roots)
            if told and not self.started:
                self.start()
                signalled(self.shell.pid, signal.SIGSTOP)
                os.waitid(os.P_PID, self.shell.pid, os.WSTOPPED)
            return found

        with mock.patch.multiple(process_tree, _with_descendants=look, _send_signal=tell):
            process_tree.end_process_tree(self.shell.pid)
        self.assertEqual(len(self.started), 1, "the fork was not tried")
        ended = time.monotonic() + 5
        while _runs(self.started[0]):
            self.assertLess(time.monotonic(), ended)

    def test_pk7_what_a_child_has_left_when_it_ended_is_let_be(self):
        self.start()
        self.shell.kill()
        os.waitid(os.P_PID, self.shell.pid, os.WEXITED | os.WNOWAIT)
        with mock.patch.object(process_tree, "_send_signal") as tell:
            process_tree.end_process_tree(self.shell.pid)
        tell.assert_not_called()

    def test_what_is_no_child_is_let_be(self):
        self.start()
        with mock.patch.object(process_tree, "_send_signal") as tell:
            process_tree.end_process_tree(self.started[0])
        tell.assert_not_called()


def _runs(pid: int) -> bool:
    stat = process_tree._read_stat(str(pid))
    return bool(stat) and stat[0] not in (b"Z", b"X")


def _others(session: int) -> dict[int, bytes]:
    """Returns the command lines of a session's processes, but for its leader's."""
    lines = {}
    for entry in os.listdir("/proc"):
        stat = process_tree._read_stat(entry) if entry.isdigit() and int(entry) != session else []
        if stat and int(stat[3]) == session and stat[0] not in (b"Z", b"X"):
            with contextlib.suppress(OSError), open(f"/proc/{entry}/cmdline", "rb") as line:
                lines[int(entry)] = line.read()
    return lines
