"""Describes the globals of a Python kernel under Jupyter.

The adapter runs it once in the user's kernel, as a module that the user's names
cannot hide. It uses only IPython's shell and the standard library. It runs on the
main thread, between cells, except for code of the user, such as a __repr__, which
runs on another thread.
"""

from __future__ import annotations

import builtins
import dis
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
    """A value that the kernel's formatters show as application/json."""

    def __init__(self, value: dict[str, Any]) -> None:
        self._value = value

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {"application/json": self._value, "text/plain": ""}


class UserNames:
    """The user's globals, and which of them the last cell assigned."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._before: dict[str, int] = {}
        self._source = ""
        shell.events.register("pre_run_cell", self._before_cell)

    def items(self) -> list[tuple[str, Any]]:
        """Returns names and values, without names that begin with "_", the kernel's own, and modules."""
        hidden = self._shell.user_ns_hidden
        return [
            (name, value)
            for name, value in list(self._shell.user_ns.items())
            if not name.startswith("_")
            and not issubclass(type(value), _Module)
            and hidden.get(name, hidden) is not value
        ]

    def _before_cell(self, info: Any) -> None:
        self._source = info.raw_cell
        self._before = {name: id(value) for name, value in self.items()}

    def assigned(self) -> list[tuple[str, Any]]:
        """Returns, sorted by name, the globals that the last cell bound.

        These are the names that its source binds, and those whose value has changed.
        IPython sends no event for an empty cell; so that it reports nothing, the state
        before it is set here, after the cell before.
        """
        stored, before, items = self._names_in_source(), self._before, self.items()
        self._source, self._before = "", {name: id(value) for name, value in items}
        return sorted(
            (item for item in items if item[0] in stored or before.get(item[0]) != id(item[1])),
            key=lambda item: item[0],
        )

    def _names_in_source(self) -> set[str]:
        """Returns the names that the source of the last cell binds at its top level."""
        code = compile(self._shell.transform_cell(self._source), "<cell>", "exec", _ALLOW_AWAIT, True)
        return {str(step.argval) for step in dis.get_instructions(code) if step.opname == "STORE_NAME"}


def assigned() -> JSONAnswer:
    """Returns the names that the last cell assigned, as fields of its cell_result."""
    items = _user_names.assigned()
    return JSONAnswer(
        {
            "outputs": [name for name, _ in items],
            "dataframe_outputs": [name for name, value in items if _is_instance(value, "pandas", "DataFrame")],
            "figure_outputs": [name for name, value in items if _is_instance(value, "plotly", "BaseFigure")],
            "static_figure_outputs": [name for name, value in items if _is_instance(value, "matplotlib", "Figure")],
        }
    )


def start() -> JSONAnswer:
    """Returns whether the kernel publishes what is written to its descriptors 1 and 2.

    ipykernel does, and also writes it to the original descriptors.
    """
    return JSONAnswer({"echoes": hasattr(sys.stdout, "_original_stdstream_copy")})


def summary() -> JSONAnswer:
    """Describes all globals, but at most _MAX_NAMES."""
    items = _user_names.items()
    deadline = monotonic() + _SUMMARY_TIMEOUT
    infos = {name: _inspect(value, deadline) for name, value in items[:_MAX_NAMES]}
    return JSONAnswer({"summary": infos, "truncated": len(items) > _MAX_NAMES})


def info(key: str) -> JSONAnswer:
    """Describes one global. Returns an empty object if there is none."""
    found = [value for name, value in _user_names.items() if name == key]
    return JSONAnswer({"info": _inspect(found[0], monotonic() + _SUMMARY_TIMEOUT)} if found else {})


def _inspect(value: Any, deadline: float) -> dict[str, Any]:
    """Describes value on a new thread, which is left running if it exceeds _VALUE_TIMEOUT."""
    if monotonic() > deadline:
        return _inspection_error(value, f"not inspected: the others took {_SUMMARY_TIMEOUT:g} s")
    hanging = _hanging.get(id(value))
    if hanging is not None and hanging.is_alive():
        return _inspection_error(value, "an earlier inspection of it has not ended")
    described: list[dict[str, Any]] = []
    thread = Thread(target=lambda: described.append(_describe_safely(value)), daemon=True)
    thread.start()
    thread.join(_VALUE_TIMEOUT)
    if described:
        return described[0]
    _hanging[id(value)] = thread
    return _inspection_error(value, f"its inspection takes over {_VALUE_TIMEOUT:g} s")


def _describe_safely(value: Any) -> dict[str, Any]:
    try:
        return _describe(value)
    except BaseException as error:  # even a SystemExit raised by a __repr__
        return _inspection_error(value, type(error).__name__)


def _inspection_error(value: Any, reason: str) -> dict[str, Any]:
    return {"type": type(value).__name__, "error": reason}


def _describe(value: Any) -> dict[str, Any]:
    description: dict[str, Any] = {"type": type(value).__name__}
    if _is_instance(value, "pandas", "DataFrame"):
        description.update(_describe_table(value))
    elif _is_instance(value, "pandas", "Series") or _is_instance(value, "numpy", "ndarray"):
        description.update(dtype=str(value.dtype), shape=list(value.shape))
    elif _is_instance(value, "anndata", "AnnData"):
        description.update(_describe_anndata(value))
    else:
        description["repr"] = _short_repr.repr(value)[:_MAX_REPR]
        if isinstance(value, (list, dict, set)):
            description["len"] = len(value)
    return description


def _describe_table(value: Any) -> dict[str, Any]:
    return {
        "columns": [str(column) for column in islice(value.columns, _MAX_COLUMNS)],
        "dtypes": _column_types(value),
        "column_preview_truncated": len(value.columns) > _MAX_COLUMNS,
        "shape": list(value.shape),
    }


def _describe_anndata(value: Any) -> dict[str, Any]:
    return {
        "n_obs": int(value.n_obs),
        "n_vars": int(value.n_vars),
        "obs_dtypes": _column_types(value.obs),
        "obs_dtypes_truncated": len(value.obs.columns) > _MAX_COLUMNS,
        "var_dtypes": _column_types(value.var),
        "var_dtypes_truncated": len(value.var.columns) > _MAX_COLUMNS,
        "obsm_keys": [str(key) for key in value.obsm.keys()],
    }


def _column_types(table: Any) -> dict[str, str]:
    return {str(column): str(dtype) for column, dtype in islice(table.dtypes.items(), _MAX_COLUMNS)}


def _is_instance(value: Any, package: str, name: str) -> bool:
    return any(
        base.__name__ == name and base.__module__.partition(".")[0] == package
        for base in type(value).__mro__
    )


class _ShortRepr(reprlib.Repr):
    """Writes the beginning of long and deep values without visiting all of them."""

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
        return "{" + ", ".join(self._first(pairs, len(x))) + "}"

    def repr_set(self, x: set[Any], level: int) -> str:
        if not x:
            return "set()"
        return "{" + ", ".join(self._first((self.repr1(item, level - 1) for item in x), len(x))) + "}"

    def _first(self, texts: Iterator[str], count: int) -> list[str]:
        return [*islice(texts, self.maxdict), *(["..."] if count > self.maxdict else [])]


_short_repr = _ShortRepr()
_user_names = UserNames(get_ipython())
