"""What the user calls to show something: display, update_display, clear_output.

They are builtins, and take the place of IPython's where that is installed.
"""

from __future__ import annotations

import os

from assay.run.lazy_ipython import shell
from assay.run.type_checks import is_figure
from assay.run.work import current

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
    """Shows values in the output of the running cell.

    With a display_id (True: a new one) they can be changed later, through the
    handle that is returned or by update_display. With raw they are mime bundles.
    """
    if clear:
        clear_output(wait=True)
    handle = None
    if display_id:
        handle = DisplayHandle(None if display_id is True else str(display_id))
    for value in values:
        _show("display_data", value, handle, raw, metadata)
    return handle


def update_display(
    value: Any,
    *,
    display_id: str,
    raw: bool = False,
    metadata: dict[str, Any] | None = None,
    **_: Any,
) -> None:
    """Shows value in the place of what was displayed with display_id."""
    _show("update_display_data", value, DisplayHandle(display_id), raw, metadata)


def clear_output(wait: bool = False) -> None:
    """Clears the output of the running cell; with wait, when the next output comes."""
    capture = shell.capture()
    if capture is not None:
        capture.clear_output(wait)
    else:
        current().emit({"output_type": "clear_output", "wait": bool(wait)})


class DisplayHandle:
    """Something displayed that can be changed."""

    def __init__(self, display_id: str | None = None) -> None:
        self.display_id = display_id or os.urandom(16).hex()

    def display(self, value: Any, **options: Any) -> None:
        """Displays value anew, with this id."""
        display(value, display_id=self.display_id, **options)

    def update(self, value: Any, **options: Any) -> None:
        """Shows value in the place of what was displayed with this id."""
        update_display(value, display_id=self.display_id, **options)

    def __repr__(self) -> str:
        return f"<DisplayHandle display_id={self.display_id}>"


def attach(module: ModuleType) -> None:
    """Takes the place of IPython's functions in module, which has just been imported."""

    def publish_display_data(
        data: dict[str, Any], metadata: dict[str, Any] | None = None, *_: Any, **options: Any
    ) -> None:
        """Shows a mime bundle in the output of the running cell."""
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
    """Shows a mime bundle, or shows it in the place of what has the display_id in transient."""
    display_id = (transient or {}).get("display_id")
    handle = DisplayHandle(display_id) if display_id else None
    _show("update_display_data" if update else "display_data", data, handle, True, metadata)


def show_result(value: Any, count: int) -> None:
    """Shows the last value of the running cell, which is the run number count."""
    output = _output("execute_result", value, False, None)
    if output is not None:
        current().emit({**output, "execution_count": count})


def _show(
    kind: str, value: Any, handle: DisplayHandle | None, raw: bool, metadata: dict[str, Any] | None
) -> None:
    output = _output(kind, value, raw, metadata)
    if output is None:
        return
    if handle is not None:
        output["transient"] = {"display_id": handle.display_id}
    capture = shell.capture()
    if capture is not None:
        more = {"transient": output.get("transient"), "update": kind == "update_display_data"}
        capture.publish(output["data"], output["metadata"], **more)
    else:
        current().emit(output)


def _output(
    kind: str, value: Any, raw: bool, metadata: dict[str, Any] | None
) -> dict[str, Any] | None:
    """Returns value as an nbformat output, None where it has shown itself."""
    from assay.display.mime_bundle import Bundle, plain

    if raw:
        data, told = plain(dict(value)), {}
    else:
        bundle = Bundle(value)
        data, told = bundle.data, bundle.metadata
    if is_figure(value):
        from weakref import ref

        current().shown.add(ref(value))
    output = {"output_type": kind, "data": data, "metadata": {**told, **plain(metadata or {})}}
    return output if data else None
