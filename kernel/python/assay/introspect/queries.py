"""Answers questions about the kernel while the user's code runs."""

from __future__ import annotations

import os

from assay.wire.messages import MalformedRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from assay.introspect.inspection import Inspector
    from assay.introspect.summary import Info
    from assay.run.host import Host
    from assay.wire.messages import Request

_MAX_NAMES = 500  # in a globals summary
_EMPTY_REACTIVITY = "## Reactive Dependencies\n\n### Signals\n\n### Code Cell Dependencies\n"


class QueryHandlers:
    """Answers requests about the kernel's state, on the dispatcher's thread, while the user's code runs.

    Values of the user's variables are summarized on other threads.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._send = host.channel.send
        self._inspector: Inspector | None = None  # made with the first inspection

    def handlers_by_type(self) -> dict[str, Callable[[Request], None]]:
        """Returns a handler for each type of request, by type."""
        return {
            "ping": self._answer_ping,
            "debug_state": self._answer_debug_state,
            "globals_summary": self._answer_globals_summary,
            "get_global_info": self._answer_global_info,
            "reactivity_summary": self._answer_reactivity_summary,
            "set_widget_value": self._set_widget_value,
            "agent_action": self._answer_agent_action,
        }

    def _answer_ping(self, request: Request) -> None:
        self._send(request.make_answer("pong"))

    def _answer_debug_state(self, request: Request) -> None:
        state: dict[str, Any] = {
            "pid": os.getpid(),
            "names": len(self._host.namespace.variables()),
            "abandoned_inspections": self._inspector.abandoned_count if self._inspector else 0,
            **self._host.schedule.debug_state(),
        }
        self._send(request.make_answer("debug_state", data=state))

    def _answer_globals_summary(self, request: Request) -> None:
        self._summarize_globals(lambda fields: request.make_answer("globals_summary", **fields))

    def _answer_reactivity_summary(self, request: Request) -> None:
        self._send(request.make_answer("reactivity_summary", **self._reactivity_fields()))

    def _answer_global_info(self, request: Request) -> None:
        key = request.get_string("key")
        items = [item for item in self._host.namespace.variables() if item[0] == key]

        def answer(infos: dict[str, Info]) -> None:
            found = {"status": "success", "info": infos[key]}
            self._send(request.make_answer("get_global_info_response", **found))

        if items:
            self._get_inspector().inspect_async(items, answer)
        else:
            missing = {"status": "error", "error": f"there is no global {key!r}"}
            self._send(request.make_answer("get_global_info_response", **missing))

    def _set_widget_value(self, request: Request) -> None:
        """Schedules the widget values of a request, all at once, and answers with an error for each invalid key."""
        data: dict[str, Any] = request.get_object("data")
        reactivity = self._host.reactivity
        values: dict[str, Any] = {}
        errors = dict.fromkeys(data, "there is no such widget")
        if reactivity is not None:
            values, errors = reactivity.check_widget_values(data)
        answer = {"status": "error" if errors else "success", "errors": errors}
        self._send(request.make_answer("set_widget_value_response", **answer))
        if reactivity is not None and values:
            reactivity.set_widget_values(values)

    def _answer_agent_action(self, request: Request) -> None:
        """Answers an agent_action, the older form of the requests for a summary of globals or of reactivity.

        Raises MalformedRequest for any other action.
        """
        action, tx_id = request.get_string("action"), request.get_string("tx_id")

        def make_answer(fields: dict[str, Any]) -> dict[str, Any]:
            return request.make_answer(
                "agent_action_response", tx_id=tx_id, status="success", **fields
            )

        if action == "request_globals_summary":
            self._summarize_globals(make_answer)
        elif action == "request_reactivity_summary":
            self._send(make_answer(self._reactivity_fields()))
        else:
            raise MalformedRequest(f"agent_action: a kernel does not know the action {action!r}")

    def _summarize_globals(self, make_answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Summarizes the first 500 of the user's variables on other threads, and then sends the answer.

        make_answer makes the message from the fields summary and truncated.
        """
        items = self._host.namespace.variables()
        truncated = len(items) > _MAX_NAMES
        self._get_inspector().inspect_async(
            items[:_MAX_NAMES],
            lambda infos: self._send(make_answer({"summary": infos, "truncated": truncated})),
        )

    def _get_inspector(self) -> Inspector:
        if self._inspector is None:
            from assay.introspect.inspection import Inspector

            self._inspector = Inspector()
        return self._inspector

    def _reactivity_fields(self) -> dict[str, Any]:
        reactivity = self._host.reactivity
        if reactivity is None:
            return {"summary": _EMPTY_REACTIVITY, "cell_reactivity": {}}
        return reactivity.summary()
