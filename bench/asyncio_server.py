"""A small server of the plain kind, for the benchmark to measure beside Assay.

At / one loop takes what an agent sends over its WebSocket. What the notebook
can answer is answered from memory; for what only the kernel knows the loop
awaits the kernel, and until then nobody hears the agent.

At /agent?session=N a console talks with the agent of that session, which has
connected to the Unix socket: one loop passes on what the console says, another
what the agent says.

    asyncio_server.py serve SECONDS SOCKET   prints its port and serves until its stdin ends
    asyncio_server.py kernel SECONDS         the kernel: takes so long for every request
"""

import asyncio
import json
import sys
import time

import websockets

CELLS = 10
SOURCE = 'rows = load("rows.csv")\ntotal = sum(row.amount for row in rows)\nprint(total)\n'
FOR_THE_KERNEL = {"request_globals_summary", "request_reactivity_summary", "get_global_info"}


def dumps(message):
    return json.dumps(message, separators=(",", ":"))


def cell(index):
    """A cell as get_context shows it."""
    name = f"6f1c3b52-0d6e-4a4b-9a43-6d3f0a5a9c{index:02}"
    return {
        "index": index, "cell_id": name, "tf_id": name, "cell_type": "code", "source": SOURCE, "metadata": {},
        "language": "python", "status": "idle", "display_name": "", "rev": 1, "outputs": [], "widgets": [],
    }


def from_notebook(request):
    cells = [cell(i) for i in range(CELLS)]
    context = {"cell_count": len(cells), "notebook_name": "notebook", "cells": cells}
    return {"type": "agent_action_response", "tx_id": request["tx_id"], "status": "success", "context": context}


async def from_kernel(kernel, request):
    kernel.stdin.write(dumps(request).encode() + b"\n")
    return json.loads(await kernel.stdout.readline())


async def passing_on(consoles, agents, socket, path):
    """Passes on what a console says, once it has said that it is there."""
    session = path.rpartition("=")[2]
    async for message in socket:
        if json.loads(message)["type"] == "init":
            consoles[session] = socket
            await socket.send(dumps({"type": "ready"}))
        else:
            body = message.encode()
            agents[session].write(len(body).to_bytes(8, "little") + body)
            await agents[session].drain()


async def from_agent(consoles, agents, reader, writer):
    """Passes on what an agent says, once it has said whose it is."""
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


async def serve(seconds, path):
    consoles, agents = {}, {}
    kernel = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "kernel", seconds, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)

    async def connected(socket, *_):
        path = getattr(socket, "path", None) or socket.request.path
        if path.startswith("/agent"):
            return await passing_on(consoles, agents, socket, path)
        async for message in socket:
            request = json.loads(message)
            if request["action"] in FOR_THE_KERNEL:
                answer = await from_kernel(kernel, request)
            else:
                answer = from_notebook(request)
            await socket.send(dumps(answer))

    await asyncio.start_unix_server(lambda *ends: from_agent(consoles, agents, *ends), path, backlog=1000)
    async with websockets.serve(connected, "127.0.0.1", 0, ping_interval=None) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    kernel.kill()
    await kernel.wait()


def be_kernel(seconds):
    for line in sys.stdin:
        time.sleep(seconds)
        answer = {"type": "agent_action_response", "tx_id": json.loads(line)["tx_id"], "status": "success", "summary": {}}
        print(dumps(answer), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "kernel":
        be_kernel(float(sys.argv[2]))
    else:
        asyncio.run(serve(sys.argv[2], sys.argv[3]))
