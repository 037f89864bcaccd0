"""The agent's end of Assay's wire, in one file of the standard library.

Copy it beside your agent, or put its folder on PYTHONPATH. An agent is then

    import asyncio
    from assay_agent import connect

    async def work(agent, query):
        run = await agent.create_and_run("print(sum(range(10)))")
        agent.submit('<EVAL_ANSWER>{"total": %s}</EVAL_ANSWER> [EVAL_COMPLETE]' % run["logs"])

    async def main():
        async with connect() as agent:
            await agent.serve(work)

    asyncio.run(main())

and is started by ``assay run cases.json --agent 'python3 my_agent.py'``.

Everything here belongs to one event loop and is not safe to use from another
thread. What blocks, such as a call of a model by urllib, goes into
``asyncio.to_thread``. Python 3.9 and up.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
import sys
import traceback
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Optional, Union

__all__ = ["Agent", "Query", "connect"]

Json = dict[str, Any]
Content = Union[str, list[Json]]  # a text, or content blocks of the Messages API

OPERATION_S = 10.0  # how long an operation may take
CELL_S = 300.0  # how long a run is waited for, unless the session has a limit for cells
GRACE_S = 2.0  # how much longer than the server an execute_code is waited for

_UNWRITABLE = (TypeError, ValueError, RecursionError)  # what json.dumps raises


@dataclass(frozen=True)
class Query:
    """What the agent is asked to do."""

    text: str
    request_id: str
    files: list[Json] = field(default_factory=list)  # {type, path, id, local_path} each

    def prompt(self) -> str:
        """The text with the files behind it, as a model may be told."""
        if not self.files:
            return self.text
        return f"{self.text}\n\n<ContextualNodeData>{json.dumps(self.files)}</ContextualNodeData>"


Work = Callable[["Agent", Query], Awaitable[None]]


@contextlib.asynccontextmanager
async def connect(fd: Optional[int] = None) -> AsyncIterator[Agent]:
    """Connect to the server and say ready.

    fd is the number of the inherited socket; None is the last argument of the
    program. The socket is closed at the end.
    """
    if fd is None:
        try:
            fd = int(sys.argv[-1])
        except ValueError:
            sys.exit("the last argument must be the number of a socket: start this with assay run --agent 'python3 …'")
    reader, writer = await asyncio.open_unix_connection(sock=socket.socket(fileno=fd))
    agent = Agent(reader, writer)
    agent._send(type="ready")
    listening = asyncio.create_task(agent._listen())
    try:
        yield agent
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


class Agent:
    """A connection to the server. Make one by connect()."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.session_id = 0
        self.evaluation = False  # there is a case, and nobody to ask
        self.limits: Json = {}  # wall_s, cell_s, turns, actions, tokens, cost_usd, as far as there are any
        self.language = "python"  # of the kernel
        self._reader, self._writer = reader, writer
        self._pending: dict[str, asyncio.Future[Json]] = {}
        self._runs = _Runs()
        self._queries: asyncio.Queue[Optional[Query]] = asyncio.Queue()  # None: the connection has ended
        self._regrets: dict[str, Callable[[Json], None]] = {}  # what is done with answers that come too late
        self._working: Optional[tuple[str, asyncio.Task[None]]] = None  # request_id of the query, and the work on it
        self._waiting: dict[str, bool] = {}  # request_ids of queries that wait for their turn: whether they were cancelled
        self._ends_as = "done"
        self._submitted = 0

    # What an agent does.

    async def serve(self, work: Work) -> None:
        """Call work with each query, one after the other, until the server closes the connection.

        When work returns the turn is over; when it raises, the query ends with
        the exception as a fatal error. A cancel raises CancelledError in it, and
        stops the cells and the code that it started. Queries are worked on in
        their order.
        """
        while (query := await self._queries.get()) is not None:
            task = asyncio.create_task(self._one(work, query))
            self._working = (query.request_id, task)
            if self._waiting.pop(query.request_id, False):
                task.cancel()
            await asyncio.wait([task])
            self._working = None
            if task.cancelled():
                self._tidy_up()

    async def atomic_operation(self, action: str, params: Optional[Json] = None, timeout: float = OPERATION_S) -> Json:
        """Carry out an action in the notebook and return the answer.

        The answer has status, "success" or "error"; with "error" also error, the
        reason. An operation without an answer within timeout seconds, and params
        that are no JSON, give the status "error" as well: only a cancel raises.
        """
        return await self._operate(action, params or {}, timeout)

    async def create_and_run(self, source: str, position: Optional[int] = None) -> Json:
        """Create a code cell, at the end unless position says where, and run it; see run_cell."""
        if position is None:
            context = await self.atomic_operation("get_context")
            if context["status"] != "success":
                return context
            position = context["context"]["cell_count"]
        params = {"position": position, "cell_type": "code", "source": source, "auto_run": True}
        return await self._run("create_cell", params, None)

    async def edit_and_run(self, cell_id: str, source: str) -> Json:
        """Replace the source of a cell and run it; see run_cell."""
        return await self._run("edit_cell", {"cell_id": cell_id, "source": source, "auto_run": True}, cell_id)

    async def run_cell(self, cell_id: str) -> Json:
        """Run a cell and wait for its end.

        The result has cell_id; status "ok", "error" or "interrupted"; logs, what
        it printed; exception, the traceback of one that failed; cell_outputs,
        nbformat outputs. After the session's limit for cells (300 s if it has
        none) the status is "running", and the cell goes on. An operation that
        failed gives its answer, with an error; then the cell did not run.
        """
        return await self._run("run_cell", {"cell_id": cell_id}, cell_id)

    async def move_cell(self, cell_id: str, position: int) -> Json:
        """Move a cell to position, its place afterwards: 0 to the number of cells - 1. The answer has status."""
        return await self.atomic_operation("move_cell", {"cell_id": cell_id, "position": position})

    async def execute(self, code: str, timeout_s: Optional[float] = None) -> Json:
        """Run code in the kernel without a cell.

        The answer has status, result (the repr of the last value, or None),
        stdout, stderr, and exception, the traceback of code that failed. Code that
        nobody waits for any longer, because of a cancel, is interrupted.
        """
        params: Json = {"code": code}
        if timeout_s is not None:
            params["timeout_s"] = timeout_s
        tx_id = _new_tx_id()
        try:
            return await self._operate("execute_code", params, (timeout_s or self._cell_limit()) + GRACE_S, tx_id=tx_id)
        except asyncio.CancelledError:
            self._stop(agent_tx_id=tx_id)
            raise

    def submit(self, summary: str, next_status: str = "done", **more: Any) -> None:
        """Hand in the answer.

        In an evaluation the task says what form the summary must have. With
        next_status awaiting_user_response it is a question.
        """
        self._submitted += 1
        call = {"type": "tool_use", "id": f"toolu_submit_{self._submitted}", "name": "submit_response"}
        self._ends_as = next_status
        self.entry("assistant", [{**call, "input": {"summary": summary, "next_status": next_status, **more}}])

    def entry(self, role: str, content: Content, usage: Optional[Json] = None) -> None:
        """Add a message to the conversation that is kept.

        role is "user" or "assistant". usage is what the call of a model took, with
        the names of the Messages API: input_tokens, output_tokens,
        cache_read_input_tokens, cache_creation_input_tokens.
        """
        entry: Json = {"type": "anthropic_message", "role": role, "content": content, "timestamp": _now()}
        if usage is not None:
            entry["usage"] = usage
        self._send(type="agent_history_updated", session_id=str(self.session_id), entry=entry)

    def usage(self, input_tokens: int, output_tokens: int, cost_usd: Optional[float] = None, **more: int) -> None:
        """Tell what the model has taken so far, all calls added up.

        cost_usd is None when the price is not known. more may name
        cache_read_input_tokens, cache_creation_input_tokens and context_limit.
        """
        counts: Json = {"input_tokens": input_tokens, "output_tokens": output_tokens, **more}
        if cost_usd is not None:
            counts["cost_usd"] = cost_usd
        for name in ("cache_read_input_tokens", "cache_creation_input_tokens", "context_limit"):
            counts.setdefault(name, 0)
        self._send(type="agent_usage_update", **counts)

    def status(self, status: str) -> None:
        """Tell what the agent is doing: thinking, executing, …"""
        self._send(type="agent_status", status=status)

    def error(self, text: str, fatal: bool = False) -> None:
        """Tell of a failure. After a fatal one the query is not worked on further."""
        self._send(type="agent_error", error=text, fatal=fatal)

    # How it does it.

    async def _one(self, work: Work, query: Query) -> None:
        self._ends_as = "done"
        self.status("thinking")
        try:
            await work(self, query)
            self.status(self._ends_as)
        except Exception as problem:  # whatever the agent's own code does wrong
            traceback.print_exc()
            self.error(f"{type(problem).__name__}: {problem}", fatal=True)
            if not self.evaluation:
                self.status("ready")

    def _tidy_up(self) -> None:
        """End a query that was cancelled: stop what it left running."""
        for cell_id in self._runs.open():
            self._stop(cell_id=cell_id)
        self._send(type="agent_event", channel="ai", mode="NL", text="the query was cancelled", metadata={"type": "cancelled"})
        self.status("ready")

    async def _operate(
        self, action: str, params: Json, timeout: float, regret: Optional[Callable[[Json], None]] = None, tx_id: Optional[str] = None
    ) -> Json:
        """Carry out an action. When this is cancelled, an answer that comes later goes to regret."""
        tx_id = tx_id or _new_tx_id()
        answer = self._pending[tx_id] = asyncio.get_running_loop().create_future()
        try:
            self._tell(action, params, tx_id)
            return await _within(timeout, answer)
        except asyncio.TimeoutError:
            return _failed(action, f"timed out after {timeout:g} seconds. No answer came: the operation did not complete.")
        except _UNWRITABLE as problem:
            return _failed(action, f"was not sent: its params are no JSON: {problem}")
        except asyncio.CancelledError:
            if regret is not None and answer.done():
                regret(answer.result())
            elif regret is not None:
                self._regrets[tx_id] = regret
            raise
        finally:
            self._pending.pop(tx_id, None)

    def _tell(self, action: str, params: Json, tx_id: str) -> None:
        self._send(type="agent_action", action=action, params=params, tx_id=tx_id)
        print(f"[agent] -> {action} {tx_id}", file=sys.stderr, flush=True)

    def _stop(self, **what: str) -> None:
        """Ask for an interrupt, of a cell_id or of the agent_tx_id of an execute_code, without waiting for it."""
        self._tell("stop_cell", what, _new_tx_id())

    async def _run(self, action: str, params: Json, cell_id: Optional[str]) -> Json:
        expected = self._runs.expect(cell_id)
        answer = None
        try:
            answer = await self._operate(action, params, OPERATION_S, self._stop_late)
        finally:
            if answer is None or answer["status"] != "success":
                self._runs.abandon(expected)
        if answer["status"] != "success":
            return answer
        self._runs.name(expected, answer["cell_id"])
        try:
            return await _within(self._cell_limit(), expected.ended)
        except asyncio.TimeoutError:
            return {"cell_id": answer["cell_id"], "status": "running", "logs": "", "exception": "", "cell_outputs": []}

    def _stop_late(self, answer: Json) -> None:
        """Stop the cell of a run that nobody waits for any longer."""
        if answer["status"] == "success":
            self._stop(cell_id=answer["cell_id"])

    def _cell_limit(self) -> float:
        return float(self.limits.get("cell_s") or CELL_S)

    def _send(self, **message: Any) -> None:
        body = json.dumps(message, allow_nan=False).encode()
        self._writer.write(struct.pack("<q", len(body)) + body)

    async def _receive(self) -> Json:
        (length,) = struct.unpack("<q", await self._reader.readexactly(8))
        message: Json = json.loads(await self._reader.readexactly(length))
        return message

    async def _listen(self) -> None:
        """Read for ever and never wait for who works."""
        try:
            while True:
                self._take(await self._receive())
        except (asyncio.IncompleteReadError, OSError):
            pass  # nobody is there any more to work for
        except Exception:
            traceback.print_exc()
        finally:
            for answer in self._pending.values():
                if not answer.done():
                    answer.set_result({"status": "error", "error": "OPERATION FAILED: the connection to the server has ended"})
            self._queries.put_nowait(None)
            if self._working is not None:
                self._working[1].cancel()

    def _take(self, message: Json) -> None:
        kind = message.get("type")
        if kind == "agent_action_response":
            self._answered(message)
        elif kind == "kernel_message":
            self._runs.observe(message["message"])
        elif kind == "init":
            self.session_id, self.evaluation = message.get("session_id", 0), bool(message.get("eval_mode"))
            self.limits, self.language = message.get("limits") or {}, message.get("language") or "python"
            self.status("ready")
        elif kind == "agent_query":
            query = Query(message["query"], message.get("request_id", ""), message.get("contextual_node_data") or [])
            self._waiting[query.request_id] = False
            self._queries.put_nowait(query)
        elif kind == "agent_cancel":
            self._cancel(message.get("request_id", ""))

    def _answered(self, message: Json) -> None:
        """Take an answer to whoever waits. One that is late, or a second one, changes nothing."""
        tx_id = message.get("tx_id", "")
        answer = self._pending.get(tx_id)
        if answer is not None and not answer.done():
            answer.set_result(message)
        elif regret := self._regrets.pop(tx_id, None):
            regret(message)

    def _cancel(self, request_id: str) -> None:
        """End a query: the one of that id, or, without one, the one that is worked on."""
        if self._working is not None and request_id in ("", self._working[0]):
            self._working[1].cancel()
        elif request_id in self._waiting:
            self._waiting[request_id] = True


class _Expected:
    """A run that was asked for."""

    def __init__(self, cell_id: Optional[str], foreign: Optional[int]) -> None:
        self.cell_id = cell_id  # None: of a cell that is being created
        self.foreign = foreign  # the run that was under way when this one was asked for
        self.ended: asyncio.Future[Json] = asyncio.get_running_loop().create_future()


class _Runs:
    """Which results of the kernel belong to which requests.

    A result is of a request when its run began after the request. It may come
    before the answer to the request, and so before the id of a new cell is known.
    """

    def __init__(self) -> None:
        self._begun: dict[str, int] = {}  # cell: the run that is under way
        self._expected: list[_Expected] = []
        self._early: dict[str, Json] = {}  # results of unknown cells, while a cell is being created

    def expect(self, cell_id: Optional[str]) -> _Expected:
        expected = _Expected(cell_id, self._begun.get(cell_id) if cell_id else None)
        self._expected.append(expected)
        return expected

    def name(self, expected: _Expected, cell_id: str) -> None:
        expected.cell_id = cell_id
        if cell_id in self._early and not expected.ended.done():
            self._finish(expected, self._early[cell_id])
        self._forget_early()

    def abandon(self, expected: _Expected) -> None:
        if expected in self._expected:
            self._expected.remove(expected)
        self._forget_early()

    def open(self) -> list[str]:
        return [e.cell_id for e in self._expected if e.cell_id]

    def observe(self, message: Json) -> None:
        cell_id = message.get("cell_id")
        if not cell_id:
            return
        if message.get("type") == "start_cell":
            self._begun[cell_id] = message["run_sequencer"]
        elif message.get("type") == "cell_result":
            self._begun.pop(cell_id, None)
            self._settle(cell_id, message)

    def _settle(self, cell_id: str, result: Json) -> None:
        for expected in list(self._expected):
            if expected.cell_id == cell_id and expected.foreign != result["run_sequencer"]:
                self._finish(expected, result)
                return
        if any(e.cell_id is None for e in self._expected):
            self._early[cell_id] = result

    def _finish(self, expected: _Expected, result: Json) -> None:
        if expected in self._expected:
            self._expected.remove(expected)
        if not expected.ended.done():
            expected.ended.set_result(result)

    def _forget_early(self) -> None:
        if not any(e.cell_id is None for e in self._expected):
            self._early.clear()


def _failed(action: str, how: str) -> Json:
    return {"status": "error", "error": f"OPERATION FAILED: '{action}' {how}"}


def _new_tx_id() -> str:
    return "tx_" + uuid.uuid4().hex[:12]


async def _within(timeout: float, answer: asyncio.Future[Json]) -> Json:
    """Wait for an answer. Unlike asyncio.wait_for it never loses a cancel that comes together with the answer."""
    done, _ = await asyncio.wait([answer], timeout=timeout)
    if not done:
        raise asyncio.TimeoutError
    return answer.result()


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")
