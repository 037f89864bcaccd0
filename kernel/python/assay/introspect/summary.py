"""What is told of a global: its type and shape, or its repr."""

from __future__ import annotations

from itertools import islice

from assay.introspect.bounded_repr import bounded_repr
from assay.run.type_checks import is_a, is_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Info = dict[str, Any]

_COLUMNS = 50  # told of a table
_NAME = 200  # characters of a column's name


def describe(value: Any) -> Info:
    """Returns what is told of value, of a signal that of its value, and that it is one.

    It may run the user's code, take long, and raise.
    """
    if is_a(value, "assay", "Signal"):
        return {**describe(value.sample()), "signal": True}
    info: Info = {"type": type(value).__name__}
    if is_table(value):
        info.update(_table(value))
    elif is_a(value, "pandas", "Series"):
        info.update(dtype=str(value.dtype), shape=list(value.shape))
    elif is_a(value, "numpy", "ndarray"):
        info.update(dtype=str(value.dtype), shape=list(value.shape))
    elif is_a(value, "anndata", "AnnData"):
        info.update(_annotated(value))
    else:
        info["repr"] = bounded_repr(value)
        if isinstance(value, (list, dict, set)):
            info["len"] = len(value)
    return info


def failed(value: object, reason: str) -> Info:
    """Returns what is told of a value that could not be inspected, for reason."""
    return {"type": type(value).__name__, "error": reason}


def _table(value: Any) -> Info:
    return {
        "columns": [_name(column) for column in islice(value.columns, _COLUMNS)],
        "dtypes": _dtypes(value.dtypes.items()),
        "column_preview_truncated": len(value.columns) > _COLUMNS,
        "shape": list(value.shape),
    }


def _annotated(value: Any) -> Info:
    return {
        "n_obs": int(value.n_obs),
        "n_vars": int(value.n_vars),
        "obs_dtypes": _dtypes(value.obs.dtypes.items()),
        "obs_dtypes_truncated": len(value.obs.columns) > _COLUMNS,
        "var_dtypes": _dtypes(value.var.dtypes.items()),
        "var_dtypes_truncated": len(value.var.columns) > _COLUMNS,
        "obsm_keys": [_name(key) for key in value.obsm.keys()],
    }


def _dtypes(items: Iterable[tuple[Any, Any]]) -> dict[str, str]:
    return {_name(column): str(dtype) for column, dtype in islice(items, _COLUMNS)}


def _name(label: object) -> str:
    return str(label)[:_NAME]
