"""A second implementation, in Python, of the graders that read only the answer. The Go graders are compared with it.

Other harnesses grade the same cases in Python, so the verdicts depend on Python's semantics: what is
a number, what `in` means for a list, which operations raise. Reads lines of JSON, objects with
`grader`, `config` and `answer`; writes for each a line with an object of `passed`, `metrics` and
`raised` (the exception's class name, or null). {"$float": "NaN"} stands for a number that JSON
cannot write (NaN, Infinity, -Infinity).

The graders are in the folder rules. Each returns passed and metrics. UNGRADABLE means failed without
metrics; an exception means that the grader reached no verdict. The reasoning texts are left out,
except that check_formattable raises where formatting their numbers would.
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


def decode_float(item: dict):
    """Returns the float of an object {"$float": …}, any other object as it is."""
    if list(item) != ["$float"]:
        return item
    return NOT_A_NUMBER if item["$float"] == "NaN" else float(item["$float"])


def main() -> None:
    for line in sys.stdin:
        print(json.dumps(grade(**json.loads(line, object_hook=decode_float))))


if __name__ == "__main__":
    main()
