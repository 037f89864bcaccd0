"""Texts of values and errors, for values of the user's whose methods may raise or be very long."""

from __future__ import annotations

from assay.run.user_code import call_user_code


def safe_repr(value: object) -> str:
    """Returns the repr of value or, if that raises an Exception, a text that says so.

    Other exceptions, such as KeyboardInterrupt, are raised.
    """
    try:
        return str(call_user_code(repr, value))
    except Exception as error:
        return f"<{type(value).__name__}: its repr raised {describe_error(error)}>"


def describe_error(error: Exception) -> str:
    """Returns an exception's class name and message as "name: message", or only the name if its __str__ raises."""
    try:
        return f"{type(error).__name__}: {call_user_code(str, error)}"
    except Exception:
        return type(error).__name__


def truncate_middle(text: str, max_length: int) -> str:
    """Returns text with its middle replaced by a note if it has more than max_length characters."""
    if len(text) <= max_length:
        return text
    half = max_length // 2
    return f"{text[:half]}\n... {len(text) - 2 * half:,} characters ...\n{text[-half:]}"
