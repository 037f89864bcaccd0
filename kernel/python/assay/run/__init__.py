"""Compiling, scheduling, running and stopping the user's code; tracebacks, magics and the user's namespace."""
