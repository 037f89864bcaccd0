"""Grades a plan: reads the attempt as JSON from stdin, prints the verdict as JSON."""

import csv
import json
import math
import os
import sys

MAX_BOX_KG = 20

attempt = json.load(sys.stdin)


def print_verdict_and_exit(passed, reasoning, **metrics):
    json.dump({"passed": passed, "reasoning": reasoning, "metrics": metrics}, sys.stdout)
    sys.exit()


with open("crates.csv", newline="") as file:
    weights = {row["crate"]: int(row["kg"]) for row in csv.DictReader(file)}
try:
    with open(os.path.join(attempt["sandbox"], "plan.json")) as file:
        plan = json.load(file)
    packed = sorted(crate for box in plan for crate in box)
    loads = [sum(weights[crate] for crate in box) for box in plan]
except (OSError, ValueError, TypeError, KeyError) as error:
    print_verdict_and_exit(False, f"plan.json cannot be read as a plan: {error!r}")
if packed != sorted(weights):
    print_verdict_and_exit(False, f"the plan packs {len(packed)} crates, not each of the {len(weights)} once")
if max(loads) > MAX_BOX_KG:
    print_verdict_and_exit(False, f"a box holds {max(loads)} kg, {max(loads) - MAX_BOX_KG} too many", heaviest=max(loads))
fewest = math.ceil(sum(weights.values()) / MAX_BOX_KG)
answered = (attempt["answer"] or {}).get("boxes")
print_verdict_and_exit(
    len(plan) == fewest == answered,
    f"{len(plan)} boxes, {answered} in the answer; {fewest} are enough",
    boxes=len(plan),
    fewest=fewest,
)
