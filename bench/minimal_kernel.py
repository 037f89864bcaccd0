"""The smallest kernel that runs cells, as the floor of the benchmark: it reads a frame,
executes its code and answers with a frame. It has no outputs and no interrupts.

    minimal_kernel.py FD   serves the socket with file descriptor FD until it is closed
"""

import json
import socket
import sys


def main():
    """Serves the socket named on the command line."""
    connection = socket.socket(fileno=int(sys.argv[1]))
    stream = connection.makefile("rb")
    namespace = {}
    while head := stream.read(8):
        request = json.loads(stream.read(int.from_bytes(head, "little")))
        exec(compile(request["code"], "<cell>", "exec"), namespace)
        answer = {"type": "cell_result", "cell_id": request["cell_id"], "status": "ok"}
        body = json.dumps(answer).encode()
        connection.sendall(len(body).to_bytes(8, "little") + body)


main()
