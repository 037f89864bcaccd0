"""JSON messages, and the requests among them.

They are read and written by a copy of the json module that the user's code does not find.
"""

from __future__ import annotations

from assay.sealing.own import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    import json
    from typing import Any
else:
    json = private("json")

Encoder = json.JSONEncoder
dumps = json.dumps


def loads(text: str, **settings: Any) -> Any:
    """Returns what text says. Raises ValueError and RecursionError."""
    try:
        return json.loads(text, **settings)
    except SystemError:  # the module's part in C looks for its error by name, and in vain
        return _Plain(**settings).decode(text)


class _Plain(json.JSONDecoder):
    """A decoder without C."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        scanner: Any = json.scanner  # type: ignore[attr-defined]
        self.parse_string = json.decoder.py_scanstring  # type: ignore[attr-defined]
        self.scan_once = scanner.py_make_scanner(self)


class Malformed(Exception):
    """A request that cannot be followed; its text says why."""


class Request:
    """A JSON object with a type, and with fields that are checked when they are read."""

    def __init__(self, body: bytes) -> None:
        """Raises Malformed for what is no JSON object with a type."""
        try:
            fields = loads(body.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise Malformed(f"message is not JSON: {error}") from None
        if not isinstance(fields, dict) or not isinstance(fields.get("type"), str):
            raise Malformed("message is not a JSON object with a type")
        self._fields: dict[str, Any] = fields
        self.type: str = fields["type"]
        self.tx_id: str | None = self.text("agent_tx_id", None)

    def text(self, field: str, *default: Any) -> Any:
        """Returns a string field; a default, if given, where it is missing or null.

        Without a default it must be there, and only code may be empty.
        """
        value = self._fields.get(field)
        if value is None and default:
            return default[0]
        if not isinstance(value, str):
            raise Malformed(f"{self.type}: {field} is not a string")
        if not value and not default and field != "code":
            raise Malformed(f"{self.type}: {field} is empty")
        return value

    def flag(self, field: str) -> bool:
        """Returns a field that is true or false, and false where it is missing or null."""
        value = self._fields.get(field)
        if value is None:
            return False
        if not isinstance(value, bool):
            raise Malformed(f"{self.type}: {field} is not true or false")
        return value

    def object(self, field: str, *default: Any) -> Any:
        """Returns a field that is an object; a default, if given, where it is missing or null."""
        value = self._fields.get(field)
        if value is None and default:
            return default[0]
        if not isinstance(value, dict):
            raise Malformed(f"{self.type}: {field} is not an object")
        return value

    def answer(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Returns the answer of type kind, which echoes the request's id."""
        echo = {} if self.tx_id is None else {"agent_tx_id": self.tx_id}
        return {"type": kind, **fields, **echo}
