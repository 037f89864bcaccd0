"""Applies Python's functions to texts: reads a JSON list of [function, text], writes a JSON list of results."""

import json
import sys
import unicodedata


def loads(text):
    try:
        return repr(json.loads(text))
    except json.JSONDecodeError:
        return "refused"
    except (ValueError, RecursionError) as error:
        return type(error).__name__


def parse_float(text):
    try:
        return repr(float(text))
    except ValueError:
        return "refused"


FUNCTIONS = {"loads": loads, "float": parse_float, "upper": str.upper, "lower": str.lower, "strip": str.strip, "repr": repr, "category": unicodedata.category}
calls = json.load(sys.stdin)
json.dump([FUNCTIONS[function](text) for function, text in calls], sys.stdout)
