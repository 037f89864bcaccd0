"""What a Jupyter kernel of Python is asked about its globals.

It is run once in the user's kernel, as a module that only this code can reach,
and uses nothing but IPython's shell and the standard library. All of it runs on
the main thread, between cells, except what may be the user's code.
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

_COLUMNS = 50  # told of a table
_NAMES = 500  # in a summary
_REPR = 1000  # characters
_PATIENCE = 0.100  # seconds for a value
_BUDGET = 1.0  # seconds for all of them
_AWAIT = 0x2000  # ast.PyCF_ALLOW_TOP_LEVEL_AWAIT

_Module = type(sys)
_stuck: dict[int, Thread] = {}  # inspections that have not ended, by the value's id


class Answer:
    """An object that the kernel's formatters show as JSON."""

    def __init__(self, value: dict[str, Any]) -> None:
        self._value = value

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {"application/json": self._value, "text/plain": ""}


class Names:
    """The user's names, and which of them a cell assigned."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._before: dict[str, int] = {}
        self._source = ""
        shell.events.register("pre_run_cell", self._begin)

    def items(self) -> list[tuple[str, Any]]:
        """Returns names and values: none with an underscore, none of the kernel's, no modules."""
        hidden = self._shell.user_ns_hidden
        return [
            (name, value)
            for name, value in list(self._shell.user_ns.items())
            if not name.startswith("_")
            and not issubclass(type(value), _Module)
            and hidden.get(name, hidden) is not value
        ]

    def _begin(self, info: Any) -> None:
        self._source = info.raw_cell
        self._before = {name: id(value) for name, value in self.items()}

    def assigned(self) -> list[tuple[str, Any]]:
        """Returns, sorted by name, what the last cell bound, by its source or otherwise.

        An empty cell does not begin: the next time there is nothing to tell.
        """
        stored, before, items = self._stored(), self._before, self.items()
        self._source, self._before = "", {name: id(value) for name, value in items}
        return sorted(
            (item for item in items if item[0] in stored or before.get(item[0]) != id(item[1])),
            key=lambda item: item[0],
        )

    def _stored(self) -> set[str]:
        """Returns the names that the source, which has been run, binds at its top level."""
        code = compile(self._shell.transform_cell(self._source), "<cell>", "exec", _AWAIT, True)
        return {str(step.argval) for step in dis.get_instructions(code) if step.opname == "STORE_NAME"}


def assigned() -> Answer:
    """Returns the names that the cell assigned, as its cell_result tells them."""
    items = _names.assigned()
    return Answer(
        {
            "outputs": [name for name, _ in items],
            "dataframe_outputs": [name for name, value in items if _is(value, "pandas", "DataFrame")],
            "figure_outputs": [name for name, value in items if _is(value, "plotly", "BaseFigure")],
            "static_figure_outputs": [name for name, value in items if _is(value, "matplotlib", "Figure")],
        }
    )


def start() -> Answer:
    """Returns what is to be known of the kernel: whether it echoes what it catches.

    ipykernel takes in what is written to the descriptors 1 and 2, publishes it,
    and writes it once more to where they led before.
    """
    return Answer({"echoes": hasattr(sys.stdout, "_original_stdstream_copy")})


def summary() -> Answer:
    """Returns what is told of all globals."""
    items = _names.items()
    deadline = monotonic() + _BUDGET
    infos = {name: _inspect(value, deadline) for name, value in items[:_NAMES]}
    return Answer({"summary": infos, "truncated": len(items) > _NAMES})


def info(key: str) -> Answer:
    """Returns what is told of one global, an empty object when there is none."""
    found = [value for name, value in _names.items() if name == key]
    return Answer({"info": _inspect(found[0], monotonic() + _BUDGET)} if found else {})


def _inspect(value: Any, deadline: float) -> dict[str, Any]:
    """Describes value on a thread of its own, which is left behind when it takes long."""
    if monotonic() > deadline:
        return _failed(value, f"not inspected: the others took {_BUDGET:g} s")
    hanging = _stuck.get(id(value))
    if hanging is not None and hanging.is_alive():
        return _failed(value, "an earlier inspection of it has not ended")
    told: list[dict[str, Any]] = []
    thread = Thread(target=lambda: told.append(_describe_safely(value)), daemon=True)
    thread.start()
    thread.join(_PATIENCE)
    if told:
        return told[0]
    _stuck[id(value)] = thread
    return _failed(value, f"its inspection takes over {_PATIENCE:g} s")


def _describe_safely(value: Any) -> dict[str, Any]:
    try:
        return _describe(value)
    except BaseException as error:  # also a SystemExit of a __repr__
        return _failed(value, type(error).__name__)


def _failed(value: Any, reason: str) -> dict[str, Any]:
    return {"type": type(value).__name__, "error": reason}


def _describe(value: Any) -> dict[str, Any]:
    told: dict[str, Any] = {"type": type(value).__name__}
    if _is(value, "pandas", "DataFrame"):
        told.update(_table(value))
    elif _is(value, "pandas", "Series") or _is(value, "numpy", "ndarray"):
        told.update(dtype=str(value.dtype), shape=list(value.shape))
    elif _is(value, "anndata", "AnnData"):
        told.update(_annotated(value))
    else:
        told["repr"] = _short.repr(value)[:_REPR]
        if isinstance(value, (list, dict, set)):
            told["len"] = len(value)
    return told


def _table(value: Any) -> dict[str, Any]:
    return {
        "columns": [str(column) for column in islice(value.columns, _COLUMNS)],
        "dtypes": _dtypes(value),
        "column_preview_truncated": len(value.columns) > _COLUMNS,
        "shape": list(value.shape),
    }


def _annotated(value: Any) -> dict[str, Any]:
    return {
        "n_obs": int(value.n_obs),
        "n_vars": int(value.n_vars),
        "obs_dtypes": _dtypes(value.obs),
        "obs_dtypes_truncated": len(value.obs.columns) > _COLUMNS,
        "var_dtypes": _dtypes(value.var),
        "var_dtypes_truncated": len(value.var.columns) > _COLUMNS,
        "obsm_keys": [str(key) for key in value.obsm.keys()],
    }


def _dtypes(table: Any) -> dict[str, str]:
    return {str(column): str(dtype) for column, dtype in islice(table.dtypes.items(), _COLUMNS)}


def _is(value: Any, package: str, name: str) -> bool:
    return any(
        base.__name__ == name and base.__module__.partition(".")[0] == package
        for base in type(value).__mro__
    )


class _Short(reprlib.Repr):
    """Writes long and deep values without going through them."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdict = 200
        self.maxdeque = self.maxarray = 200
        self.maxstring = self.maxother = _REPR
        self.maxlong = 4000

    def repr_instance(self, x: Any, level: int) -> str:
        return builtins.repr(x)[:_REPR]

    def repr_dict(self, x: dict[Any, Any], level: int) -> str:
        if level <= 0:
            return "{...}"
        pairs = (f"{self.repr1(key, level - 1)}: {self.repr1(item, level - 1)}" for key, item in x.items())
        return "{" + ", ".join(self._some(pairs, len(x))) + "}"

    def repr_set(self, x: set[Any], level: int) -> str:
        if not x:
            return "set()"
        return "{" + ", ".join(self._some((self.repr1(item, level - 1) for item in x), len(x))) + "}"

    def _some(self, texts: Iterator[str], count: int) -> list[str]:
        return [*islice(texts, self.maxdict), *(["..."] if count > self.maxdict else [])]


_short = _Short()
_names = Names(get_ipython())
