"""A console: python3 console.py [URL] [--session ID] [--token TOKEN]

It holds the notebook of a session of `assay serve`: it answers what the agent
asks of the notebook, runs cells, and prints what happens. With a case attached
it ends with the verdict. Exit status: 0 passed, 1 not, or no verdict came.
"""

import argparse
import asyncio
import json
import secrets
import sys
import uuid
from typing import Any, Optional

import websockets

Json = dict[str, Any]
Done = tuple[Json, Optional[Json]]  # fields of an answer; what the kernel is told behind it, if anything
LARGEST = 64 << 20  # bytes of a message


class Refusal(Exception):
    """Why an action cannot be carried out. The notebook is then unchanged."""


class Notebook:
    """The cells in order, each as get_context shows it."""

    def __init__(self) -> None:
        self.cells: list[Json] = []
        self.started: set[str] = set()  # ids of cells that run

    def perform(self, action: str, params: Json) -> Done:
        if action == "get_context":
            cells = [{**cell, "index": index} for index, cell in enumerate(self.cells)]
            return {"context": {"cell_count": len(cells), "notebook_name": "console.py", "cells": cells}}, None
        if action == "set_widget":
            key = text(params, "key")
            return {"key": key}, {"type": "set_widget_value", "data": {key: text(params, "value")}}
        if action == "create_cell":
            return self.create(params, params.get("cell_type", "code"))
        if action == "create_markdown_cell":
            return self.create(params, "markdown")
        return self.change(action, self.find(text(params, "cell_id")), params)

    def create(self, params: Json, kind: Any) -> Done:
        position, source = place(params, len(self.cells)), text(params, "source")
        if kind not in ("code", "markdown"):
            raise Refusal(f"cell_type: expected code or markdown, found {kind!r}")
        cell_id, title = uuid.uuid4().hex, params.get("title") or ""
        cell = {"cell_id": cell_id, "tf_id": cell_id, "cell_type": kind, "source": source, "display_name": title,
                "metadata": {}, "language": "python", "status": "idle", "widgets": []}  # fmt: skip
        self.cells.insert(position, cell)
        return {"cell_id": cell_id, "tf_id": cell_id}, self.run(cell) if params.get("auto_run") else None

    def change(self, action: str, cell: Json, params: Json) -> Done:
        named = {"cell_id": cell["cell_id"]}
        if action == "edit_cell":
            cell["source"] = text(params, "source")
            return named, self.run(cell) if params.get("auto_run") else None
        if action == "move_cell":
            position = place(params, len(self.cells) - 1)
            self.cells.remove(cell)
            self.cells.insert(position, cell)
            return named, None
        if action == "delete_cell":
            self.cells.remove(cell)
            left = [{"index": index, "cell_type": c["cell_type"], "cell_id": c["cell_id"]} for index, c in enumerate(self.cells)]
            return {"cell_count": len(left), "remaining_cells": left}, {"type": "dispose_cell", **named}
        if action == "stop_cell":
            return named, {"type": "stop_cell", **named}
        if action != "run_cell":
            raise Refusal(f"unknown action {action!r}")
        if cell["cell_type"] != "code":
            raise Refusal("cell_id: a Markdown cell cannot be run")
        return named, self.run(cell)

    def find(self, cell_id: str) -> Json:
        for cell in self.cells:
            if cell["cell_id"] == cell_id:
                return cell
        raise Refusal(f"cell_id: there is no cell {cell_id!r}")

    def run(self, cell: Json) -> Optional[Json]:
        if cell["cell_type"] != "code":
            return None
        cell["status"] = "running"
        return {"type": "run_cell", "cell_id": cell["cell_id"], "code": cell["source"]}

    def follow(self, frame: Json) -> None:
        """Take in what the kernel says of the runs."""
        kind, of = frame["type"], frame.get("cell_id")
        for cell in self.cells:
            cell_id = cell["cell_id"]
            if kind == "run_queue" and cell_id in frame["queue"]:
                cell["status"] = "running"
            elif kind == "start_cell" and of is None and cell_id in self.started:  # all is idle
                self.started.remove(cell_id)
                cell["status"] = "ran"
            elif kind == "start_cell" and of == cell_id:
                self.started.add(cell_id)
                cell.update(status="running", widgets=[])
            elif kind == "cell_result" and of == cell_id:
                self.started.discard(cell_id)
                cell["status"] = "error" if frame.get("exception") or frame.get("status") != "ok" else "ran"
            elif kind == "cell_widgets" and of == cell_id:
                states = frame["widget_state"].items()
                cell["widgets"] = [{**state, "key": key if "/" in key else f"{cell_id}/{key}"} for key, state in states]


def text(params: Json, name: str) -> str:
    if not isinstance(params.get(name), str):
        raise Refusal(f"{name}: expected text, found {params.get(name)!r}")
    return params[name]


def place(params: Json, last: int) -> int:
    position = params.get("position")
    if type(position) is not int or not 0 <= position <= last:
        raise Refusal(f"position: expected 0 to {last}, found {position!r}")
    return position


class Console:
    def __init__(self, url: str, session: str, token: str) -> None:
        self.url, self.session, self.token = url.replace("http", "ws", 1).rstrip("/"), session, token
        self.notebook, self.passed = Notebook(), False

    def connect(self, endpoint: str) -> Any:
        return websockets.connect(f"{self.url}/{endpoint}?session={self.session}", max_size=LARGEST)

    async def attend(self) -> None:
        """Hold the notebook until there is a verdict, or the connection ends."""
        async with self.connect("run") as run, self.connect("agent") as agent:
            await send(run, token=self.token, notebook_id="console.py")
            number = json.loads(await run.recv())["connection_idx"]
            following = asyncio.create_task(self.follow_run(run))
            await send(agent, type="init", session_id=secrets.randbelow(1 << 31), token=self.token, connection_idx=number)
            try:
                await self.follow_agent(agent, run)
            finally:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)

    async def follow_run(self, run: Any) -> None:
        async for message in run:
            frame = json.loads(message)
            self.notebook.follow(frame)
            if frame["type"] == "kernel_stdio":
                print(frame["data"], end="", flush=True)
            elif frame["type"] in ("error", "not_session_owner_error", "managed_process_exit"):
                print("server:", message, flush=True)

    async def follow_agent(self, agent: Any, run: Any) -> None:
        while True:
            message = json.loads(await agent.recv())
            if message["type"] == "agent_action":
                await self.answer(message, agent, run)
            elif message["type"] in ("agent_status", "agent_error"):
                print("agent:", message.get("status") or message["error"], flush=True)
            elif message["type"] == "eval_result":
                self.passed = message["passed"] is True
                print("verdict:", message["outcome"], "passed" if self.passed else "not passed", message["score"], flush=True)
                return

    async def answer(self, request: Json, agent: Any, run: Any) -> None:
        """Answer first, and then have the cell run: the agent does not wait for the kernel."""
        print("agent:", request["action"], json.dumps(request["params"]), flush=True)
        behind: Optional[Json] = None
        try:
            fields, behind = self.notebook.perform(request["action"], request["params"])
            fields["status"] = "success"
        except Refusal as refusal:
            fields = {"status": "error", "error": str(refusal)}
        if request.get("tx_id"):
            await send(agent, type="agent_action_response", tx_id=request["tx_id"], **fields)
        if behind is not None:
            await send(run, **behind)


async def send(connection: Any, **message: Any) -> None:
    await connection.send(json.dumps(message))


def main() -> int:
    parser = argparse.ArgumentParser(description="Holds the notebook of a session of assay serve.")
    parser.add_argument("url", nargs="?", default="http://localhost:8765")
    parser.add_argument("--session", default="default")
    parser.add_argument("--token", default="local-dev-token")
    console = Console(**vars(parser.parse_args()))
    try:
        asyncio.run(console.attend())
    except (websockets.ConnectionClosed, OSError) as end:
        print("the connection has ended:", end, file=sys.stderr)
    return 0 if console.passed else 1


if __name__ == "__main__":
    sys.exit(main())
