"""What Jupyter has for the same, for the benchmark to measure beside Assay.

    jupyter.py client   drives ipykernel by jupyter_client, as it is told: each
                        line of stdin is a JSON array, the name of one of COMMANDS
                        and what it takes; each is answered with a line of JSON.
                        Times are in seconds
    jupyter.py server   prints the port of a Jupyter server, which asks for no
                        token, and serves until its stdin ends
"""

import json
import os
import signal
import sys
import threading
from time import monotonic

DEADLINE = 60  # of each wait for a message

kernels = []  # manager and client of each, the newest last


def start(code):
    """Starts a kernel as jupyter_client does, and takes the time until code has run."""
    from jupyter_client.manager import start_new_kernel

    began = monotonic()
    kernels.append(start_new_kernel())
    run(code)
    return monotonic() - began


def stop():
    """Stops the newest kernel."""
    manager, client = kernels.pop()
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def pid():
    return kernels[-1][0].provisioner.process.pid


def run(code):
    """Runs code until its outputs and its reply are all there."""
    began = monotonic()
    finish(begin(code))
    return monotonic() - began


def begin(code):
    # By default an error, as an interrupt is one, makes the kernel refuse for a moment.
    return kernels[-1][1].execute(code, stop_on_error=False)


def finish(request):
    """Waits for the end of a run, and returns how many bytes of text came on the way."""
    size = 0
    while True:
        message = published(request)
        if message["msg_type"] == "stream":
            size += len(message["content"]["text"].encode())
        elif message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            break
    client = kernels[-1][1]
    while client.get_shell_msg(timeout=DEADLINE)["parent_header"].get("msg_id") != request:
        pass
    return size


def published(request):
    """The next message about a run."""
    while True:
        message = kernels[-1][1].get_iopub_msg(timeout=DEADLINE)
        if message["parent_header"].get("msg_id") == request:
            return message


def first(code):
    """Takes the time until the first text of a run, and waits for its end."""
    began = monotonic()
    request = begin(code)
    await_text(request)
    took = monotonic() - began
    finish(request)
    return took


def await_text(request):
    while published(request)["msg_type"] != "stream":
        pass


def interrupt(code):
    """Takes the time from an interrupt of code, which has printed, to its end."""
    request = begin(code)
    await_text(request)
    began = monotonic()
    kernels[-1][0].interrupt_kernel()
    finish(request)
    return monotonic() - began


def busy(code, times):
    """Asks on the control channel who the kernel is, while code runs, which prints first."""
    manager, client = kernels[-1]
    running = begin(code)
    await_text(running)
    took = []
    for _ in range(times):
        began = monotonic()
        client.control_channel.send(client.session.msg("kernel_info_request", {}))
        client.get_control_msg(timeout=DEADLINE)
        took.append(monotonic() - began)
    manager.interrupt_kernel()
    finish(running)
    return took


def text(code):
    """Takes the time of a run, and counts the bytes of text that come."""
    began = monotonic()
    size = finish(begin(code))
    return {"took": monotonic() - began, "size": size}


COMMANDS = {command.__name__: command for command in (start, stop, pid, run, first, interrupt, busy, text)}


def client():
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        print(json.dumps(COMMANDS[name](*arguments)), flush=True)
    while kernels:
        stop()


def server():
    from jupyter_server.serverapp import ServerApp

    app = ServerApp.instance()
    app.initialize([
        "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0", "--log-level=ERROR",
        "--ServerApp.token=", "--ServerApp.password=", "--ServerApp.disable_check_xsrf=True",
    ])
    (socket,) = app.http_server._sockets.values()
    print(socket.getsockname()[1], flush=True)

    def until_stdin_ends():
        sys.stdin.read()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=until_stdin_ends, daemon=True).start()
    app.start()


if __name__ == "__main__":
    {"client": client, "server": server}[sys.argv[1]]()
