"""Runs pieces of code that a sandbox should prevent or allow, each in a process.

Standard input: a line once the process may begin. Argument: a file with the JSON
of [attempts {name: code}, names]. Besides these names the code may use os, ROOT (the
working folder), SERVER (the process id of the server), syscall and run_in_fork.
Standard output: {name: outcome}, where the outcome is "done", or the name and text of
the error, or "status N" if the code replaced its process by one that failed.
"""

import ctypes
import json
import os
import sys
import time

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long


def syscall(number, *arguments):
    """Makes a system call by its number. Raises OSError if it fails."""
    converted = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = LIBC.syscall(ctypes.c_long(number), *converted)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def run_here(code, names):
    """Runs code in this process and returns its outcome."""
    try:
        exec(code, names)
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return "done"


def fork_when_possible():
    """Forks, and waits up to 10 s for other processes of this user to end if there are too many."""
    deadline = time.monotonic() + 10
    while True:
        try:
            return os.fork()
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def run_in_fork(code, names):
    """Runs code in a forked process, which it may replace, and returns its outcome."""
    source, sink = os.pipe()
    pid = fork_when_possible()
    if pid == 0:
        os.close(source)
        os.write(sink, run_here(code, dict(names)).encode(errors="replace"))
        os._exit(0)
    os.close(sink)
    with open(source) as pipe:
        outcome = pipe.read()
    _, status = os.waitpid(pid, 0)
    return outcome or ("done" if status == 0 else f"status {status}")


def main():
    """Waits for the line, runs all attempts and prints their outcomes."""
    sys.stdin.readline()
    with open(sys.argv[1]) as file:
        attempts, names = json.load(file)
    names.update(
        os=os, syscall=syscall, run_in_fork=run_in_fork, ROOT=os.getcwd(), SERVER=int(os.environ["SERVER"])
    )
    names["names"] = names
    print(json.dumps({name: run_in_fork(code, names) for name, code in attempts.items()}))


if __name__ == "__main__":
    main()
