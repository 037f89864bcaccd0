"""What a value is, told by names, so that no library is imported to know it."""

from __future__ import annotations


def is_a(value: object, package: str, name: str) -> bool:
    """Tells whether value is an instance of a class `name` of `package`, or of a subclass."""
    return any(
        base.__name__ == name and _package(base) == package for base in type(value).__mro__
    )


def _package(kind: type) -> str:
    return str(getattr(kind, "__module__", "")).partition(".")[0]


def is_table(value: object) -> bool:
    """Tells whether value is a pandas DataFrame."""
    return is_a(value, "pandas", "DataFrame")


def is_plot(value: object) -> bool:
    """Tells whether value is a figure in the manner of plotly."""
    return _package(type(value)).startswith("plotly")


def is_figure(value: object) -> bool:
    """Tells whether value is a matplotlib figure."""
    return is_a(value, "matplotlib", "Figure")
