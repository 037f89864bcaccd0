"""What the rules share: what counts as a number, how a field is found, and what is no verdict."""

from __future__ import annotations

UNGRADABLE = (False, {})
NOT_A_NUMBER = float("nan")  # one object, as Python's decoder makes all NaN one object


def written(*numbers) -> None:
    """Writes numbers with decimals, which other things and too large integers refuse."""
    for number in numbers:
        f"{number:.2f}"


def is_number(value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def thresholds_of(config: dict) -> dict:
    return config.get("scoring", {}).get("pass_thresholds", {})


def find(answer, field: str) -> tuple[bool, object]:
    """Whether the answer has a field, and its value. A name with dots is a path."""
    if "." not in field:
        if not isinstance(answer, dict):
            raise TypeError("the answer is no object")
        return field in answer, answer.get(field)
    for key in field.split("."):
        if not isinstance(answer, dict) or key not in answer:
            return False, None
        answer = answer[key]
    return True, answer
