"""What the graders that read the answer are held to: their rules once more, in Python.

The verdicts we share with other harnesses hang on Python's semantics: what is a number, what `in`
means for a list, what raises. Here Python itself is asked. Lines of JSON come in, objects with
`grader`, `config` and `answer`, and a line goes out for each, an object with `passed`, `metrics` and
`raised`, the name of the exception or null. Objects {"$float": "NaN"} are numbers that JSON lacks.

The rules stand in the folder beside this file. A grader returns its verdict and its metrics.
UNGRADABLE is a plain failure with no metrics; an exception is a grader that could not come to a
verdict. Text for people is left out, but for the formatting of numbers that raises: `written`.
"""

from __future__ import annotations

import json
import sys

from rules.basics import NOT_A_NUMBER, UNGRADABLE
from rules.choices import boolean_check, label_set_jaccard, multiple_choice
from rules.markers import marker_gene_precision_recall, marker_gene_separation
from rules.numeric import numeric_range, numeric_tolerance
from rules.tables import adjusted_mutual_information, proportion_consistency
from rules.tissue import cell_typing, distribution_comparison, spatial_adjacency

GRADERS = {
    "numeric_tolerance": numeric_tolerance,
    "numeric_range": numeric_range,
    "label_set_jaccard": label_set_jaccard,
    "jaccard_label_set": label_set_jaccard,
    "distribution_comparison": distribution_comparison,
    "marker_gene_precision_recall": marker_gene_precision_recall,
    "marker_gene_separation": marker_gene_separation,
    "spatial_adjacency": spatial_adjacency,
    "multiple_choice": multiple_choice,
    "boolean_check": boolean_check,
    "cell_typing": cell_typing,
    "proportion_consistency": proportion_consistency,
    "adjusted_mutual_information": adjusted_mutual_information,
}


def grade(grader: str, config: dict, answer) -> dict:
    try:
        passed, metrics = UNGRADABLE if answer is None else GRADERS[grader](config, answer)
    except Exception as error:
        return {"passed": False, "metrics": {}, "raised": type(error).__name__}
    return {"passed": passed, "metrics": metrics, "raised": None}


def numbers(item: dict):
    """Undoes {"$float": …}."""
    if list(item) != ["$float"]:
        return item
    return NOT_A_NUMBER if item["$float"] == "NaN" else float(item["$float"])


def main() -> None:
    for line in sys.stdin:
        print(json.dumps(grade(**json.loads(line, object_hook=numbers))))


if __name__ == "__main__":
    main()
