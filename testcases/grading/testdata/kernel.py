"""A Python kernel for tests.

Reads code as JSON strings, one a line, runs each in the same namespace, and writes
for each a JSON line with Status ("ok" or "error"), Result (the repr of the last
expression, "" if None), Exception (the traceback) and Stdout.
"""

import ast
import contextlib
import io
import json
import os
import sys
import traceback
import types

module = types.ModuleType("__main__")
scope = module.__dict__


def run(code):
    value = None
    tree = ast.parse(code)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        tree.body.pop()
        exec(compile(tree, "<cell>", "exec"), scope)
        value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), scope)
    else:
        exec(compile(tree, "<cell>", "exec"), scope)
    return "" if value is None else repr(value)


out = sys.stdout
for line in open(os.dup(0)):  # not sys.stdin, which exit() in the code would close
    printed = io.StringIO()
    reply = {"Status": "ok", "Result": "", "Exception": ""}
    with contextlib.redirect_stdout(printed):
        try:
            reply["Result"] = run(json.loads(line))
        except BaseException:
            reply.update(Status="error", Exception=traceback.format_exc())
    reply["Stdout"] = printed.getvalue()
    out.write(json.dumps(reply) + "\n")
    out.flush()
