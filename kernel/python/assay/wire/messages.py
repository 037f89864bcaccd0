"""JSON messages, and the requests among them.

JSON is read and written by a private copy of the json module: user code that
replaces something in its own json module does not change how messages are read.
"""

from __future__ import annotations

from assay.wire.private_copies import import_private_copy

TYPE_CHECKING = False
if TYPE_CHECKING:
    import json
    from typing import Any
else:
    json = import_private_copy("json")

Encoder = json.JSONEncoder
dumps = json.dumps


def parse_json(text: str, **settings: Any) -> Any:
    """Returns the value of a JSON text. Raises ValueError for other text, RecursionError for too deep nesting."""
    try:
        return json.loads(text, **settings)
    except SystemError:  # the decoder in C looks up its error class in sys.modules, where the copy is not
        return _PurePythonDecoder(**settings).decode(text)


class _PurePythonDecoder(json.JSONDecoder):
    """A JSON decoder that does not use the part of the json module that is written in C."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        scanner: Any = json.scanner  # type: ignore[attr-defined]
        self.parse_string = json.decoder.py_scanstring  # type: ignore[attr-defined]
        self.scan_once = scanner.py_make_scanner(self)


class MalformedRequest(Exception):
    """Raised for a request that cannot be handled. Its text says why."""


class Request:
    """A message from the server: a JSON object with a type. Its other fields are checked when they are read."""

    def __init__(self, body: bytes) -> None:
        """Decodes a message. Raises MalformedRequest if body is not a JSON object with a type."""
        try:
            fields = parse_json(body.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise MalformedRequest(f"message is not JSON: {error}") from None
        if not isinstance(fields, dict) or not isinstance(fields.get("type"), str):
            raise MalformedRequest("message is not a JSON object with a type")
        self._fields: dict[str, Any] = fields
        self.type: str = fields["type"]
        self.tx_id: str | None = self.get_string("agent_tx_id", None)

    def get_string(self, field: str, *default: Any) -> Any:
        """Returns a field of the request that must be a string. Raises MalformedRequest if it is not.

        If a default is given, it is returned for a missing field and for null. Without a default
        the field must not be missing nor, except "code", be empty.
        """
        value = self._fields.get(field)
        if value is None and default:
            return default[0]
        if not isinstance(value, str):
            raise MalformedRequest(f"{self.type}: {field} is not a string")
        if not value and not default and field != "code":
            raise MalformedRequest(f"{self.type}: {field} is empty")
        return value

    def get_bool(self, field: str) -> bool:
        """Returns a field of the request that must be true or false; False if it is missing or null.

        Raises MalformedRequest for any other value.
        """
        value = self._fields.get(field)
        if value is None:
            return False
        if not isinstance(value, bool):
            raise MalformedRequest(f"{self.type}: {field} is not true or false")
        return value

    def get_object(self, field: str, *default: Any) -> Any:
        """Returns a field of the request that must be a JSON object. Raises MalformedRequest if it is not.

        If a default is given, it is returned for a missing field and for null.
        """
        value = self._fields.get(field)
        if value is None and default:
            return default[0]
        if not isinstance(value, dict):
            raise MalformedRequest(f"{self.type}: {field} is not an object")
        return value

    def make_answer(self, answer_type: str, **fields: Any) -> dict[str, Any]:
        """Returns a message of this type with these fields and the request's agent_tx_id, if it has one."""
        echo = {} if self.tx_id is None else {"agent_tx_id": self.tx_id}
        return {"type": answer_type, **fields, **echo}
