"""The server's end of a child's socket: frames of an 8-byte little-endian length and a JSON object."""

import gzip
import json
import socket
import struct
import sys
from typing import Any, Dict, NoReturn, Optional

Message = Dict[str, Any]


def fail(status: int, reason: str) -> NoReturn:
    """Prints the reason to stderr and exits with this status."""
    print(reason, file=sys.stderr, flush=True)
    sys.exit(status)


class Wire:
    """Sends and receives messages over the socket whose file descriptor is the last argument.

    With use_gzip, every frame is compressed in both directions; exits with status 4 on any other frame.
    """

    def __init__(self, use_gzip: bool) -> None:
        self.socket = socket.socket(fileno=int(sys.argv[-1]))
        self.use_gzip = use_gzip

    def send(self, message_type: str, **fields: Any) -> None:
        """Sends a message."""
        body = json.dumps({"type": message_type, **fields}).encode()
        if self.use_gzip:
            body = gzip.compress(body)
        self.socket.sendall(struct.pack("<q", len(body)) + body)

    def receive(self) -> Optional[Message]:
        """Waits for the next message; returns None when the server has closed the socket."""
        head = self._read(8)
        if head is None:
            return None
        body = self._read(struct.unpack("<q", head)[0])
        if body is None:
            return None
        if (body[:2] == b"\x1f\x8b") != self.use_gzip:
            fail(4, "a frame that is not gzip" if self.use_gzip else "a frame that is gzip")
        return json.loads(gzip.decompress(body) if self.use_gzip else body)

    def _read(self, n: int) -> Optional[bytes]:
        """Reads exactly n bytes; returns None if the socket is closed before."""
        data = b""
        while len(data) < n:
            part = self.socket.recv(n - len(data))
            if not part:
                return None
            data += part
        return data
