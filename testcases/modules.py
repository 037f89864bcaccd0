import contextlib
import importlib.util
import json
import sys

# A file in the working directory is no module of the kernel, which has another.
sys.path = [folder for folder in sys.path if folder]


def missing(name):
    try:
        return importlib.util.find_spec(name) is None
    except Exception:  # from a parent, which is imported, or for a name that cannot be
        return True


with contextlib.redirect_stdout(sys.stderr):  # what a parent prints is no answer
    answer = [name for name in sys.argv[1:] if missing(name)]
json.dump(answer, sys.stdout)
