"""The parent of warm kernels when it cannot do what it is asked for."""

import json
import subprocess
import sys
import unittest

from harness import IMPORT_ROOT, TIMEOUT

# Asks a parent for a kernel that it cannot fork. Prints its answer, and how many open files it has more than before.
_FORK_THAT_FAILS = f"""
import errno, json, os, socket, sys
sys.path.insert(0, {IMPORT_ROOT!r})
from assay.pool.parent import WarmParent

def fork():
    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

server, end = socket.socketpair()
parent = WarmParent(end.detach())
before = len(os.listdir("/proc/self/fd"))
os.fork = fork
body = json.dumps({{"type": "fork", "folder": "/", "environ": {{}}}}).encode()
socket.send_fds(server, [len(body).to_bytes(8, "little"), body], [0, 1, 2])
parent._handle_request(*parent._receive_request())
more = len(os.listdir("/proc/self/fd")) - before
size = int.from_bytes(server.recv(8), "little")
print(json.dumps([json.loads(server.recv(size)), more]))
"""


class TestWarmParent(unittest.TestCase):
    def test_a_fork_that_fails_is_reported_and_leaves_no_open_files(self):
        run = subprocess.run(
            [sys.executable, "-c", _FORK_THAT_FAILS], capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
        self.assertEqual(run.stderr, "")
        answer, more = json.loads(run.stdout)
        self.assertEqual(answer["type"], "failed")
        self.assertIn("Resource temporarily unavailable", answer["error"])
        self.assertEqual(more, 0)

