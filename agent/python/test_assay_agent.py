"""Tests of assay_agent. Run: python3 -m unittest test_assay_agent.

The test plays the server at the other end of the socket.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import random
import socket
import struct
import subprocess
import sys
import unittest
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Optional

from assay_agent import Agent, Query, connect

Json = dict[str, Any]
Work = Callable[[Agent, Query], Awaitable[None]]
MESSAGE_TIMEOUT_S = 30.0  # for a message that must come


class FakeServer:
    """Sends messages to the agent, and collects what the agent sends."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.received: list[Json] = []

    def send_message(self, **message: Any) -> None:
        self.send_body(json.dumps(message).encode())

    def send_body(self, body: bytes) -> None:
        self._writer.write(struct.pack("<q", len(body)) + body)

    async def receive_message(self, kind: Optional[str] = None) -> Json:
        """Return the next message, of a type if kind is set. Messages before it are kept in received."""
        while True:
            (length,) = struct.unpack("<q", await asyncio.wait_for(self._reader.readexactly(8), MESSAGE_TIMEOUT_S))
            message: Json = json.loads(await self._reader.readexactly(length))
            self.received.append(message)
            if kind in (None, message["type"]):
                return message

    async def receive_action(self, name: str) -> Json:
        """Return the next agent_action with this name."""
        while True:
            message = await self.receive_message("agent_action")
            if message["action"] == name:
                return message

    async def await_status(self, status: str) -> None:
        """Wait until the agent reports a status."""
        while (await self.receive_message("agent_status"))["status"] != status:
            pass

    def answer_action(self, action: Json, **fields: Any) -> None:
        self.send_message(type="agent_action_response", tx_id=action["tx_id"], **{"status": "success", **fields})

    def start_cell(self, cell_id: str, run: int) -> None:
        """Send the agent the message that run number run of a cell has started."""
        self.send_message(type="kernel_message", message={"type": "start_cell", "cell_id": cell_id, "run_sequencer": run})

    def end_cell(self, cell_id: str, run: int, logs: str = "") -> None:
        """Send the agent the message that run number run of a cell has ended."""
        result = {"type": "cell_result", "cell_id": cell_id, "run_sequencer": run, "status": "ok", "logs": logs, "cell_outputs": []}
        self.send_message(type="kernel_message", message=result)

    def close(self) -> None:
        self._writer.close()


@contextlib.asynccontextmanager
async def run_agent(work: Work, limits: Optional[Json] = None) -> AsyncIterator[FakeServer]:
    """Run an agent that has got its init message, and yield its server."""
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_unix_connection(sock=ours)
    server = FakeServer(reader, writer)

    async def serve() -> None:
        async with connect(theirs.detach()) as agent:
            await agent.serve(work)

    serving = asyncio.create_task(serve())
    with contextlib.redirect_stderr(io.StringIO()):
        assert (await server.receive_message())["type"] == "ready", server.received
        server.send_message(type="init", session_id=3, eval_mode=True, limits=limits or {}, language="python")
        await server.await_status("ready")
        yield server
        server.close()
        await asyncio.wait_for(serving, MESSAGE_TIMEOUT_S)


class AgentTest(unittest.IsolatedAsyncioTestCase):
    async def test_query_with_a_cell_and_an_answer(self) -> None:
        async def work(agent: Agent, query: Query) -> None:
            self.assertTrue(agent.is_evaluation)
            self.assertEqual(agent.session_id, 3)
            run = await agent.create_and_run("6 * 7")
            agent.submit("it is " + run["logs"], plan="none")

        async with run_agent(work) as server:
            server.send_message(type="agent_query", query="what is it?", request_id="q1", contextual_node_data=[{"path": "a.csv"}])
            server.answer_action(await server.receive_action("get_context"), context={"cell_count": 2, "cells": []})
            create = await server.receive_action("create_cell")
            self.assertEqual(create["params"], {"position": 2, "cell_type": "code", "source": "6 * 7", "auto_run": True})
            server.start_cell("c1", 1)
            server.end_cell("c1", 1, "42")  # before the answer
            server.answer_action(create, cell_id="c1")
            entry = (await server.receive_message("agent_history_updated"))["entry"]
            self.assertEqual((entry["type"], entry["role"]), ("anthropic_message", "assistant"))
            call = entry["content"][0]
            self.assertEqual((call["type"], call["name"]), ("tool_use", "submit_response"))
            self.assertEqual(call["input"], {"summary": "it is 42", "next_status": "done", "plan": "none"})
            await server.await_status("done")

    async def test_prompt_lists_files(self) -> None:
        self.assertEqual(Query("do it", "q").prompt(), "do it")
        prompt = Query("do it", "q", [{"path": "a.csv"}]).prompt()
        self.assertEqual(prompt, 'do it\n\n<ContextualNodeData>[{"path": "a.csv"}]</ContextualNodeData>')

    async def test_concurrent_operations(self) -> None:
        """Each concurrent operation gets its own answer, even if answers come out of order, twice or with unknown ids."""
        got: list[str] = []

        async def work(agent: Agent, _: Query) -> None:
            answers = await asyncio.gather(*(agent.atomic_operation("get_global_info", {"key": str(n)}) for n in range(200)))
            got.extend(answer["info"] for answer in answers)

        async with run_agent(work) as server:
            server.send_message(type="agent_query", query="go", request_id="q")
            asked = [await server.receive_action("get_global_info") for _ in range(200)]
            self.assertEqual(len({action["tx_id"] for action in asked}), 200)
            random.Random(1).shuffle(asked)
            for action in asked:
                server.send_message(type="agent_action_response", tx_id="tx_nobody", status="success", info="foreign")
                server.answer_action(action, info=action["params"]["key"])
                server.answer_action(action, info="twice")
            await server.await_status("done")
        self.assertEqual(got, [str(n) for n in range(200)])

    async def test_operation_times_out(self) -> None:
        got: list[Json] = []

        async def work(agent: Agent, _: Query) -> None:
            got.append(await agent.atomic_operation("get_context", timeout=0.01))
            got.append(await agent.atomic_operation("get_context"))

        async with run_agent(work) as server:
            server.send_message(type="agent_query", query="go", request_id="q")
            late = await server.receive_action("get_context")
            second = await server.receive_action("get_context")
            server.answer_action(late, context="late")
            server.answer_action(second, context="second")
            await server.await_status("done")
        self.assertEqual(got[0]["status"], "error")
        self.assertTrue(got[0]["error"].startswith("OPERATION FAILED: 'get_context' timed out after 0.01 seconds"), got[0])
        self.assertEqual(got[1]["context"], "second")

    async def test_move_cell(self) -> None:
        got: list[Json] = []

        async def work(agent: Agent, _: Query) -> None:
            got.append(await agent.move_cell("c1", 2))
            got.append(await agent.move_cell("c1", 9))

        async with run_agent(work) as server:
            server.send_message(type="agent_query", query="go", request_id="q")
            move = await server.receive_action("move_cell")
            self.assertEqual(move["params"], {"cell_id": "c1", "position": 2})
            server.answer_action(move, cell_id="c1")
            server.answer_action(await server.receive_action("move_cell"), status="error", error="position: found 9")
            await server.await_status("done")
        self.assertEqual([answer["status"] for answer in got], ["success", "error"])

    async def test_failed_run_does_not_wait(self) -> None:
        got: list[Json] = []

        async def work(agent: Agent, _: Query) -> None:
            got.append(await agent.run_cell("c9"))

        async with run_agent(work) as server:
            server.send_message(type="agent_query", query="go", request_id="q")
            server.answer_action(await server.receive_action("run_cell"), status="error", error="there is no cell c9")
            await server.await_status("done")
        self.assertEqual((got[0]["status"], got[0]["error"]), ("error", "there is no cell c9"))

    async def test_earlier_run_is_not_ours(self) -> None:
        got: list[Json] = []

        async def work(agent: Agent, _: Query) -> None:
            await agent.atomic_operation("get_context")
            got.append(await agent.edit_and_run("c1", "2"))

        async with run_agent(work) as server:
            server.start_cell("c1", 1)
            server.send_message(type="agent_query", query="go", request_id="q")
            server.answer_action(await server.receive_action("get_context"), context={})
            edit = await server.receive_action("edit_cell")
            server.answer_action(edit, cell_id="c1")
            server.end_cell("c1", 1, "theirs")
            server.start_cell("c1", 2)
            server.end_cell("c1", 2, "ours")
            await server.await_status("done")
        self.assertEqual(got[0]["logs"], "ours")

    async def test_run_past_the_cell_limit(self) -> None:
        got: list[Json] = []

        async def work(agent: Agent, _: Query) -> None:
            got.append(await agent.run_cell("c1"))

        async with run_agent(work, {"cell_s": 0.01}) as server:
            server.send_message(type="agent_query", query="go", request_id="q")
            server.answer_action(await server.receive_action("run_cell"), cell_id="c1")
            await server.await_status("done")
        self.assertEqual((got[0]["cell_id"], got[0]["status"]), ("c1", "running"))

    async def test_cancel(self) -> None:
        """A cancel ends the work, stops its cell, and the next query is handled."""
        queries: list[str] = []

        async def work(agent: Agent, query: Query) -> None:
            queries.append(query.text)
            if query.text == "first":
                await agent.run_cell("c1")

        async with run_agent(work) as server:
            server.send_message(type="agent_query", query="first", request_id="q1")
            server.send_message(type="agent_query", query="second", request_id="q2")
            server.send_message(type="agent_query", query="third", request_id="q3")
            server.answer_action(await server.receive_action("run_cell"), cell_id="c1")
            server.send_message(type="agent_cancel", request_id="q2")  # which is still queued
            server.send_message(type="agent_cancel", request_id="q1")
            self.assertEqual((await server.receive_action("stop_cell"))["params"], {"cell_id": "c1"})
            event = await server.receive_message("agent_event")
            self.assertEqual(event["metadata"], {"type": "cancelled"})
            await server.await_status("done")
        self.assertEqual([text for text in queries if text != "second"], ["first", "third"])
        self.assertEqual(sum(m["type"] == "agent_event" for m in server.received), 2)

    async def test_cancel_interrupts_execute_code(self) -> None:
        async def work(agent: Agent, query: Query) -> None:
            if query.text == "first":
                await agent.execute_code("while True: pass")

        async with run_agent(work) as server:
            server.send_message(type="agent_query", query="first", request_id="q1")
            code = await server.receive_action("execute_code")
            server.send_message(type="agent_cancel", request_id="q1")
            self.assertEqual((await server.receive_action("stop_cell"))["params"], {"agent_tx_id": code["tx_id"]})
            await server.await_status("ready")
            server.answer_action(code, status="error", error="interrupted")  # no call awaits it
            server.send_message(type="agent_query", query="second", request_id="q2")
            await server.await_status("done")

    async def test_cancel_of_an_ended_query(self) -> None:
        """A cancel of a query that has ended changes nothing, and does not affect later queries."""
        queries: list[str] = []
        kept: list[int] = []

        async def work(agent: Agent, query: Query) -> None:
            queries.append(query.text)
            kept.append(sum(len(value) for value in vars(agent).values() if isinstance(value, (dict, set)) and value is not agent.limits))

        async with run_agent(work) as server:
            for text in ("first", "second", "third"):
                server.send_message(type="agent_query", query=text, request_id="q1")
                await server.await_status("done")
                server.send_message(type="agent_cancel", request_id="q1")
                server.send_message(type="agent_cancel", request_id="unknown")
        self.assertEqual((queries, kept), (["first", "second", "third"], [0, 0, 0]))

    async def test_params_that_are_no_json(self) -> None:
        got: list[Json] = []
        circle: Json = {}
        circle["circle"] = circle

        async def work(agent: Agent, _: Query) -> None:
            for value in (object(), float("nan"), circle):
                got.append(await agent.atomic_operation("get_global_info", {"key": value}))
            got.append(await agent.atomic_operation("get_context"))

        async with run_agent(work) as server:
            server.send_message(type="agent_query", query="go", request_id="q")
            server.answer_action(await server.receive_action("get_context"), context="fine")
            await server.await_status("done")
            self.assertEqual(sum(m["type"] == "agent_action" for m in server.received), 1)
        for answer in got[:3]:
            self.assertEqual(answer["status"], "error")
            self.assertTrue(answer["error"].startswith("OPERATION FAILED: 'get_global_info' was not sent: its params are no JSON: "), answer)
        self.assertEqual(got[3]["context"], "fine")

    async def test_cell_created_after_a_cancel_is_stopped(self) -> None:
        async def work(agent: Agent, _: Query) -> None:
            await agent.create_and_run("while True: pass", position=0)

        async with run_agent(work) as server:
            server.send_message(type="agent_query", query="go", request_id="q")
            create = await server.receive_action("create_cell")
            server.send_message(type="agent_cancel", request_id="")
            await server.await_status("ready")
            server.answer_action(create, cell_id="c7")
            self.assertEqual((await server.receive_action("stop_cell"))["params"], {"cell_id": "c7"})

    async def test_work_that_raises(self) -> None:
        async def work(_: Agent, query: Query) -> None:
            if query.text == "first":
                raise ValueError("no such thing")

        async with run_agent(work) as server:
            server.send_message(type="agent_query", query="first", request_id="q1")
            failure = await server.receive_message("agent_error")
            self.assertEqual((failure["error"], failure["fatal"]), ("ValueError: no such thing", True))
            server.send_message(type="agent_query", query="second", request_id="q2")
            await server.await_status("done")

    async def test_server_closes_during_work(self) -> None:
        ended: list[str] = []

        async def work(agent: Agent, _: Query) -> None:
            try:
                await agent.execute_code("1")
            finally:
                ended.append("work")

        async with run_agent(work) as server:
            server.send_message(type="agent_query", query="go", request_id="q")
            await server.receive_action("execute_code")
        self.assertEqual(ended, ["work"])

    async def test_messages_that_cannot_be_handled(self) -> None:
        async def work(agent: Agent, _: Query) -> None:
            run = await agent.create_and_run("1")
            agent.submit("it is " + run["logs"])

        async with run_agent(work) as server:
            server.send_message(type="agent_query", query="go", request_id="q")
            server.answer_action(await server.receive_action("get_context"), context={"cell_count": 0, "cells": []})
            create = await server.receive_action("create_cell")
            server.answer_action(create, cell_id="c1")
            server.send_message(type="kernel_message")
            server.send_message(type="kernel_message", message={"type": "start_cell", "cell_id": ["c1"], "run_sequencer": 1})
            server.send_message(type="kernel_message", message={"type": "start_cell", "cell_id": "c2"})
            server.send_body(b'{"type": "kernel_message", "message": %s}' % (b"7" * 6000))
            server.send_body(b"{}[")
            server.start_cell("c1", 1)
            server.end_cell("c1", 1, "42")
            entry = (await server.receive_message("agent_history_updated"))["entry"]
            self.assertEqual(entry["content"][0]["input"]["summary"], "it is 42")
            await server.await_status("done")

    async def test_large_frames(self) -> None:
        got: list[int] = []

        async def work(agent: Agent, _: Query) -> None:
            answer = await agent.execute_code("x" * (5 << 20))
            got.append(len(answer["stdout"]))

        async with run_agent(work) as server:
            server.send_message(type="agent_query", query="go", request_id="q")
            action = await server.receive_action("execute_code")
            self.assertEqual(len(action["params"]["code"]), 5 << 20)
            server.answer_action(action, stdout="é" * (5 << 20))
            await server.await_status("done")
        self.assertEqual(got, [5 << 20])

    def test_started_without_a_socket(self) -> None:
        program = "import asyncio, assay_agent\nasync def main():\n    async with assay_agent.connect(): pass\nasyncio.run(main())"
        done = subprocess.run([sys.executable, "-c", program, "no number"], cwd=Path(__file__).parent, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("start this with assay run --agent", done.stderr)
        self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
