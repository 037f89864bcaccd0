"""JSON as the kernel reads and writes it: by a copy of the module that the user's code does not find."""

from __future__ import annotations

from assay.own import private

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
