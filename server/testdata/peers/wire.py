"""One end of a child's socket: a length of eight bytes, little-endian, and a JSON object."""

import gzip
import json
import socket
import struct
import sys
from typing import Any, Dict, NoReturn, Optional

Message = Dict[str, Any]


def fail(code: int, why: str) -> NoReturn:
    print(why, file=sys.stderr, flush=True)
    sys.exit(code)


class Wire:
    """With packed, every frame is gzip, in both directions; a plain one is a failure."""

    def __init__(self, packed: bool) -> None:
        self.socket = socket.socket(fileno=int(sys.argv[-1]))
        self.packed = packed

    def send(self, kind: str, **fields: Any) -> None:
        body = json.dumps({"type": kind, **fields}).encode()
        if self.packed:
            body = gzip.compress(body)
        self.socket.sendall(struct.pack("<q", len(body)) + body)

    def receive(self) -> Optional[Message]:
        """The next message; None: the other side has closed."""
        head = self._exactly(8)
        if head is None:
            return None
        body = self._exactly(struct.unpack("<q", head)[0])
        if body is None:
            return None
        if (body[:2] == b"\x1f\x8b") != self.packed:
            fail(4, "a frame that is not gzip" if self.packed else "a frame that is gzip")
        return json.loads(gzip.decompress(body) if self.packed else body)

    def _exactly(self, n: int) -> Optional[bytes]:
        data = b""
        while len(data) < n:
            part = self.socket.recv(n - len(data))
            if not part:
                return None
            data += part
        return data
