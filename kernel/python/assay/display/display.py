"""The functions with which the user shows something: display, update_display, clear_output.

They are builtins, and replace IPython's functions of the same names.
"""

from __future__ import annotations

import os

from assay.run.lazy_ipython import lazy_ipython
from assay.run.type_checks import is_matplotlib_figure
from assay.run.work import current_work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any


def display(
    *values: Any,
    display_id: str | bool | None = None,
    raw: bool = False,
    clear: bool = False,
    metadata: dict[str, Any] | None = None,
    **_: Any,
) -> DisplayHandle | None:
    """Shows values in the output of the running cell. Returns a handle if display_id is given, else None.

    With a display_id (True makes a new one) the output can be changed later through the handle or
    update_display. With raw, the values are MIME bundles: dictionaries of data by MIME type. With
    clear, earlier output of the cell is cleared first.
    """
    if clear:
        clear_output(wait=True)
    handle = None
    if display_id:
        handle = DisplayHandle(None if display_id is True else str(display_id))
    for value in values:
        _emit_value("display_data", value, handle, raw, metadata)
    return handle


def update_display(
    value: Any,
    *,
    display_id: str,
    raw: bool = False,
    metadata: dict[str, Any] | None = None,
    **_: Any,
) -> None:
    """Replaces the output that was displayed with this display_id by one that shows value."""
    _emit_value("update_display_data", value, DisplayHandle(display_id), raw, metadata)


def clear_output(wait: bool = False) -> None:
    """Clears the output of the running cell: at once or, with wait, when its next output comes."""
    capturing = lazy_ipython.capturing_publisher()
    if capturing is not None:
        capturing.clear_output(wait)
    else:
        current_work().emit_output({"output_type": "clear_output", "wait": bool(wait)})


class DisplayHandle:
    """An output of a cell, identified by its display_id, that can be changed after it was shown."""

    def __init__(self, display_id: str | None = None) -> None:
        self.display_id = display_id or os.urandom(16).hex()

    def display(self, value: Any, **options: Any) -> None:
        """Shows value as one more output with the display_id of this handle."""
        display(value, display_id=self.display_id, **options)

    def update(self, value: Any, **options: Any) -> None:
        """Replaces all outputs with the display_id of this handle by one that shows value."""
        update_display(value, display_id=self.display_id, **options)

    def __repr__(self) -> str:
        return f"<DisplayHandle display_id={self.display_id}>"


def adapt_ipython_display(module: ModuleType) -> None:
    """Replaces the display functions of an IPython module, which has just been imported, by those of the kernel."""

    def publish_display_data(
        data: dict[str, Any], metadata: dict[str, Any] | None = None, *_: Any, **options: Any
    ) -> None:
        """Shows a MIME bundle in the output of the running cell."""
        publish(data, metadata, **options)

    for function in (display, update_display, clear_output, publish_display_data):
        setattr(module, function.__name__, function)


def publish(
    data: dict[str, Any],
    metadata: dict[str, Any] | None = None,
    *,
    transient: dict[str, Any] | None = None,
    update: bool = False,
    **_: Any,
) -> None:
    """Shows a MIME bundle, data by MIME type, in the output of the running cell.

    With update, it instead replaces the output whose display_id is in transient.
    """
    display_id = (transient or {}).get("display_id")
    handle = DisplayHandle(display_id) if display_id else None
    _emit_value("update_display_data" if update else "display_data", data, handle, True, metadata)


def show_result(value: Any, execution_count: int) -> None:
    """Shows the value of the running cell's last expression as an execute_result with this execution count."""
    output = _make_notebook_output("execute_result", value, False, None)
    if output is not None:
        current_work().emit_output({**output, "execution_count": execution_count})


def _emit_value(
    output_type: str,
    value: Any,
    handle: DisplayHandle | None,
    raw: bool,
    metadata: dict[str, Any] | None,
) -> None:
    """Sends value as an output of this type, or passes it to %%capture if that is active."""
    output = _make_notebook_output(output_type, value, raw, metadata)
    if output is None:
        return
    if handle is not None:
        output["transient"] = {"display_id": handle.display_id}
    capturing = lazy_ipython.capturing_publisher()
    if capturing is not None:
        is_update = output_type == "update_display_data"
        transient = output.get("transient")
        capturing.publish(
            output["data"], output["metadata"], transient=transient, update=is_update
        )
    else:
        current_work().emit_output(output)


def _make_notebook_output(
    output_type: str, value: Any, raw: bool, metadata: dict[str, Any] | None
) -> dict[str, Any] | None:
    """Returns value as an nbformat output of this type, or None if the value has displayed itself.

    A value displays itself if it has a method _ipython_display_.
    """
    from assay.display.mime_bundle import MimeBundle, make_json_safe

    if raw:
        data, own_metadata = make_json_safe(dict(value)), {}
    else:
        bundle = MimeBundle(value)
        data, own_metadata = bundle.data, bundle.metadata
    if is_matplotlib_figure(value):
        from weakref import ref

        current_work().shown_figures.add(ref(value))
    all_metadata = {**own_metadata, **make_json_safe(metadata or {})}
    output = {"output_type": output_type, "data": data, "metadata": all_metadata}
    return output if data else None
