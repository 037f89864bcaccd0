"""Runs Jupyter's counterparts for the benchmark to compare Assay with.

    jupyter.py client   drives ipykernels with jupyter_client. Each line of stdin is a
                        JSON array, the name of one of COMMANDS and its arguments; the
                        answer is one line of JSON with the command's result. Times are
                        in seconds. Commands apply to the kernel that was started last
    jupyter.py server   starts a Jupyter server without a token, prints its port, and
                        serves until stdin ends
"""

import json
import os
import signal
import sys
import threading
from time import monotonic

MESSAGE_TIMEOUT = 60  # seconds, for each message

kernels = []  # pairs of manager and client, the newest last


def start_kernel(code):
    """Starts a kernel and returns the time until code has run in it."""
    from jupyter_client.manager import start_new_kernel

    began = monotonic()
    kernels.append(start_new_kernel())
    time_to_result(code)
    return monotonic() - began


def stop_kernel():
    """Stops the newest kernel and removes it from kernels."""
    manager, client = kernels.pop()
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def kernel_pid():
    """Returns the process id of the newest kernel."""
    return kernels[-1][0].provisioner.process.pid


def time_to_result(code):
    """Runs code and returns the time until its outputs and its reply have arrived."""
    began = monotonic()
    await_result(start_cell(code))
    return monotonic() - began


def start_cell(code):
    """Sends an execute_request for code and returns its message id."""
    # By default the kernel refuses requests for a moment after an error, such as an interrupt.
    return kernels[-1][1].execute(code, stop_on_error=False)


def await_result(request):
    """Waits for the status idle and the reply to a request; returns how many bytes of text arrived."""
    size = 0
    while True:
        message = next_output_message(request)
        if message["msg_type"] == "stream":
            size += len(message["content"]["text"].encode())
        elif message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            break
    client = kernels[-1][1]
    while client.get_shell_msg(timeout=MESSAGE_TIMEOUT)["parent_header"].get("msg_id") != request:
        pass
    return size


def next_output_message(request):
    """Returns the next message on the IOPub channel that belongs to a request."""
    while True:
        message = kernels[-1][1].get_iopub_msg(timeout=MESSAGE_TIMEOUT)
        if message["parent_header"].get("msg_id") == request:
            return message


def time_to_first_text(code):
    """Runs code to its end and returns the time until its first text."""
    began = monotonic()
    request = start_cell(code)
    await_first_text(request)
    took = monotonic() - began
    await_result(request)
    return took


def await_first_text(request):
    """Waits for the first text that a request prints."""
    while next_output_message(request)["msg_type"] != "stream":
        pass


def time_to_interrupt(code):
    """Runs code, interrupts it after its first text, and returns the time from then to its end."""
    request = start_cell(code)
    await_first_text(request)
    began = monotonic()
    kernels[-1][0].interrupt_kernel()
    await_result(request)
    return monotonic() - began


def time_control_requests(code, count):
    """Runs code, which must print first and then run on, and returns the times of kernel_info
    requests on the control channel meanwhile. Then it interrupts the code."""
    manager, client = kernels[-1]
    running = start_cell(code)
    await_first_text(running)
    took = []
    for _ in range(count):
        began = monotonic()
        client.control_channel.send(client.session.msg("kernel_info_request", {}))
        client.get_control_msg(timeout=MESSAGE_TIMEOUT)
        took.append(monotonic() - began)
    manager.interrupt_kernel()
    await_result(running)
    return took


def time_printed_text(code):
    """Runs code and returns how long it took and how many bytes of text arrived."""
    began = monotonic()
    size = await_result(start_cell(code))
    return {"took": monotonic() - began, "size": size}


COMMANDS = {command.__name__: command for command in (
    start_kernel, stop_kernel, kernel_pid, time_to_result, time_to_first_text, time_to_interrupt,
    time_control_requests, time_printed_text)}


def run_client_commands():
    """Carries out the commands of stdin until it ends, then stops all kernels."""
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        print(json.dumps(COMMANDS[name](*arguments)), flush=True)
    while kernels:
        stop_kernel()


def run_jupyter_server():
    """Runs a Jupyter server until stdin ends."""
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
    {"client": run_client_commands, "server": run_jupyter_server}[sys.argv[1]]()
