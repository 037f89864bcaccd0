"""Cutting long texts."""

from __future__ import annotations


def clip(text: str, most: int) -> str:
    """Returns text, with its middle left out where it is longer than most characters."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n... {len(text) - 2 * half:,} characters ...\n{text[-half:]}"
