"""The Python launcher: carries out a plan and then runs a command.

Arguments: the folder of the kernel's modules; the descriptor of the control socket of a PID namespace, before that on
which to report processes, or 0 for no namespace; the plan as JSON; the command.
"""

import json
import os
import runpy
import sys

folder, control, plan, *argv = sys.argv[1:]
sys.path.insert(0, folder)
from assay.sandbox.steps import apply_plan, fork_into_pid_namespace  # noqa: E402

plan, control = json.loads(plan), int(control)
if control:
    first, program = fork_into_pid_namespace(plan["namespaces"], control)
    if program:
        os.write(control + 1, f"{program} {first}".encode())
        os._exit(0)
    os.setsid()
    os.closerange(control, control + 2)
apply_plan(plan, bool(control))
if argv[0] == sys.executable and argv[1].endswith(".py"):
    sys.argv = argv[1:]
    runpy.run_path(argv[1], run_name="__main__")
else:
    os.execvp(argv[0], argv)
