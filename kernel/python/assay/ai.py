"""ai() and gather(), with which a code block asks the agent that wrote it.

The agent's strategy blocks calls the other functions of this module, each with an
execute_code in a session of its own: open_prompts before a block, next_prompt again
and again while the block runs, reply for each prompt, and close_prompts after it.
"""

from __future__ import annotations

import json

from assay.run.work import current_work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future, Queue
    from collections.abc import Awaitable
    from typing import Any

_MAX_PROMPT_LENGTH = 100_000  # characters; the answer of an execute_code must hold it, escaped

_CLOSED = "the code block that asked the agent has ended"


class PromptMessage:
    """What next_prompt returns. Its repr is JSON, because an execute_code answers with the repr of its value."""

    def __init__(self, **fields: Any) -> None:
        self._fields = fields

    def __repr__(self) -> str:
        return json.dumps(self._fields)


class PromptQueue:
    """The prompts that one code block gives to the agent, and the replies that it awaits.

    It is used on the kernel's event loop only.
    """

    def __init__(self) -> None:
        """Makes a queue for the event loop that is running."""
        import asyncio

        self.loop: AbstractEventLoop = asyncio.get_running_loop()
        self._messages: Queue[PromptMessage | None] = asyncio.Queue()
        self._replies: dict[int, Future[str]] = {}  # by the number of the prompt
        self._prompt_count = 0
        self._is_closed = False

    async def ask(self, prompt: str) -> str:
        """Gives a prompt to the agent and returns its reply. If it is cancelled, the agent gives the prompt up."""
        if self._is_closed:
            raise RuntimeError(_CLOSED)
        self._prompt_count += 1
        number = self._prompt_count
        self._replies[number] = self.loop.create_future()
        self._messages.put_nowait(PromptMessage(number=number, prompt=prompt))
        try:
            return await self._replies[number]
        finally:
            if self._replies.pop(number).cancelled():
                self._messages.put_nowait(PromptMessage(number=number, cancelled=True))

    async def next_message(self) -> PromptMessage | None:
        """Waits for the next prompt or cancelled prompt and returns it; None once the queue is closed."""
        return None if self._is_closed else await self._messages.get()

    def reply(self, number: int, text: str, error: str | None) -> None:
        """Ends the wait for a reply: with text, or with a RuntimeError if error is given. Ignores late replies."""
        reply = self._replies.get(number)
        if reply is None or reply.done():
            return
        if error is None:
            reply.set_result(text)
        else:
            reply.set_exception(RuntimeError(error))

    def close(self) -> None:
        """Makes all who wait for a reply or for a prompt wait no longer."""
        self._is_closed = True
        for number in list(self._replies):
            self.reply(number, "", _CLOSED)
        self._messages.put_nowait(None)


_queues: dict[str, PromptQueue] = {}  # of the blocks that run, by session


async def ai(prompt: str) -> str:
    """Has the agent work on a prompt in a new conversation, with this kernel, and returns its final reply.

    The new conversation knows the names in the kernel and nothing else of what was said. Raises
    RuntimeError if the agent ends without a reply, and if no code block of the agent calls it.
    """
    import asyncio

    if not isinstance(prompt, str):
        raise TypeError(f"ai() takes a prompt of type str, not {type(prompt).__name__}")
    if len(prompt) > _MAX_PROMPT_LENGTH:
        raise ValueError(f"ai() takes a prompt of at most {_MAX_PROMPT_LENGTH} characters, not {len(prompt)}")
    queue = _queues.get(current_work().session or "")
    if queue is None:
        raise RuntimeError(
            "ai() works in the agent's code blocks only, and not in conversations that ai() has started"
        )
    if asyncio.get_running_loop() is not queue.loop:
        raise RuntimeError(
            "await ai() in the block itself: while asyncio.run() or another event loop runs, no reply can arrive"
        )
    return await queue.ask(prompt)


async def gather(*awaitables: Awaitable[Any], return_exceptions: bool = False) -> list[Any]:
    """Awaits several ai() or other awaitables at once and returns their values in order, as asyncio.gather does."""
    import asyncio

    return await asyncio.gather(*awaitables, return_exceptions=return_exceptions)


async def open_prompts(session: str, names: dict[str, Any]) -> None:
    """Lets the code of a session use ai() and gather(), which are put into names unless other values are there."""
    names.setdefault("ai", ai)
    names.setdefault("gather", gather)
    close_prompts(session)
    _queues[session] = PromptQueue()


async def next_prompt(session: str) -> PromptMessage | None:
    """Waits for what the code of a session asks next; None once close_prompts was called.

    A prompt has number, from 1, and prompt; one that nobody awaits any more has number and
    cancelled.
    """
    queue = _queues.get(session)
    return None if queue is None else await queue.next_message()


def reply(session: str, number: int, text: str, error: str | None = None) -> None:
    """Ends the ai() with this number: with text as its value, or with error as the text of its exception."""
    if queue := _queues.get(session):
        queue.reply(number, text, error)


def close_prompts(session: str) -> None:
    """Ends the use of ai() in a session. An ai() that still waits raises RuntimeError."""
    if queue := _queues.pop(session, None):
        queue.close()
