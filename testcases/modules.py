"""Prints which of the modules in its arguments are not installed, as a JSON list."""

import sys

# The kernel has another working directory: a file in this one is no module there, and must not run here either.
sys.path[:] = [folder for folder in sys.path if folder]

import contextlib
import importlib.util
import json


def is_module_missing(name):
    try:
        return importlib.util.find_spec(name) is None
    except Exception:  # raised by the parent package, which is imported, or for a malformed name
        return True


with contextlib.redirect_stdout(sys.stderr):  # keeps the prints of parent packages out of the answer
    answer = [name for name in sys.argv[1:] if is_module_missing(name)]
json.dump(answer, sys.stdout)
