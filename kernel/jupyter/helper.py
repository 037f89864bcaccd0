"""Describes the globals of a Python kernel under Jupyter.

The adapter runs it once in the user's kernel, as a module that the user's names
cannot hide. It uses only IPython's shell and the standard library. It runs on the
main thread, between cells, except for code of the user, such as a __repr__, which
runs on another thread.
"""

from __future__ import annotations

import builtins
import dis
import os
import reprlib
import sys
from itertools import islice
from threading import Thread
from time import monotonic

from IPython.core.getipython import get_ipython

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_MAX_COLUMNS = 50  # columns described of a table
_MAX_NAMES = 500  # names in a summary
_MAX_REPR = 1000  # characters
_VALUE_TIMEOUT = 0.100  # seconds to describe one value
_SUMMARY_TIMEOUT = 1.0  # seconds to describe all of them
_ALLOW_AWAIT = 0x2000  # ast.PyCF_ALLOW_TOP_LEVEL_AWAIT

_Module = type(sys)
_hanging: dict[int, Thread] = {}  # descriptions that have not ended, by the value's id


class JSONAnswer:
    """An answer to the adapter. IPython's formatters show it as application/json."""

    def __init__(self, value: dict[str, Any]) -> None:
        self._value = value

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {"application/json": self._value, "text/plain": ""}


class UserGlobals:
    """The user's global variables, and which of them the last cell assigned."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._before: dict[str, int] = {}
        self._source = ""
        shell.events.register("pre_run_cell", self._record_before_cell)

    def items(self) -> list[tuple[str, Any]]:
        """Returns names and values of the user's globals.

        Left out are names that begin with "_", modules, and what IPython itself has put there.
        """
        hidden = self._shell.user_ns_hidden
        return [
            (name, value)
            for name, value in list(self._shell.user_ns.items())
            if not name.startswith("_")
            and not issubclass(type(value), _Module)
            and hidden.get(name, hidden) is not value
        ]

    def _record_before_cell(self, info: Any) -> None:
        """Records the source of the cell that is about to run, and the id of each global's value."""
        self._source = info.raw_cell
        self._before = {name: id(value) for name, value in self.items()}

    def assigned_items(self) -> list[tuple[str, Any]]:
        """Returns names and values of the globals that the last cell assigned, sorted by name.

        These are the names that the cell's source binds, and those whose value is another object
        than before the cell. IPython sends no event before an empty cell. The state is therefore
        also recorded here, after each cell, so that an empty cell reports nothing.
        """
        stored, before, items = self._names_bound_by_source(), self._before, self.items()
        self._source, self._before = "", {name: id(value) for name, value in items}
        return sorted(
            (item for item in items if item[0] in stored or before.get(item[0]) != id(item[1])),
            key=lambda item: item[0],
        )

    def _names_bound_by_source(self) -> set[str]:
        """Returns the names that the source of the last cell binds at its top level."""
        code = compile(self._shell.transform_cell(self._source), "<cell>", "exec", _ALLOW_AWAIT, True)
        return {str(step.argval) for step in dis.get_instructions(code) if step.opname == "STORE_NAME"}


def describe_assigned_names() -> JSONAnswer:
    """Returns the names that the last cell assigned, in all and by kind, as fields of its cell_result."""
    items = _user_globals.assigned_items()
    return JSONAnswer(
        {
            "outputs": [name for name, _ in items],
            "dataframe_outputs": [name for name, value in items if _is_instance_by_name(value, "pandas", "DataFrame")],
            "figure_outputs": [name for name, value in items if _is_instance_by_name(value, "plotly", "BaseFigure")],
            "static_figure_outputs": [name for name, value in items if _is_instance_by_name(value, "matplotlib", "Figure")],
        }
    )


def release_descriptors() -> JSONAnswer:
    """Ends ipykernel's capture of descriptors 1 and 2: what is written there goes to the adapter's pipes again.

    Text that ipykernel captures may come after the cell has ended, and its thread ends for ever at
    a character that is split between two reads. Then whoever writes more is blocked.
    """
    for descriptor, stream in ((1, sys.stdout), (2, sys.stderr)):
        original = getattr(stream, "_original_stdstream_copy", None)
        if original is not None:
            stream._should_watch = False
            os.dup2(original, descriptor)  # closes the captured pipe, which ends the thread
    return JSONAnswer({})


def describe_globals() -> JSONAnswer:
    """Returns descriptions of the first 500 of the user's globals, and whether there are more."""
    items = _user_globals.items()
    deadline = monotonic() + _SUMMARY_TIMEOUT
    infos = {name: _describe_in_thread(value, deadline) for name, value in items[:_MAX_NAMES]}
    return JSONAnswer({"summary": infos, "truncated": len(items) > _MAX_NAMES})


def describe_global(key: str) -> JSONAnswer:
    """Returns the description of the global named key, or an empty object if there is none."""
    found = [value for name, value in _user_globals.items() if name == key]
    return JSONAnswer({"info": _describe_in_thread(found[0], monotonic() + _SUMMARY_TIMEOUT)} if found else {})


def _describe_in_thread(value: Any, deadline: float) -> dict[str, Any]:
    """Returns the description of value, made on a new thread because it may run the user's code.

    If that takes longer than _VALUE_TIMEOUT the thread is left running, and an error is returned.
    The same goes for a value that an earlier thread still describes, and after deadline.
    """
    if monotonic() > deadline:
        return _inspection_error(value, f"not inspected: the others took {_SUMMARY_TIMEOUT:g} s")
    hanging = _hanging.get(id(value))
    if hanging is not None and hanging.is_alive():
        return _inspection_error(value, "an earlier inspection of it has not ended")
    described: list[dict[str, Any]] = []
    thread = Thread(target=lambda: described.append(_describe_or_report_error(value)), daemon=True)
    thread.start()
    thread.join(_VALUE_TIMEOUT)
    if described:
        return described[0]
    _hanging[id(value)] = thread
    return _inspection_error(value, f"its inspection takes over {_VALUE_TIMEOUT:g} s")


def _describe_or_report_error(value: Any) -> dict[str, Any]:
    """Returns the description of value, or a description of the exception that describing it raised."""
    try:
        return _describe_value(value)
    except BaseException as error:  # even a SystemExit raised by a __repr__
        return _inspection_error(value, type(error).__name__)


def _inspection_error(value: Any, reason: str) -> dict[str, Any]:
    """Returns a description that has only the type of value and the reason why there is no more."""
    return {"type": type(value).__name__, "error": reason}


def _describe_value(value: Any) -> dict[str, Any]:
    """Returns type, size and repr of value, or for tables and arrays their shape and dtypes."""
    description: dict[str, Any] = {"type": type(value).__name__}
    if _is_instance_by_name(value, "pandas", "DataFrame"):
        description.update(_describe_table(value))
    elif _is_instance_by_name(value, "pandas", "Series") or _is_instance_by_name(value, "numpy", "ndarray"):
        description.update(dtype=str(value.dtype), shape=list(value.shape))
    elif _is_instance_by_name(value, "anndata", "AnnData"):
        description.update(_describe_anndata(value))
    else:
        description["repr"] = _bounded_repr.repr(value)[:_MAX_REPR]
        if isinstance(value, (list, dict, set)):
            description["len"] = len(value)
    return description


def _describe_table(value: Any) -> dict[str, Any]:
    """Returns the shape of a pandas DataFrame and the names and dtypes of its first 50 columns."""
    return {
        "columns": [str(column) for column in islice(value.columns, _MAX_COLUMNS)],
        "dtypes": _column_dtypes(value),
        "column_preview_truncated": len(value.columns) > _MAX_COLUMNS,
        "shape": list(value.shape),
    }


def _describe_anndata(value: Any) -> dict[str, Any]:
    """Returns the size of an AnnData object and the dtypes of its annotations."""
    return {
        "n_obs": int(value.n_obs),
        "n_vars": int(value.n_vars),
        "obs_dtypes": _column_dtypes(value.obs),
        "obs_dtypes_truncated": len(value.obs.columns) > _MAX_COLUMNS,
        "var_dtypes": _column_dtypes(value.var),
        "var_dtypes_truncated": len(value.var.columns) > _MAX_COLUMNS,
        "obsm_keys": [str(key) for key in value.obsm.keys()],
    }


def _column_dtypes(table: Any) -> dict[str, str]:
    """Returns the dtypes of the first 50 columns of a table, by column name."""
    return {str(column): str(dtype) for column, dtype in islice(table.dtypes.items(), _MAX_COLUMNS)}


def _is_instance_by_name(value: Any, package: str, name: str) -> bool:
    """Returns whether value is an instance of the class `name` of a package, without importing the package."""
    return any(
        base.__name__ == name and base.__module__.partition(".")[0] == package
        for base in type(value).__mro__
    )


class _BoundedRepr(reprlib.Repr):
    """Writes the repr of a value, cut after 200 items of a container and 1,000 characters of a string."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdict = 200
        self.maxdeque = self.maxarray = 200
        self.maxstring = self.maxother = _MAX_REPR
        self.maxlong = 4000

    def repr_instance(self, x: Any, level: int) -> str:
        return builtins.repr(x)[:_MAX_REPR]

    def repr_dict(self, x: dict[Any, Any], level: int) -> str:
        if level <= 0:
            return "{...}"
        pairs = (f"{self.repr1(key, level - 1)}: {self.repr1(item, level - 1)}" for key, item in x.items())
        return "{" + ", ".join(self._first_texts(pairs, len(x))) + "}"

    def repr_set(self, x: set[Any], level: int) -> str:
        if not x:
            return "set()"
        return "{" + ", ".join(self._first_texts((self.repr1(item, level - 1) for item in x), len(x))) + "}"

    def _first_texts(self, texts: Iterator[str], count: int) -> list[str]:
        """Returns the first 200 texts, and "..." if count says that there are more."""
        return [*islice(texts, self.maxdict), *(["..."] if count > self.maxdict else [])]


_bounded_repr = _BoundedRepr()
_user_globals = UserGlobals(get_ipython())
