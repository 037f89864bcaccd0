"""Summaries of variables: type and shape, or a short repr."""

from __future__ import annotations

from itertools import islice

from assay.introspect.bounded_repr import bounded_repr
from assay.run.type_checks import is_dataframe, is_instance_by_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Info = dict[str, Any]

_MAX_COLUMNS = 50  # of a table
_MAX_NAME_LENGTH = 200  # characters of a column's name


def summarize(value: Any) -> Info:
    """Returns the summary of a value: its type with shape and dtypes, or with a repr of at most 1,000 characters.

    The summary of a signal is that of its value, with the field signal set. May run the user's
    code, take long, and raise any exception.
    """
    if is_instance_by_name(value, "assay", "Signal"):
        return {**summarize(value.sample()), "signal": True}
    info: Info = {"type": type(value).__name__}
    if is_dataframe(value):
        info.update(_summarize_table(value))
    elif is_instance_by_name(value, "pandas", "Series"):
        info.update(dtype=str(value.dtype), shape=list(value.shape))
    elif is_instance_by_name(value, "numpy", "ndarray"):
        info.update(dtype=str(value.dtype), shape=list(value.shape))
    elif is_instance_by_name(value, "anndata", "AnnData"):
        info.update(_summarize_anndata(value))
    else:
        info["repr"] = bounded_repr(value)
        if isinstance(value, (list, dict, set)):
            info["len"] = len(value)
    return info


def summarize_failure(value: object, reason: str) -> Info:
    """Returns the summary of a value that could not be inspected: its type, and reason as the error."""
    return {"type": type(value).__name__, "error": reason}


def _summarize_table(table: Any) -> Info:
    return {
        "columns": [_truncated_label(column) for column in islice(table.columns, _MAX_COLUMNS)],
        "dtypes": _dtypes_by_name(table.dtypes.items()),
        "column_preview_truncated": len(table.columns) > _MAX_COLUMNS,
        "shape": list(table.shape),
    }


def _summarize_anndata(value: Any) -> Info:
    return {
        "n_obs": int(value.n_obs),
        "n_vars": int(value.n_vars),
        "obs_dtypes": _dtypes_by_name(value.obs.dtypes.items()),
        "obs_dtypes_truncated": len(value.obs.columns) > _MAX_COLUMNS,
        "var_dtypes": _dtypes_by_name(value.var.dtypes.items()),
        "var_dtypes_truncated": len(value.var.columns) > _MAX_COLUMNS,
        "obsm_keys": [_truncated_label(key) for key in value.obsm.keys()],
    }


def _dtypes_by_name(items: Iterable[tuple[Any, Any]]) -> dict[str, str]:
    return {_truncated_label(column): str(dtype) for column, dtype in islice(items, _MAX_COLUMNS)}


def _truncated_label(label: object) -> str:
    return str(label)[:_MAX_NAME_LENGTH]
