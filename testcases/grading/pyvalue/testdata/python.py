"""Says what Python makes of texts: a JSON list of [question, text] in, of answers out."""

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


def number(text):
    try:
        return repr(float(text))
    except ValueError:
        return "refused"


QUESTIONS = {"loads": loads, "float": number, "upper": str.upper, "lower": str.lower, "strip": str.strip, "repr": repr, "category": unicodedata.category}
asked = json.load(sys.stdin)
json.dump([QUESTIONS[question](text) for question, text in asked], sys.stdout)
