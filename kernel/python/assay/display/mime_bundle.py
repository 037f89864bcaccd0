"""A value as a mime bundle: the forms in which it can be shown."""

from __future__ import annotations

import io
from contextlib import nullcontext

from assay.run.lazy_ipython import shell
from assay.run.safe_repr import clip, text_of, told
from assay.run.type_checks import is_figure, is_plot, is_table
from assay.run.user_code import enter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Any

_MOST = 1 << 20  # characters of text/plain
_MOST_OF_PLOT = 2000  # of a plot's, which is its data once more
_BITS = 10_000  # of an integer; Python writes no longer ones
_SIMPLE = (int, float, complex, bool, str, bytes)  # whose text is their repr

_PLOT = "application/vnd.plotly.v1+json"  # beside which plotly's page is not asked for

_METHODS = (
    ("text/html", "_repr_html_"),
    ("text/markdown", "_repr_markdown_"),
    ("image/svg+xml", "_repr_svg_"),
    ("image/png", "_repr_png_"),
    ("image/jpeg", "_repr_jpeg_"),
    ("text/latex", "_repr_latex_"),
    ("application/json", "_repr_json_"),
    ("application/javascript", "_repr_javascript_"),
    ("application/pdf", "_repr_pdf_"),
)


class Bundle:
    """The data and the metadata of an nbformat output, each by mime type.

    Both are empty where the value has shown itself: by _ipython_display_.
    """

    def __init__(self, value: object) -> None:
        """Asks value for all its forms. One that raises is told of in text/plain."""
        self.data: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        self._value = value
        self._problems: list[str] = []
        if type(value) in _SIMPLE and shell.made is None:
            self.data["text/plain"] = clip(text_of(value), _MOST)
            return  # these have no other form, and are the most by far
        if self._shows_itself():
            return
        if is_table(value):
            limits = _table_limits
        else:
            limits = nullcontext
        with limits():
            self._collect()

    def _shows_itself(self) -> bool:
        name = "_ipython_display_"
        if is_plot(self._value) or self._method(name) is None:
            return False
        self._ask(name)
        return not self._problems

    def _collect(self) -> None:
        asked = self._ask_registered()
        self._add_all(self._ask("_repr_mimebundle_", include=None, exclude=None))
        for mime, method in () if _PLOT in self.data else _METHODS:
            if mime not in self.data and mime not in asked:
                self._add(mime, self._ask(method))
        if is_figure(self._value):
            self._add("image/png", self._try("savefig", _png, self._value))
        if not isinstance(self.data.get("text/plain"), str):
            self.data["text/plain"] = self._text()
        plain = "\n".join((self.data["text/plain"], *self._problems))
        self.data["text/plain"] = clip(plain, _MOST_OF_PLOT if is_plot(self._value) else _MOST)

    def _ask_registered(self) -> list[str]:
        """Adds what functions registered with IPython make, and returns their mime types."""
        asked = []
        for mime, call in shell.made.registered(self._value) if shell.made else ():
            form = self._try(f"the formatter of {mime}", call, self._value)
            if mime:
                asked.append(mime)
                self._add(mime, form)
            else:
                self._add_all(form)
        return asked

    def _text(self) -> str:
        if shell.made is not None:
            text = self._try("__repr__", shell.made.plain, self._value)
            return text_of(self._value) if text is None else str(text)
        if type(self._value) in _SIMPLE:
            return text_of(self._value)
        from assay.display.pretty import pretty

        try:
            return pretty(self._value, _MOST, text_of)
        except Exception:  # of a _repr_pretty_, or nested too deep
            return text_of(self._value)

    def _method(self, name: str) -> Any:
        # Looked up on the class: a class is not asked for its instances' forms,
        # nor an object that invents attributes.
        return self._try(name, getattr, type(self._value), name, None)

    def _ask(self, method: str, **arguments: object) -> Any:
        call = self._method(method)
        return None if call is None else self._try(method, call, self._value, **arguments)

    def _try(self, name: str, call: Any, *args: object, **arguments: object) -> Any:
        try:
            return enter(call, *args, **arguments)
        except Exception as error:
            self._problems.append(f"<{name} raised {told(error)}>")
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
            from binascii import b2a_base64

            form = b2a_base64(form, newline=False).decode("ascii")
        elif mime.startswith(("text/", "image/")) and not isinstance(form, str):
            form = text_of(form)
        self.data[mime] = plain(form)


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


def _png(figure: Any) -> bytes:
    """Returns figure as a PNG file."""
    buffer = io.BytesIO()
    enter(figure.savefig, buffer, format="png", bbox_inches="tight")
    return buffer.getvalue()


def _table_limits() -> AbstractContextManager[Any]:
    """Returns the context in which a frame is shown at most 100 x 50, and its shape."""
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
