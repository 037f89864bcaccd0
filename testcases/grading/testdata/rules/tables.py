"""proportion_consistency and adjusted_mutual_information."""

from __future__ import annotations

import math
from collections import Counter

from rules import measures
from rules.basics import NOT_A_NUMBER, UNGRADABLE, check_formattable, pass_thresholds


def proportion_consistency(config: dict, answer) -> tuple[bool, dict]:
    thresholds = pass_thresholds(config)
    min_q, max_v = thresholds.get("chi2_q_min", 0.05), thresholds.get("cramers_v_max", 0.15)
    if "cell_types" not in answer or "samples" not in answer:
        return UNGRADABLE
    cell_types, samples = answer["cell_types"], answer["samples"]
    if not isinstance(cell_types, list) or not cell_types or not isinstance(samples, list) or len(samples) < 2:
        return UNGRADABLE
    names, table = [], []
    for sample in samples:
        if not isinstance(sample, dict) or "sample" not in sample or "proportions" not in sample:
            return UNGRADABLE
        names.append(sample["sample"])
        table.append([sample["proportions"].get(cell_type, 0.0) for cell_type in cell_types])
    if not all(isinstance(cell, (int, float)) for row in table for cell in row):
        return UNGRADABLE
    try:
        statistic, p, degrees_of_freedom = measures.chi_square([[float(cell) for cell in row] for row in table])
    except (ValueError, OverflowError):
        return UNGRADABLE
    smaller = min(len(table), len(cell_types)) - 1
    total = measures.pairwise_sum([float(cell) for row in table for cell in row])
    v = math.sqrt(statistic / (total * smaller)) if smaller and total > 0 else 0.0
    tests = {"q_pass": p >= min_q, "cramers_pass": v <= max_v}
    ", ".join(cell_types + names)  # raises TypeError if a name is not a string
    return all(tests.values()), {
        "num_samples": len(samples),
        "num_cell_types": len(cell_types),
        "chi2_statistic": statistic,
        "p_value": p,
        "q_value": p,  # the Benjamini-Hochberg correction leaves a single p unchanged
        "degrees_of_freedom": degrees_of_freedom,
        "cramers_v": v,
        "chi2_q_min_threshold": min_q,
        "cramers_v_max_threshold": max_v,
        **tests,
        "cell_types": cell_types,
        "sample_names": names,
    }


def adjusted_mutual_information(config: dict, answer) -> tuple[bool, dict]:
    thresholds = pass_thresholds(config)
    ami_min, ami_max = thresholds.get("ami_min", 0.0), thresholds.get("ami_max")
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
        raise OverflowError("more cells than the reference implementation can list")
    cluster_labels, sample_labels = to_array([clusters[i] for i, _, _ in counts]), to_array([samples[j] for _, j, _ in counts])
    pairs = Counter()
    for cluster, sample, (_, _, count) in zip(cluster_labels, sample_labels, counts):
        pairs[cluster, sample] += count
    ami = measures.adjusted_mutual_information(pairs)
    passed = ami >= ami_min and (ami_max is None or ami <= ami_max)
    check_formattable(ami_min, *([] if ami_max is None else [ami_max]))
    return passed, {"ami": ami, "ami_min_threshold": ami_min, "ami_max_threshold": ami_max, "clusters": clusters, "samples": samples}


def to_array(labels: list) -> list:
    """Converts labels as numpy.array does: to str if one is a str, else to float if one is a float.

    Raises TypeError for a label that is neither string nor number, ValueError for a
    float that is not finite.
    """
    if not all(isinstance(label, (str, int, float)) for label in labels):
        raise TypeError("a label that is neither string nor number")
    if any(isinstance(label, str) for label in labels):
        return [str(label) for label in labels]
    if any(isinstance(label, float) for label in labels):
        labels = [float(label) for label in labels]
        if not all(map(math.isfinite, labels)):
            raise ValueError("a label that is not finite")
    return labels
