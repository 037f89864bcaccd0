"""Decides whether a signal's new value differs from its old one."""

from __future__ import annotations

from operator import eq

from assay.run.type_checks import is_dataframe, is_instance_by_name
from assay.run.user_code import call_user_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from assay.run.work import Work


def is_unchanged(old: Any, new: Any, work: Work) -> bool:
    """Returns whether a signal's new value is the same object as the old one, or old == new is True.

    If == raises an error or returns something other than a bool, the value counts as changed.
    Tables and arrays are not compared at all, because that takes long and gives no bool. == is the
    user's code and runs as part of work. Once work is being stopped, nothing is compared, and every
    new object counts as changed.
    """
    if old is new:
        return True
    if work.is_stopping or _compares_by_item(old) or _compares_by_item(new):
        return False
    try:
        result = call_user_code(eq, old, new)
    except BaseException:
        return False
    return result is True or (_is_numpy_bool(result) and bool(result))


def _compares_by_item(value: object) -> bool:
    """Returns whether == on value gives one result for each item, as on a table, series or array."""
    return (
        is_dataframe(value)
        or is_instance_by_name(value, "pandas", "Series")
        or is_instance_by_name(value, "numpy", "ndarray")
    )


def _is_numpy_bool(value: object) -> bool:
    # numpy 2 has renamed bool_ to bool
    return is_instance_by_name(value, "numpy", "bool_") or is_instance_by_name(value, "numpy", "bool")
