"""Helpers of all graders: the result for an answer that cannot be graded, number checks, field lookup."""

from __future__ import annotations

UNGRADABLE = (False, {})
NOT_A_NUMBER = float("nan")  # one shared object, as in Python's JSON decoder: in lists and dicts NaN then equals itself


def check_formattable(*numbers) -> None:
    """Raises if a value cannot be formatted with two decimals: no number, or an integer too large for a float."""
    for number in numbers:
        f"{number:.2f}"


def is_number(value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def pass_thresholds(config: dict) -> dict:
    """Returns scoring.pass_thresholds of the config, by default {}."""
    return config.get("scoring", {}).get("pass_thresholds", {})


def find_field(answer, field: str) -> tuple[bool, object]:
    """Returns whether the answer has the field, and its value or None. A name with dots is a path of keys."""
    if "." not in field:
        if not isinstance(answer, dict):
            raise TypeError("the answer is not an object")
        return field in answer, answer.get(field)
    for key in field.split("."):
        if not isinstance(answer, dict) or key not in answer:
            return False, None
        answer = answer[key]
    return True, answer
