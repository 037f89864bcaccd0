"""numeric_tolerance and numeric_range."""

from __future__ import annotations

import math

from rules.basics import UNGRADABLE, check_formattable, find_field, is_number


def numeric_tolerance(config: dict, answer) -> tuple[bool, dict]:
    tolerances = config.get("tolerances", config.get("tolerance", {}))
    metrics, verdicts = {}, []
    for field, expected in config.get("ground_truth", {}).items():
        verdicts.append(check_field(field, expected, tolerances, answer, metrics))
    return all(verdicts), metrics


def check_field(field: str, expected, tolerances, answer, metrics: dict) -> bool:
    found, actual = find_field(answer, field)
    if not found:
        return False
    if isinstance(actual, str):
        try:
            actual = float(actual)
        except ValueError:
            return False
    elif isinstance(actual, bool):
        actual = int(actual)
    within, error = False, math.inf
    field_tolerance = tolerances.get(field, {}) if isinstance(tolerances, dict) or actual is not None else {}
    always_formatted = not shows_bounds(field_tolerance)
    if actual is not None:
        tolerance = tolerances if "type" in tolerances and "value" not in field_tolerance else field_tolerance
        try:
            within, error = compare_within_tolerance(tolerance, actual, expected)
        except TypeError:
            pass
        if always_formatted or not within and not shows_bounds(tolerance):
            check_formattable(error)
    metrics.update({f"{field}_actual": actual, f"{field}_expected": expected, f"{field}_error": error, f"{field}_pass": within})
    return within


def has_lower_and_upper(tolerance: dict) -> bool:
    return "lower" in tolerance and "upper" in tolerance


def shows_bounds(tolerance: dict) -> bool:
    """Returns whether the reasoning names the bounds of the field, which need no formatting, and not its error."""
    return tolerance.get("type") in ("min", "max") or has_lower_and_upper(tolerance)


def compare_within_tolerance(tolerance: dict, actual, expected) -> tuple[bool, object]:
    kind, value = tolerance.get("type", "absolute"), tolerance.get("value", 0)
    if kind == "absolute" and has_lower_and_upper(tolerance):
        return expected - tolerance["lower"] <= actual <= expected + tolerance["upper"], actual - expected
    if kind == "absolute":
        return abs(actual - expected) <= value, abs(actual - expected)
    if kind == "relative":
        relative_error = math.inf if expected == 0 else abs(actual - expected) / abs(expected)
        return relative_error <= value, relative_error
    if kind == "min":
        return actual >= value, value - actual if actual < value else 0
    if kind == "max":
        return actual <= value, actual - value if actual > value else 0
    return False, math.inf


def numeric_range(config: dict, answer) -> tuple[bool, dict]:
    truth, ranges = config.get("ground_truth"), config.get("ranges")
    if not isinstance(truth, dict) or not truth or not isinstance(ranges, dict) or not ranges:
        return UNGRADABLE
    metrics, verdicts = {}, []
    for field, expected in truth.items():
        entry = ranges.get(field)
        low, high = (entry.get("min"), entry.get("max")) if isinstance(entry, dict) else (None, None)
        metrics.update({f"{field}_expected": expected, f"{field}_min": low, f"{field}_max": high})
        actual, within = None, False
        if all(map(is_number, (low, high, expected))) and not low >= high and low < expected < high:
            actual, within = check_in_range(low, high, find_field(answer, field)[1])
        metrics.update({f"{field}_actual": actual, f"{field}_pass": within})
        verdicts.append(within)
    return all(verdicts), metrics


def check_in_range(low, high, actual) -> tuple[object, bool]:
    if isinstance(actual, str):
        try:
            actual = float(actual)
        except ValueError:
            return actual, False
    elif isinstance(actual, bool):
        actual = int(actual)
    return actual, is_number(actual) and low < actual < high
