"""Texts of values and errors, for values of the user's whose methods may raise or be very long."""

from __future__ import annotations

from assay.run.user_code import call_user_code


def safe_repr(value: object) -> str:
    """Returns the repr of value, or a text that says with which error it failed.

    Raises only what is not an Exception, for example KeyboardInterrupt.
    """
    try:
        return str(call_user_code(repr, value))
    except Exception as error:
        return f"<{type(value).__name__}: its repr raised {describe_error(error)}>"


def describe_error(error: Exception) -> str:
    """Returns the class of error and, unless its __str__ raises, its text."""
    try:
        return f"{type(error).__name__}: {call_user_code(str, error)}"
    except Exception:
        return type(error).__name__


def shorten(text: str, max_length: int) -> str:
    """Returns text, with its middle replaced by a note if it has more than max_length characters."""
    if len(text) <= max_length:
        return text
    half = max_length // 2
    return f"{text[:half]}\n... {len(text) - 2 * half:,} characters ...\n{text[-half:]}"
