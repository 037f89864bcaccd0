"""The Python launcher: carries out a plan and then runs a command.

Arguments: the folder of the kernel's modules, the plan as JSON, the command.
"""

import json
import os
import runpy
import sys

folder, plan, *argv = sys.argv[1:]
sys.path.insert(0, folder)
from assay.sandbox.steps import apply_plan  # noqa: E402

apply_plan(json.loads(plan))
if argv[0] == sys.executable and argv[1].endswith(".py"):
    sys.argv = argv[1:]
    runpy.run_path(argv[1], run_name="__main__")
else:
    os.execvp(argv[0], argv)
