"""Turns a value into a MIME bundle: all the formats in which it can be shown."""

from __future__ import annotations

import io
from contextlib import nullcontext

from assay.run.lazy_ipython import lazy_ipython
from assay.run.safe_repr import describe_error, safe_repr, truncate_middle
from assay.run.type_checks import is_dataframe, is_matplotlib_figure, is_plotly_figure
from assay.run.user_code import call_user_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Any

_MAX_TEXT_LENGTH = 1 << 20  # characters of text/plain
_MAX_PLOT_TEXT_LENGTH = 2000  # characters of a plotly figure's text/plain, which repeats its data
_MAX_INT_BITS = 10_000  # of an integer in JSON; Python refuses to write much longer ones
_TEXT_ONLY_CLASSES = (int, float, complex, bool, str, bytes)  # whose only format is their repr

_CANARY = "_ipython_canary_method_should_not_exist_"  # IPython's name for it

_PLOTLY_TYPE = "application/vnd.plotly.v1+json"  # with it, plotly's HTML page is not asked for

_REPR_METHODS = (
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


class MimeBundle:
    """All formats in which a value can be shown: data and metadata of an nbformat output, by MIME type.

    Both are empty if the value has displayed itself with its method _ipython_display_.
    """

    def __init__(self, value: object) -> None:
        """Calls the methods of value that return its formats. An error of one is described in text/plain."""
        self.data: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        self._value = value
        self._errors: list[str] = []
        if type(value) in _TEXT_ONLY_CLASSES and lazy_ipython.shell is None:
            self.data["text/plain"] = truncate_middle(safe_repr(value), _MAX_TEXT_LENGTH)
            return  # most values are of these classes
        self._invents_attributes = _invents_attributes(value)
        if self._display_by_own_method():
            return
        with self._display_options():
            self._collect_formats()

    def _display_options(self) -> AbstractContextManager[Any]:
        """Returns a context with the options by which the value is shown: for a table, those of pandas."""
        if not is_dataframe(self._value):
            return nullcontext()
        from assay.display.pandas_options import limit_table_size

        return limit_table_size()

    def _display_by_own_method(self) -> bool:
        """Calls the value's _ipython_display_ method. Returns False if it has none or it raised an error."""
        name = "_ipython_display_"
        if is_plotly_figure(self._value) or self._find_method(name) is None:
            return False
        self._call_method(name)
        return not self._errors

    def _collect_formats(self) -> None:
        registered = self._add_registered_formats()
        self._add_bundle(self._call_method("_repr_mimebundle_", include=None, exclude=None))
        for mime_type, method in () if _PLOTLY_TYPE in self.data else _REPR_METHODS:
            if mime_type not in self.data and mime_type not in registered:
                self._add_format(mime_type, self._call_method(method))
        if is_matplotlib_figure(self._value) and not registered:
            self._add_format("image/png", self._try_call("savefig", _render_png, self._value))
        if not isinstance(self.data.get("text/plain"), str):
            self.data["text/plain"] = self._plain_text()
        text = "\n".join((self.data["text/plain"], *self._errors))
        max_length = _MAX_PLOT_TEXT_LENGTH if is_plotly_figure(self._value) else _MAX_TEXT_LENGTH
        self.data["text/plain"] = truncate_middle(text, max_length)

    def _add_registered_formats(self) -> list[str]:
        """Adds the formats that functions registered with IPython return for the value. Returns their MIME types."""
        registered = []
        shell = lazy_ipython.shell
        for mime_type, function in shell.registered_formatters(self._value) if shell else ():
            result = self._try_call(f"the formatter of {mime_type}", function, self._value)
            if mime_type:
                registered.append(mime_type)
                self._add_format(mime_type, result)
            else:
                self._add_bundle(result)
        return registered

    def _plain_text(self) -> str:
        """Returns the value's text/plain, as IPython would show it."""
        if lazy_ipython.shell is not None:
            text = self._try_call("__repr__", lazy_ipython.shell.plain_text, self._value)
            return safe_repr(self._value) if text is None else str(text)
        if type(self._value) in _TEXT_ONLY_CLASSES:
            return safe_repr(self._value)
        from assay.display.pretty import pretty

        try:
            return pretty(self._value, _MAX_TEXT_LENGTH)
        except Exception:  # a _repr_pretty_ raised, or the value is nested too deep
            return safe_repr(self._value)

    def _find_method(self, name: str) -> Any:
        """Returns a method of the value, which its class, a property or the value itself may have; None if it has none.

        A class is not asked for the formats of its instances, nor is an object that invents attributes.
        """
        if isinstance(self._value, type) or self._invents_attributes:
            return None
        method = self._try_call(name, getattr, self._value, name, None)
        return method if callable(method) else None

    def _call_method(self, name: str, **arguments: object) -> Any:
        """Calls a method of the value, such as _repr_html_, and returns its result.

        Returns None if the value has no such method or the method raised an error, which is noted.
        """
        method = self._find_method(name)
        return None if method is None else self._try_call(name, method, **arguments)

    def _try_call(self, name: str, function: Any, *args: object, **arguments: object) -> Any:
        """Calls function and returns its result. If it raises an error, notes that under name and returns None."""
        try:
            return call_user_code(function, *args, **arguments)
        except Exception as error:
            self._errors.append(f"<{name} raised {describe_error(error)}>")
            return None

    def _add_bundle(self, result: Any) -> None:
        """Adds what _repr_mimebundle_ returned: data by MIME type, or a tuple of data and metadata."""
        formats, metadata = result if isinstance(result, tuple) else (result, None)
        if isinstance(formats, dict):
            for mime_type, data in formats.items():
                self._add_format(str(mime_type), data)
        if isinstance(metadata, dict):
            self.metadata.update(make_json_safe(metadata))

    def _add_format(self, mime_type: str, result: Any) -> None:
        """Adds what a method like _repr_html_ returned: data, a tuple of data and metadata, or None for nothing."""
        if isinstance(result, tuple) and len(result) == 2:
            result, metadata = result
            if metadata:
                self.metadata[mime_type] = make_json_safe(metadata)
        if result is None:
            return
        if isinstance(result, (bytes, bytearray, memoryview)):
            from binascii import b2a_base64

            result = b2a_base64(result, newline=False).decode("ascii")
        elif mime_type.startswith(("text/", "image/")) and not isinstance(result, str):
            result = safe_repr(result)
        self.data[mime_type] = make_json_safe(result)


def _invents_attributes(value: object) -> bool:
    """Returns whether value seems to have any attribute that it is asked for, or raises an error when asked."""
    try:
        return call_user_code(getattr, value, _CANARY, None) is not None
    except Exception:
        return True


def make_json_safe(value: Any, max_depth: int = 100) -> Any:
    """Returns value converted to what strict JSON can hold.

    NaN and infinities become None, unknown objects their repr, and what is nested deeper than
    max_depth becomes "...".
    """
    if value is None or type(value) in (str, bool):
        return value
    if max_depth == 0:
        return "..."
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int) and value.bit_length() <= _MAX_INT_BITS:
        return int(value)
    if isinstance(value, float):
        return float(value) if value - value == 0 else None
    if isinstance(value, dict):
        return {_make_json_key(key): make_json_safe(item, max_depth - 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [make_json_safe(item, max_depth - 1) for item in value]
    return safe_repr(value)


def _make_json_key(key: object) -> str:
    return str(key) if isinstance(key, str) else safe_repr(key)


def _render_png(figure: Any) -> bytes:
    """Returns the bytes of a PNG file that shows a matplotlib figure."""
    buffer = io.BytesIO()
    call_user_code(figure.savefig, buffer, format="png", bbox_inches="tight")
    return buffer.getvalue()

