"""A console: python3 console.py [URL] [--session ID]

It holds the notebook of a session of `assay serve`: it answers the agent's
actions, runs cells, and prints what happens. With a case attached it ends with
the verdict. The server's token is ASSAY_TOKEN. Exit status: 0 if the case
passed, otherwise 1.
"""

import argparse
import asyncio
import json
import os
import secrets
import sys
import uuid
from typing import Any, Optional

import websockets

Json = dict[str, Any]
# Fields of the answer to an action, and the frame to send to the kernel after it, if any.
ActionOutcome = tuple[Json, Optional[Json]]
MAX_MESSAGE_BYTES = 64 << 20


class ActionError(Exception):
    """An action cannot be carried out; the notebook is unchanged. The text says why."""


class Notebook:
    """The cells in order, each as get_context shows it."""

    def __init__(self) -> None:
        self.cells: list[Json] = []
        self.running_ids: set[str] = set()  # ids of cells whose run has started

    def perform_action(self, action: str, params: Json) -> ActionOutcome:
        """Carry out an action of the agent; raises ActionError."""
        if action == "get_context":
            cells = [{**cell, "index": index} for index, cell in enumerate(self.cells)]
            return {"context": {"cell_count": len(cells), "notebook_name": "console.py", "cells": cells}}, None
        if action == "set_widget":
            key = require_text(params, "key")
            return {"key": key}, {"type": "set_widget_value", "data": {key: require_text(params, "value")}}
        if action == "create_cell":
            return self.create_cell(params, params.get("cell_type", "code"))
        if action == "create_markdown_cell":
            return self.create_cell(params, "markdown")
        return self.change_cell(action, self.find_cell(require_text(params, "cell_id")), params)

    def create_cell(self, params: Json, kind: Any) -> ActionOutcome:
        position, source = require_position(params, len(self.cells)), require_text(params, "source")
        if kind not in ("code", "markdown"):
            raise ActionError(f"cell_type: expected code or markdown, found {kind!r}")
        cell_id, title = uuid.uuid4().hex, params.get("title") or ""
        cell = {"cell_id": cell_id, "tf_id": cell_id, "cell_type": kind, "source": source, "display_name": title,
                "metadata": {}, "language": "python", "status": "idle", "widgets": []}  # fmt: skip
        self.cells.insert(position, cell)
        return {"cell_id": cell_id, "tf_id": cell_id}, self.run_request(cell) if params.get("auto_run") else None

    def change_cell(self, action: str, cell: Json, params: Json) -> ActionOutcome:
        answer = {"cell_id": cell["cell_id"]}
        if action == "edit_cell":
            cell["source"] = require_text(params, "source")
            return answer, self.run_request(cell) if params.get("auto_run") else None
        if action == "move_cell":
            position = require_position(params, len(self.cells) - 1)
            self.cells.remove(cell)
            self.cells.insert(position, cell)
            return answer, None
        if action == "delete_cell":
            self.cells.remove(cell)
            remaining = [{"index": index, "cell_type": c["cell_type"], "cell_id": c["cell_id"]} for index, c in enumerate(self.cells)]
            return {"cell_count": len(remaining), "remaining_cells": remaining}, {"type": "dispose_cell", **answer}
        if action == "stop_cell":
            return answer, {"type": "stop_cell", **answer}
        if action != "run_cell":
            raise ActionError(f"unknown action {action!r}")
        if cell["cell_type"] != "code":
            raise ActionError("cell_id: a Markdown cell cannot be run")
        return answer, self.run_request(cell)

    def find_cell(self, cell_id: str) -> Json:
        for cell in self.cells:
            if cell["cell_id"] == cell_id:
                return cell
        raise ActionError(f"cell_id: there is no cell {cell_id!r}")

    def run_request(self, cell: Json) -> Optional[Json]:
        """Return the frame that runs a cell, None for Markdown."""
        if cell["cell_type"] != "code":
            return None
        cell["status"] = "running"
        return {"type": "run_cell", "cell_id": cell["cell_id"], "code": cell["source"]}

    def handle_kernel_frame(self, frame: Json) -> None:
        """Update the cells by a frame of the kernel."""
        frame_type, of_cell = frame["type"], frame.get("cell_id")
        for cell in self.cells:
            cell_id = cell["cell_id"]
            if frame_type == "run_queue" and cell_id in frame["queue"]:
                cell["status"] = "running"
            elif frame_type == "start_cell" and of_cell is None and cell_id in self.running_ids:  # the kernel is idle
                self.running_ids.remove(cell_id)
                cell["status"] = "ran"
            elif frame_type == "start_cell" and of_cell == cell_id:
                self.running_ids.add(cell_id)
                cell.update(status="running", widgets=[])
            elif frame_type == "cell_result" and of_cell == cell_id:
                self.running_ids.discard(cell_id)
                cell["status"] = "error" if frame.get("exception") or frame.get("status") != "ok" else "ran"
            elif frame_type == "cell_widgets" and of_cell == cell_id:
                states = frame["widget_state"].items()
                cell["widgets"] = [{**state, "key": key if "/" in key else f"{cell_id}/{key}"} for key, state in states]


def require_text(params: Json, name: str) -> str:
    if not isinstance(params.get(name), str):
        raise ActionError(f"{name}: expected text, found {params.get(name)!r}")
    return params[name]


def require_position(params: Json, last: int) -> int:
    position = params.get("position")
    if type(position) is not int or not 0 <= position <= last:
        raise ActionError(f"position: expected 0 to {last}, found {position!r}")
    return position


class Console:
    def __init__(self, url: str, session: str, token: str) -> None:
        self.url, self.session, self.token = url.replace("http", "ws", 1).rstrip("/"), session, token
        self.notebook, self.passed = Notebook(), False

    def connect(self, endpoint: str) -> Any:
        return websockets.connect(f"{self.url}/{endpoint}?session={self.session}", max_size=MAX_MESSAGE_BYTES)

    async def hold_notebook(self) -> None:
        """Hold the notebook until the verdict comes; raises if a connection ends first."""
        async with self.connect("run") as run, self.connect("agent") as agent:
            await send(run, token=self.token, notebook_id="console.py")
            connection_idx = json.loads(await run.recv())["connection_idx"]
            run_reader = asyncio.create_task(self.read_run_frames(run))
            await send(agent, type="init", session_id=secrets.randbelow(1 << 31), token=self.token, connection_idx=connection_idx)
            try:
                await self.read_agent_frames(agent, run)
            finally:
                run_reader.cancel()
                await asyncio.gather(run_reader, return_exceptions=True)

    async def read_run_frames(self, run: Any) -> None:
        async for message in run:
            frame = json.loads(message)
            self.notebook.handle_kernel_frame(frame)
            if frame["type"] == "kernel_stdio":
                print(frame["data"], end="", flush=True)
            elif frame["type"] in ("error", "not_session_owner_error", "managed_process_exit"):
                print("server:", message, flush=True)

    async def read_agent_frames(self, agent: Any, run: Any) -> None:
        while True:
            message = json.loads(await agent.recv())
            if message["type"] == "agent_action":
                await self.answer_action(message, agent, run)
            elif message["type"] in ("agent_status", "agent_error"):
                print("agent:", message.get("status") or message["error"], flush=True)
            elif message["type"] == "eval_result":
                self.passed = message["passed"] is True
                print("verdict:", message["outcome"], "passed" if self.passed else "not passed", message["score"], flush=True)
                return

    async def answer_action(self, request: Json, agent: Any, run: Any) -> None:
        """Answer an action first and then run the cell: the agent does not wait for the kernel."""
        print("agent:", request["action"], json.dumps(request["params"]), flush=True)
        kernel_request: Optional[Json] = None
        try:
            fields, kernel_request = self.notebook.perform_action(request["action"], request["params"])
            fields["status"] = "success"
        except ActionError as error:
            fields = {"status": "error", "error": str(error)}
        if request.get("tx_id"):
            await send(agent, type="agent_action_response", tx_id=request["tx_id"], **fields)
        if kernel_request is not None:
            await send(run, **kernel_request)


async def send(connection: Any, **message: Any) -> None:
    await connection.send(json.dumps(message))


def main() -> int:
    parser = argparse.ArgumentParser(description="Hold the notebook of a session of assay serve.")
    parser.add_argument("url", nargs="?", default="http://localhost:8765")
    parser.add_argument("--session", default="default")
    token = os.environ.get("ASSAY_TOKEN", "local-dev-token")  # that of EVAL_SANDBOX=1
    console = Console(**vars(parser.parse_args()), token=token)
    try:
        asyncio.run(console.hold_notebook())
    except (websockets.ConnectionClosed, OSError) as end:
        print("the connection has ended:", end, file=sys.stderr)
    return 0 if console.passed else 1


if __name__ == "__main__":
    sys.exit(main())
