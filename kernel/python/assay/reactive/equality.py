"""Whether a signal's value is a new one."""

from __future__ import annotations

from operator import eq

from assay.run.type_checks import is_a, is_table
from assay.run.user_code import enter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from assay.run.work import Work


def same(old: Any, new: Any, work: Work) -> bool:
    """Tells whether new is old, or equal to it by an == that says so with a bool.

    A == that raises, or answers with a table or an array, does not say so; those
    that would are not asked, it costs them much. It is the user's code, part of
    work: from when that is stopped, nothing is compared.
    """
    if old is new:
        return True
    if work.stopping or _compares_items(old) or _compares_items(new):
        return False
    try:
        answer = enter(eq, old, new)
    except BaseException:
        return False
    return answer is True or (_is_numpy_bool(answer) and bool(answer))


def _compares_items(value: object) -> bool:
    return is_table(value) or is_a(value, "pandas", "Series") or is_a(value, "numpy", "ndarray")


def _is_numpy_bool(answer: object) -> bool:
    return is_a(answer, "numpy", "bool_") or is_a(answer, "numpy", "bool")
