"""Answers to questions about the kernel, given while the user's code runs."""

from __future__ import annotations

import os

from assay.wire.messages import Malformed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from assay.introspect.inspection import Inspections
    from assay.introspect.summary import Info
    from assay.run.host import Host
    from assay.wire.messages import Request

_MOST_NAMES = 500  # in a summary
_NO_SIGNALS = "## Reactive Dependencies\n\n### Signals\n\n### Code Cell Dependencies\n"


class Answers:
    """Answers requests on the reader's thread, which inspects nothing itself."""

    def __init__(self, kernel: Host) -> None:
        self._kernel = kernel
        self._send = kernel.channel.send
        self._made: Inspections | None = None

    def handlers(self) -> dict[str, Callable[[Request], None]]:
        """Returns what handles each type of request."""
        return {
            "ping": self._ping,
            "debug_state": self._debug_state,
            "globals_summary": self._globals_summary,
            "get_global_info": self._get_global_info,
            "reactivity_summary": self._reactivity_summary,
            "set_widget_value": self._set_widget_value,
            "agent_action": self._agent_action,
        }

    def _ping(self, request: Request) -> None:
        self._send(request.answer("pong"))

    def _debug_state(self, request: Request) -> None:
        state: dict[str, Any] = {
            "pid": os.getpid(),
            "names": len(self._kernel.names.items()),
            "abandoned_inspections": self._inspections.abandoned if self._made else 0,
            **self._kernel.schedule.state(),
        }
        self._send(request.answer("debug_state", data=state))

    def _globals_summary(self, request: Request) -> None:
        self._summarise(lambda fields: request.answer("globals_summary", **fields))

    def _reactivity_summary(self, request: Request) -> None:
        self._send(request.answer("reactivity_summary", **self._reactivity()))

    def _get_global_info(self, request: Request) -> None:
        key = request.text("key")
        items = [item for item in self._kernel.names.items() if item[0] == key]

        def answer(infos: dict[str, Info]) -> None:
            found = {"status": "success", "info": infos[key]}
            self._send(request.answer("get_global_info_response", **found))

        if items:
            self._inspections.start(items, answer)
        else:
            missing = {"status": "error", "error": f"there is no global {key!r}"}
            self._send(request.answer("get_global_info_response", **missing))

    def _set_widget_value(self, request: Request) -> None:
        """Answers for each key, and then has the good ones applied, all at once."""
        data: dict[str, Any] = request.object("data")
        reactions = self._kernel.reactions
        values: dict[str, Any] = {}
        errors = dict.fromkeys(data, "there is no such widget")
        if reactions is not None:
            values, errors = reactions.check_values(data)
        answer = {"status": "error" if errors else "success", "errors": errors}
        self._send(request.answer("set_widget_value_response", **answer))
        if reactions is not None and values:
            reactions.choose(values)

    def _agent_action(self, request: Request) -> None:
        """Answers the older form of the two summary requests."""
        action, tx_id = request.text("action"), request.text("tx_id")

        def answer(fields: dict[str, Any]) -> dict[str, Any]:
            said = {"tx_id": tx_id, "status": "success"}
            return request.answer("agent_action_response", **said, **fields)

        if action == "request_globals_summary":
            self._summarise(answer)
        elif action == "request_reactivity_summary":
            self._send(answer(self._reactivity()))
        else:
            raise Malformed(f"agent_action: a kernel does not know the action {action!r}")

    def _summarise(self, answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        items = self._kernel.names.items()
        truncated = len(items) > _MOST_NAMES
        self._inspections.start(
            items[:_MOST_NAMES],
            lambda infos: self._send(answer({"summary": infos, "truncated": truncated})),
        )

    @property
    def _inspections(self) -> Inspections:
        if self._made is None:
            from assay.introspect.inspection import Inspections

            self._made = Inspections()
        return self._made

    def _reactivity(self) -> dict[str, Any]:
        reactions = self._kernel.reactions
        if reactions is None:
            return {"summary": _NO_SIGNALS, "cell_reactivity": {}}
        return reactions.report()
