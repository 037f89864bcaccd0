"""The repr of a value, whatever it does."""

from __future__ import annotations

from assay.run.user_code import enter


def text_of(value: object) -> str:
    """Returns the repr of value; one that raises is told of instead."""
    try:
        return str(enter(repr, value))
    except Exception as error:
        return f"<{type(value).__name__}: its repr raised {told(error)}>"


def told(error: Exception) -> str:
    """Returns the class of error and, if that can be had, its text."""
    try:
        return f"{type(error).__name__}: {enter(str, error)}"
    except Exception:
        return type(error).__name__


def clip(text: str, most: int) -> str:
    """Returns text, with its middle left out where it is longer than most characters."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n... {len(text) - 2 * half:,} characters ...\n{text[-half:]}"
