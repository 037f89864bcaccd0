"""Connects an agent to Assay, using only the standard library.

Copy this file beside your agent, or put its folder on PYTHONPATH. An agent is then

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

Everything here must be used in one event loop and one thread. Put blocking calls,
such as a request to a model with urllib, into ``asyncio.to_thread``. Needs Python
3.9 or newer.
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
Content = Union[str, list[Json]]  # text, or content blocks of the Messages API

OPERATION_TIMEOUT_S = 10.0  # for the answer to an operation
DEFAULT_CELL_TIMEOUT_S = 300.0  # for a run, if the session has no limit for cells
ANSWER_GRACE_S = 2.0  # how much longer than the server's limit to wait for the end of a cell or an execute_code

_JSON_ERRORS = (TypeError, ValueError, RecursionError)  # raised by json.dumps


@dataclass(frozen=True)
class Query:
    """A task or message for the agent."""

    text: str
    request_id: str
    files: list[Json] = field(default_factory=list)  # {type, path, id, local_path} each

    def prompt(self) -> str:
        """Return the text followed by the list of files, as a prompt for a model."""
        if not self.files:
            return self.text
        return f"{self.text}\n\n<ContextualNodeData>{json.dumps(self.files)}</ContextualNodeData>"


Work = Callable[["Agent", Query], Awaitable[None]]


@contextlib.asynccontextmanager
async def connect(fd: Optional[int] = None) -> AsyncIterator[Agent]:
    """Connect to the server and send ready.

    fd is the descriptor of the inherited socket. None means the last argument of
    the program; if that is not a number the program exits with a hint. The socket is
    closed at the end of the block.
    """
    if fd is None:
        try:
            fd = int(sys.argv[-1])
        except ValueError:
            sys.exit("the last argument must be the number of a socket: start this with assay run --agent 'python3 …'")
    reader, writer = await asyncio.open_unix_connection(sock=socket.socket(fileno=fd))
    agent = Agent(reader, writer)
    agent._send_message(type="ready")
    reading = asyncio.create_task(agent._read_messages())
    try:
        yield agent
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


class Agent:
    """A connection to the server, made by connect()."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.session_id = 0
        self.is_evaluation = False  # whether a case is graded, and no user can answer questions
        self.limits: Json = {}  # those that the session has of wall_s, cell_s, turns, actions, tokens, cost_usd
        self.language = "python"  # the kernel's
        self._reader, self._writer = reader, writer
        self._pending: dict[str, asyncio.Future[Json]] = {}  # awaited answers by tx_id
        self._runs = _RunTracker()
        self._queries: asyncio.Queue[Optional[Query]] = asyncio.Queue()  # None means that the connection has ended
        self._late_answers: dict[str, Callable[[Json], None]] = {}  # handlers of answers after a cancel, by tx_id
        self._current_query: Optional[tuple[str, asyncio.Task[None]]] = None  # request_id and task of the current query
        self._queued: dict[str, bool] = {}  # whether a queued query was cancelled, by request_id
        self._final_status = "done"  # sent when the current query ends
        self._submit_count = 0

    # For agents.

    async def serve(self, work: Work) -> None:
        """Call work with each query in order, until the server closes the connection.

        When work returns, the query has ended. When it raises, the exception is
        reported as a fatal error. When the server cancels a query, work gets a
        CancelledError, and the cells and code that it has started are stopped.
        """
        while (query := await self._queries.get()) is not None:
            task = asyncio.create_task(self._work_on_query(work, query))
            self._current_query = (query.request_id, task)
            if self._queued.pop(query.request_id, False):
                task.cancel()
            await asyncio.wait([task])
            self._current_query = None
            if task.cancelled():
                self._stop_leftover_cells()

    async def atomic_operation(self, action: str, params: Optional[Json] = None, timeout: float = OPERATION_TIMEOUT_S) -> Json:
        """Send an action to the server and return the answer.

        The answer has status, "success" or "error", and error, the reason, if it is
        "error". Without an answer within timeout seconds, or if params are no JSON,
        the status is "error" too. Only a cancel raises.
        """
        return await self._send_action_and_wait(action, params or {}, timeout)

    async def create_and_run(self, source: str, position: Optional[int] = None) -> Json:
        """Create a code cell at position, by default at the end, and run it; see run_cell."""
        if position is None:
            context = await self.atomic_operation("get_context")
            if context["status"] != "success":
                return context
            position = context["context"]["cell_count"]
        params = {"position": position, "cell_type": "code", "source": source, "auto_run": True}
        return await self._run_cell_and_wait("create_cell", params, None)

    async def edit_and_run(self, cell_id: str, source: str) -> Json:
        """Replace the source of a cell and run it; see run_cell."""
        return await self._run_cell_and_wait("edit_cell", {"cell_id": cell_id, "source": source, "auto_run": True}, cell_id)

    async def run_cell(self, cell_id: str) -> Json:
        """Run a cell and wait until it has ended.

        The result has cell_id; status: "ok", "error" or "interrupted"; logs: what the
        cell printed; exception: the traceback of an error; cell_outputs: its outputs in
        the notebook format. After the session's limit for cells (300 s if it has none)
        the status is "running", and the cell continues to run. If the operation itself
        fails, the result is its answer with status "error" and error, and the cell did
        not run.
        """
        return await self._run_cell_and_wait("run_cell", {"cell_id": cell_id}, cell_id)

    async def move_cell(self, cell_id: str, position: int) -> Json:
        """Move a cell so that its position is then position, counted from 0. The answer has status."""
        return await self.atomic_operation("move_cell", {"cell_id": cell_id, "position": position})

    async def execute_code(self, code: str, timeout_s: Optional[float] = None) -> Json:
        """Run code in the kernel without a cell.

        The answer has status; result: the repr of the last value, or None; stdout;
        stderr; and exception: the traceback of an error. timeout_s limits the run in
        seconds; None means the session's limit for cells. If this call is cancelled,
        the code is interrupted.
        """
        params: Json = {"code": code}
        if timeout_s is not None:
            params["timeout_s"] = timeout_s
        tx_id = _new_tx_id()
        try:
            return await self._send_action_and_wait("execute_code", params, (timeout_s or self._cell_timeout()) + ANSWER_GRACE_S, tx_id=tx_id)
        except asyncio.CancelledError:
            self._send_stop(agent_tx_id=tx_id)
            raise

    def submit(self, summary: str, next_status: str = "done", **more: Any) -> None:
        """Submit the answer to the query.

        In an evaluation the task says what the summary must contain. With next_status
        "awaiting_user_response" the summary is a question to the user. more are
        further fields of the submission.
        """
        self._submit_count += 1
        call = {"type": "tool_use", "id": f"toolu_submit_{self._submit_count}", "name": "submit_response"}
        self._final_status = next_status
        self.add_history_entry("assistant", [{**call, "input": {"summary": summary, "next_status": next_status, **more}}])

    def add_history_entry(self, role: str, content: Content, usage: Optional[Json] = None) -> None:
        """Add a message to the recorded conversation.

        role is "user" or "assistant". usage has the token counts of the model call, as
        in the Messages API: input_tokens, output_tokens, cache_read_input_tokens,
        cache_creation_input_tokens.
        """
        entry: Json = {"type": "anthropic_message", "role": role, "content": content, "timestamp": _timestamp_now()}
        if usage is not None:
            entry["usage"] = usage
        self._send_message(type="agent_history_updated", session_id=str(self.session_id), entry=entry)

    def report_usage(self, input_tokens: int, output_tokens: int, cost_usd: Optional[float] = None, **more: int) -> None:
        """Report the total usage of the model so far.

        cost_usd is None if the price is unknown. more may contain
        cache_read_input_tokens, cache_creation_input_tokens and context_limit.
        """
        counts: Json = {"input_tokens": input_tokens, "output_tokens": output_tokens, **more}
        if cost_usd is not None:
            counts["cost_usd"] = cost_usd
        for name in ("cache_read_input_tokens", "cache_creation_input_tokens", "context_limit"):
            counts.setdefault(name, 0)
        self._send_message(type="agent_usage_update", **counts)

    def report_status(self, status: str) -> None:
        """Report what the agent is doing, such as "thinking" or "executing"."""
        self._send_message(type="agent_status", status=status)

    def report_error(self, text: str, fatal: bool = False) -> None:
        """Report an error. A fatal one ends the query."""
        self._send_message(type="agent_error", error=text, fatal=fatal)

    # Implementation.

    async def _work_on_query(self, work: Work, query: Query) -> None:
        self._final_status = "done"
        self.report_status("thinking")
        try:
            await work(self, query)
            self.report_status(self._final_status)
        except Exception as problem:  # any error of the agent's code
            traceback.print_exc()
            self.report_error(f"{type(problem).__name__}: {problem}", fatal=True)
            if not self.is_evaluation:
                self.report_status("ready")

    def _stop_leftover_cells(self) -> None:
        """Stop the cells that a cancelled query has left running, and report the cancel."""
        for cell_id in self._runs.awaited_cells():
            self._send_stop(cell_id=cell_id)
        self._send_message(type="agent_event", channel="ai", mode="NL", text="the query was cancelled", metadata={"type": "cancelled"})
        self.report_status("ready")

    async def _send_action_and_wait(
        self, action: str, params: Json, timeout: float, on_late: Optional[Callable[[Json], None]] = None, tx_id: Optional[str] = None
    ) -> Json:
        """Send an action and return its answer. If this is cancelled, on_late gets a later answer."""
        tx_id = tx_id or _new_tx_id()
        answer = self._pending[tx_id] = asyncio.get_running_loop().create_future()
        try:
            self._send_action(action, params, tx_id)
            return await _await_answer(timeout, answer)
        except asyncio.TimeoutError:
            return _failed_answer(action, f"timed out after {timeout:g} seconds. No answer came: the operation did not complete.")
        except _JSON_ERRORS as problem:
            return _failed_answer(action, f"was not sent: its params are no JSON: {problem}")
        except asyncio.CancelledError:
            if on_late is not None and answer.done():
                on_late(answer.result())
            elif on_late is not None:
                self._late_answers[tx_id] = on_late
            raise
        finally:
            self._pending.pop(tx_id, None)

    def _send_action(self, action: str, params: Json, tx_id: str) -> None:
        self._send_message(type="agent_action", action=action, params=params, tx_id=tx_id)
        print(f"[agent] -> {action} {tx_id}", file=sys.stderr, flush=True)

    def _send_stop(self, **target: str) -> None:
        """Send a stop for a cell_id or for the agent_tx_id of an execute_code, without waiting."""
        self._send_action("stop_cell", target, _new_tx_id())

    async def _run_cell_and_wait(self, action: str, params: Json, cell_id: Optional[str]) -> Json:
        expected = self._runs.expect_run(cell_id)
        answer = None
        try:
            answer = await self._send_action_and_wait(action, params, OPERATION_TIMEOUT_S, self._stop_cell_of_late_answer)
        finally:
            if answer is None or answer["status"] != "success":
                self._runs.stop_expecting(expected)
        if answer["status"] != "success":
            return answer
        self._runs.assign_cell(expected, answer["cell_id"])
        try:
            return await _await_answer(self._cell_timeout() + ANSWER_GRACE_S, expected.result)  # the server stops it at the limit
        except asyncio.TimeoutError:
            return {"cell_id": answer["cell_id"], "status": "running", "logs": "", "exception": "", "cell_outputs": []}

    def _stop_cell_of_late_answer(self, answer: Json) -> None:
        """Stop the cell that an action has run, if its answer comes after a cancel."""
        if answer["status"] == "success":
            self._send_stop(cell_id=answer["cell_id"])

    def _cell_timeout(self) -> float:
        return float(self.limits.get("cell_s") or DEFAULT_CELL_TIMEOUT_S)

    def _send_message(self, **message: Any) -> None:
        body = json.dumps(message, allow_nan=False).encode()
        self._writer.write(struct.pack("<q", len(body)) + body)

    async def _receive_body(self) -> bytes:
        (length,) = struct.unpack("<q", await self._reader.readexactly(8))
        return await self._reader.readexactly(length)

    async def _read_messages(self) -> None:
        """Read and handle messages until the connection ends. It never waits for work.

        A message that cannot be handled is reported on stderr, and is lost alone.
        """
        try:
            while True:
                body = await self._receive_body()
                try:
                    self._handle_message(json.loads(body))
                except (TypeError, ValueError, KeyError, AttributeError, RecursionError):
                    traceback.print_exc()
        except (asyncio.IncompleteReadError, OSError):
            pass  # the server has closed the connection
        except Exception:
            traceback.print_exc()
        finally:
            for answer in self._pending.values():
                if not answer.done():
                    answer.set_result({"status": "error", "error": "OPERATION FAILED: the connection to the server has ended"})
            self._queries.put_nowait(None)
            if self._current_query is not None:
                self._current_query[1].cancel()

    def _handle_message(self, message: Json) -> None:
        kind = message.get("type")
        if kind == "agent_action_response":
            self._deliver_answer(message)
        elif kind == "kernel_message":
            self._runs.handle_kernel_message(message["message"])
        elif kind == "init":
            self.session_id, self.is_evaluation = message.get("session_id", 0), bool(message.get("eval_mode"))
            self.limits, self.language = message.get("limits") or {}, message.get("language") or "python"
            self.report_status("ready")
        elif kind == "agent_query":
            query = Query(message["query"], message.get("request_id", ""), message.get("contextual_node_data") or [])
            self._queued[query.request_id] = False
            self._queries.put_nowait(query)
        elif kind == "agent_cancel":
            self._cancel_query(message.get("request_id", ""))

    def _deliver_answer(self, message: Json) -> None:
        """Give an answer to the call that awaits it. Ignore late and duplicate answers."""
        tx_id = message.get("tx_id", "")
        answer = self._pending.get(tx_id)
        if answer is not None and not answer.done():
            answer.set_result(message)
        elif on_late := self._late_answers.pop(tx_id, None):
            on_late(message)

    def _cancel_query(self, request_id: str) -> None:
        """Cancel the query with this id or, if it is empty, the current one."""
        if self._current_query is not None and request_id in ("", self._current_query[0]):
            self._current_query[1].cancel()
        elif request_id in self._queued:
            self._queued[request_id] = True


class _ExpectedRun:
    """A run that the agent has requested."""

    def __init__(self, cell_id: Optional[str], earlier_run: Optional[int]) -> None:
        self.cell_id = cell_id  # None: the cell is being created
        self.earlier_run = earlier_run  # number of the run that was on when this one was requested
        self.result: asyncio.Future[Json] = asyncio.get_running_loop().create_future()


class _RunTracker:
    """Matches results of the kernel with the requests that caused them.

    A result belongs to a request if its run began after the request. It may come
    before the answer to the request, and so before the id of a new cell is known.
    """

    def __init__(self) -> None:
        self._current: dict[str, int] = {}  # number of the run that is on, by cell
        self._expected: list[_ExpectedRun] = []
        self._early_results: dict[str, Json] = {}  # by cell; results of unknown cells while a cell is being created

    def expect_run(self, cell_id: Optional[str]) -> _ExpectedRun:
        """Expect a run of a cell, or of a new cell if cell_id is None."""
        expected = _ExpectedRun(cell_id, self._current.get(cell_id) if cell_id else None)
        self._expected.append(expected)
        return expected

    def assign_cell(self, expected: _ExpectedRun, cell_id: str) -> None:
        """Set the cell of an expected run, whose result may have come already."""
        expected.cell_id = cell_id
        if cell_id in self._early_results and not expected.result.done():
            self._finish_run(expected, self._early_results[cell_id])
        self._clear_early_results()

    def stop_expecting(self, expected: _ExpectedRun) -> None:
        """Stop expecting a run."""
        if expected in self._expected:
            self._expected.remove(expected)
        self._clear_early_results()

    def awaited_cells(self) -> list[str]:
        """Return the cells of expected runs that have not ended."""
        return [e.cell_id for e in self._expected if e.cell_id]

    def handle_kernel_message(self, message: Json) -> None:
        """Follow a message of the kernel: the start or the result of a run."""
        cell_id = message.get("cell_id")
        if not cell_id:
            return
        if message.get("type") == "start_cell":
            self._current[cell_id] = message["run_sequencer"]
        elif message.get("type") == "cell_result":
            self._current.pop(cell_id, None)
            self._deliver_result(cell_id, message)

    def _deliver_result(self, cell_id: str, result: Json) -> None:
        for expected in list(self._expected):
            if expected.cell_id == cell_id and expected.earlier_run != result["run_sequencer"]:
                self._finish_run(expected, result)
                return
        if any(e.cell_id is None for e in self._expected):
            self._early_results[cell_id] = result

    def _finish_run(self, expected: _ExpectedRun, result: Json) -> None:
        if expected in self._expected:
            self._expected.remove(expected)
        if not expected.result.done():
            expected.result.set_result(result)

    def _clear_early_results(self) -> None:
        if not any(e.cell_id is None for e in self._expected):
            self._early_results.clear()


def _failed_answer(action: str, reason: str) -> Json:
    return {"status": "error", "error": f"OPERATION FAILED: '{action}' {reason}"}


def _new_tx_id() -> str:
    return "tx_" + uuid.uuid4().hex[:12]


async def _await_answer(timeout: float, answer: asyncio.Future[Json]) -> Json:
    """Wait for an answer. Unlike asyncio.wait_for this never loses a cancel that comes with the answer."""
    done, _ = await asyncio.wait([answer], timeout=timeout)
    if not done:
        raise asyncio.TimeoutError
    return answer.result()


def _timestamp_now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")
