"""A value as a mime bundle: the forms in which it can be shown."""

from __future__ import annotations

from binascii import b2a_base64
from contextlib import nullcontext

from assay.doors import enter
from assay.clip import clip
from assay.kinds import is_figure, is_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Any

_MOST = 1 << 20  # characters of text/plain
_BITS = 10_000  # of an integer; Python writes no longer ones

_METHODS = (
    ("text/html", "_repr_html_"),
    ("text/markdown", "_repr_markdown_"),
    ("image/svg+xml", "_repr_svg_"),
    ("image/png", "_repr_png_"),
    ("image/jpeg", "_repr_jpeg_"),
    ("text/latex", "_repr_latex_"),
    ("application/json", "_repr_json_"),
)


class Bundle:
    """The data and the metadata of an nbformat output, each by mime type."""

    def __init__(self, value: object) -> None:
        """Asks value for all its forms. One that raises is told of in text/plain."""
        self.data: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        self._value = value
        self._problems: list[str] = []
        with _frame_limits() if is_table(value) else nullcontext():
            self._collect()

    def _collect(self) -> None:
        self._add_all(self._ask("_repr_mimebundle_", include=None, exclude=None))
        for mime, method in _METHODS:
            if mime not in self.data:
                self._add(mime, self._ask(method))
        if is_figure(self._value):
            from assay.figures import png

            self._add("image/png", self._try("savefig", png, self._value))
        if not isinstance(self.data.get("text/plain"), str):
            self.data["text/plain"] = text_of(self._value)
        plain = "\n".join((self.data["text/plain"], *self._problems))
        self.data["text/plain"] = clip(plain, _MOST)

    def _ask(self, method: str, **arguments: object) -> Any:
        # Looked up on the class: a class is not asked for its instances' forms,
        # nor an object that invents attributes.
        call = self._try(method, getattr, type(self._value), method, None)
        return None if call is None else self._try(method, call, self._value, **arguments)

    def _try(self, name: str, call: Any, *args: object, **arguments: object) -> Any:
        try:
            return enter(call, *args, **arguments)
        except Exception as error:
            self._problems.append(f"<{name} raised {_told(error)}>")
            return None

    def _add_all(self, answer: Any) -> None:
        forms, metadata = answer if isinstance(answer, tuple) else (answer, None)
        if isinstance(forms, dict):
            for mime, form in forms.items():
                self._add(str(mime), form)
        if isinstance(metadata, dict):
            self.metadata.update(plain(metadata))

    def _add(self, mime: str, form: Any) -> None:
        if isinstance(form, tuple) and len(form) == 2:
            form, metadata = form
            if metadata:
                self.metadata[mime] = plain(metadata)
        if form is None:
            return
        if isinstance(form, (bytes, bytearray, memoryview)):
            form = b2a_base64(form, newline=False).decode("ascii")
        elif mime.startswith(("text/", "image/")) and not isinstance(form, str):
            form = text_of(form)
        self.data[mime] = plain(form)


def text_of(value: object) -> str:
    """Returns the repr of value; one that raises is told of instead."""
    try:
        return str(enter(repr, value))
    except Exception as error:
        return f"<{type(value).__name__}: its repr raised {_told(error)}>"


def _told(error: Exception) -> str:
    try:
        return f"{type(error).__name__}: {enter(str, error)}"
    except Exception:
        return type(error).__name__


def plain(value: Any, depth: int = 100) -> Any:
    """Returns value as strict JSON can say it: no NaN, text for what JSON does not know."""
    if value is None or type(value) in (str, bool):
        return value
    if depth == 0:
        return "..."
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int) and value.bit_length() <= _BITS:
        return int(value)
    if isinstance(value, float):
        return float(value) if value - value == 0 else None
    if isinstance(value, dict):
        return {_key(key): plain(item, depth - 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, depth - 1) for item in value]
    return text_of(value)


def _key(key: object) -> str:
    return str(key) if isinstance(key, str) else text_of(key)


def _frame_limits() -> AbstractContextManager[Any]:
    """Returns the context in which a pandas frame shows at most 100 x 50, and its shape."""
    import pandas  # type: ignore[import]

    context: AbstractContextManager[Any] = pandas.option_context(
        "display.max_rows", 100,
        "display.min_rows", 100,
        "display.max_columns", 50,
        "display.show_dimensions", True,
        "display.notebook_repr_html", True,
        "display.large_repr", "truncate",
    )  # fmt: skip
    return context
