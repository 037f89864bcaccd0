"""proportion_consistency and adjusted_mutual_information."""

from __future__ import annotations

import math
from collections import Counter

from rules import measures
from rules.basics import NOT_A_NUMBER, UNGRADABLE, thresholds_of, written


def proportion_consistency(config: dict, answer) -> tuple[bool, dict]:
    thresholds = thresholds_of(config)
    least_q, most_v = thresholds.get("chi2_q_min", 0.05), thresholds.get("cramers_v_max", 0.15)
    if "cell_types" not in answer or "samples" not in answer:
        return UNGRADABLE
    kinds, samples = answer["cell_types"], answer["samples"]
    if not isinstance(kinds, list) or not kinds or not isinstance(samples, list) or len(samples) < 2:
        return UNGRADABLE
    names, table = [], []
    for sample in samples:
        if not isinstance(sample, dict) or "sample" not in sample or "proportions" not in sample:
            return UNGRADABLE
        names.append(sample["sample"])
        table.append([sample["proportions"].get(kind, 0.0) for kind in kinds])
    if not all(isinstance(cell, (int, float)) for row in table for cell in row):
        return UNGRADABLE
    try:
        statistic, p, freedom = measures.chi_square([[float(cell) for cell in row] for row in table])
    except (ValueError, OverflowError):
        return UNGRADABLE
    smaller = min(len(table), len(kinds)) - 1
    total = measures.add_up([float(cell) for row in table for cell in row])
    v = math.sqrt(statistic / (total * smaller)) if smaller and total > 0 else 0.0
    tests = {"q_pass": p >= least_q, "cramers_pass": v <= most_v}
    ", ".join(kinds + names)  # raises for names that are no text
    return all(tests.values()), {
        "num_samples": len(samples),
        "num_cell_types": len(kinds),
        "chi2_statistic": statistic,
        "p_value": p,
        "q_value": p,  # Benjamini and Hochberg leave a single p as it is
        "degrees_of_freedom": freedom,
        "cramers_v": v,
        "chi2_q_min_threshold": least_q,
        "cramers_v_max_threshold": most_v,
        **tests,
        "cell_types": kinds,
        "sample_names": names,
    }


def adjusted_mutual_information(config: dict, answer) -> tuple[bool, dict]:
    thresholds = thresholds_of(config)
    least, most = thresholds.get("ami_min", 0.0), thresholds.get("ami_max")
    if not all([field in answer for field in ("clusters", "samples", "contingency")]):
        return UNGRADABLE
    clusters, samples, table = answer["clusters"], answer["samples"], answer["contingency"]
    if not all(isinstance(part, list) and part for part in (clusters, samples, table)):
        return UNGRADABLE
    if len(table) != len(clusters) or not all(isinstance(row, list) and len(row) == len(samples) for row in table):
        return UNGRADABLE
    try:
        table = [[NOT_A_NUMBER if cell is None else float(cell) for cell in row] for row in table]
    except (ValueError, TypeError, OverflowError):
        return UNGRADABLE
    cells = [(i, j, cell) for i, row in enumerate(table) for j, cell in enumerate(row)]
    if any(cell < 0 for _, _, cell in cells) or all(cell == 0 for _, _, cell in cells):
        return UNGRADABLE
    counts = [(i, j, round(cell)) for i, j, cell in cells if not cell <= 0]
    counts = [(i, j, count) for i, j, count in counts if count]
    if not counts:
        return UNGRADABLE
    if sum(count for _, _, count in counts) > 2**31 - 1:
        raise OverflowError("more than the reference can list")
    lefts, rights = as_array([clusters[i] for i, _, _ in counts]), as_array([samples[j] for _, j, _ in counts])
    pairs = Counter()
    for left, right, (_, _, count) in zip(lefts, rights, counts):
        pairs[left, right] += count
    ami = measures.adjusted_mutual_information(pairs)
    passed = ami >= least and (most is None or ami <= most)
    written(least, *([] if most is None else [most]))
    return passed, {"ami": ami, "ami_min_threshold": least, "ami_max_threshold": most, "clusters": clusters, "samples": samples}


def as_array(labels: list) -> list:
    """What numpy makes of a list: all text if there is text in it, all doubles if there is a double."""
    if not all(isinstance(label, (str, int, float)) for label in labels):
        raise TypeError("a label that is neither text nor number")
    if any(isinstance(label, str) for label in labels):
        return [str(label) for label in labels]
    if any(isinstance(label, float) for label in labels):
        labels = [float(label) for label in labels]
        if not all(map(math.isfinite, labels)):
            raise ValueError("a label that is not finite")
    return labels
