"""A small asyncio server of the usual kind, for the benchmark to compare Assay with.

At / an agent connects over a WebSocket. One loop reads its requests. It answers from
memory what the notebook knows; for what only the kernel knows it awaits the kernel, and
reads no further request of the agent until then.

At /agent?session=N a console connects. The agent of session N connects to the Unix
socket. One loop forwards the console's messages, another the agent's.

    asyncio_server.py serve SECONDS SOCKET   prints its port and serves until its stdin ends
    asyncio_server.py kernel SECONDS         the kernel: takes SECONDS for every request
"""

import asyncio
import json
import sys
import time

import websockets

CELLS = 10
SOURCE = 'rows = load("rows.csv")\ntotal = sum(row.amount for row in rows)\nprint(total)\n'
KERNEL_ACTIONS = {"request_globals_summary", "request_reactivity_summary", "get_global_info"}


def encode_message(message):
    """Encodes a message as compact JSON."""
    return json.dumps(message, separators=(",", ":"))


def context_cell(index):
    """Returns a cell as get_context describes it."""
    name = f"6f1c3b52-0d6e-4a4b-9a43-6d3f0a5a9c{index:02}"
    return {
        "index": index, "cell_id": name, "tf_id": name, "cell_type": "code", "source": SOURCE, "metadata": {},
        "language": "python", "status": "idle", "display_name": "", "rev": 1, "outputs": [], "widgets": [],
    }


def answer_from_notebook(request):
    """Returns the answer to a get_context request."""
    cells = [context_cell(i) for i in range(CELLS)]
    context = {"cell_count": len(cells), "notebook_name": "notebook", "cells": cells}
    return {"type": "agent_action_response", "tx_id": request["tx_id"], "status": "success", "context": context}


async def request_from_kernel(kernel, request):
    """Sends a request to the kernel process and awaits its answer."""
    kernel.stdin.write(encode_message(request).encode() + b"\n")
    return json.loads(await kernel.stdout.readline())


async def forward_console_to_agent(consoles, agents, socket, path):
    """Forwards a console's messages to its agent, after its init message."""
    session = path.rpartition("=")[2]
    async for message in socket:
        if json.loads(message)["type"] == "init":
            consoles[session] = socket
            await socket.send(encode_message({"type": "ready"}))
        else:
            body = message.encode()
            agents[session].write(len(body).to_bytes(8, "little") + body)
            await agents[session].drain()


async def forward_agent_to_console(consoles, agents, reader, writer):
    """Forwards an agent's messages to its console, after its ready message with the session."""
    session = None
    try:
        while True:
            size = int.from_bytes(await reader.readexactly(8), "little")
            body = (await reader.readexactly(size)).decode()
            message = json.loads(body)
            if message["type"] == "ready":
                session = message["session"]
                agents[session] = writer
            else:
                await consoles[session].send(body)
    except asyncio.IncompleteReadError:
        writer.close()


async def serve_agents_and_consoles(seconds, path):
    """Serves agents and consoles until stdin ends; the kernel takes seconds per request."""
    consoles, agents = {}, {}
    kernel = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "kernel", seconds, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)

    async def handle_connection(socket, *_):
        path = getattr(socket, "path", None) or socket.request.path
        if path.startswith("/agent"):
            return await forward_console_to_agent(consoles, agents, socket, path)
        async for message in socket:
            request = json.loads(message)
            if request["action"] in KERNEL_ACTIONS:
                answer = await request_from_kernel(kernel, request)
            else:
                answer = answer_from_notebook(request)
            await socket.send(encode_message(answer))

    await asyncio.start_unix_server(lambda *ends: forward_agent_to_console(consoles, agents, *ends), path, backlog=1000)
    async with websockets.serve(handle_connection, "127.0.0.1", 0, ping_interval=None) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    kernel.kill()
    await kernel.wait()


def run_slow_kernel(seconds):
    """Answers each line of stdin after this many seconds."""
    for line in sys.stdin:
        time.sleep(seconds)
        answer = {"type": "agent_action_response", "tx_id": json.loads(line)["tx_id"], "status": "success", "summary": {}}
        print(encode_message(answer), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "kernel":
        run_slow_kernel(float(sys.argv[2]))
    else:
        asyncio.run(serve_agents_and_consoles(sys.argv[2], sys.argv[3]))
