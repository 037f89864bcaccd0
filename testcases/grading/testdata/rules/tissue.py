"""distribution_comparison, spatial_adjacency and cell_typing."""

from __future__ import annotations

import math

from rules.basics import UNGRADABLE, check_formattable, pass_thresholds
from rules.measures import auroc, pairwise_sum


def distribution_comparison(config: dict, answer) -> tuple[bool, dict]:
    truth, tolerances = config.get("ground_truth", {}), config.get("tolerances", {})
    expected_total = truth.get("total_cells")
    expected = truth.get("cell_type_distribution", {})
    tolerance = tolerances.get("cell_type_percentages", {}).get("value", 3.0)
    if "cell_type_distribution" not in answer:
        return UNGRADABLE
    total, distribution = answer.get("total_cells"), answer["cell_type_distribution"]
    metrics, verdicts = {}, []
    if expected_total is not None and total is not None:
        difference = abs(total - expected_total)
        verdicts.append(difference <= tolerances.get("total_cells", {}).get("value", 0))
        metrics = {
            "total_cells_actual": total,
            "total_cells_expected": expected_total,
            "total_cells_diff": difference,
            "total_cells_pass": verdicts[-1],
        }
    for kind, percent in expected.items():
        check_formattable(percent)
        actual = difference = None
        verdicts.append(False)
        if kind in distribution:
            actual = distribution[kind]
            difference = abs(actual - percent)
            verdicts[-1] = difference <= tolerance
            check_formattable(actual, difference)
        metrics.update({f"{kind}_actual": actual, f"{kind}_expected": percent, f"{kind}_diff": difference, f"{kind}_pass": verdicts[-1]})
    extra = set(distribution.keys()) - set(expected)
    if extra:
        metrics["extra_cell_types"] = sorted(extra)
    return all(verdicts), metrics


def spatial_adjacency(config: dict, answer) -> tuple[bool, dict]:
    thresholds = pass_thresholds(config)
    max_median, max_p90 = thresholds.get("max_median_ic_to_pc_um", 25.0), thresholds.get("max_p90_ic_to_pc_um", 80.0)
    min_within_15 = thresholds.get("min_pct_ic_within_15um", 60.0)
    min_mixed_55 = thresholds.get("min_pct_ic_mixed_within_55um", 60.0)
    fields = ["median_ic_to_pc_um", "p90_ic_to_pc_um", "pct_ic_within_15um", "pct_ic_mixed_within_55um", "adjacency_pass"]
    if not all([field in answer for field in fields]):
        return UNGRADABLE
    median, p90, within_15, mixed_55, adjacent = (answer[field] for field in fields)
    tests = [median <= max_median, p90 <= max_p90, within_15 >= min_within_15, mixed_55 >= min_mixed_55]
    check_formattable(median, max_median, p90, max_p90, within_15, min_within_15, mixed_55, min_mixed_55)
    return all(tests) and bool(adjacent), {
        **{field: answer[field] for field in fields},
        "max_median_threshold": max_median,
        "max_p90_threshold": max_p90,
        "min_pct_15um_threshold": min_within_15,
        "min_pct_55um_threshold": min_mixed_55,
        **dict(zip(("median_pass", "p90_pass", "within_15um_pass", "mixed_55um_pass"), tests)),
    }


def cell_typing(config: dict, answer) -> tuple[bool, dict]:
    markers = list(config.get("markers", []))
    thresholds = config.get("thresholds", {"auroc": 0.75, "gap_ratio": 1.15})
    fields = ["chosen_cluster", "samples_chosen", "samples_other", "cluster_medians"]
    if not all([field in answer for field in fields]):
        return UNGRADABLE
    chosen, inside, outside, medians = (answer[field] for field in fields)
    inside, outside = [mean_marker_value(cell, markers) for cell in inside], [mean_marker_value(cell, markers) for cell in outside]
    try:
        area = auroc(inside, outside)
    except ValueError:
        return UNGRADABLE
    scores = {cluster: mean_marker_value(cell, markers) for cluster, cell in medians.items()}
    if len(scores) < 2:
        return UNGRADABLE
    (top, first), (runner_up, second) = sorted(scores.items(), key=lambda item: item[1], reverse=True)[:2]
    gap = first / second if second > 0 else math.inf
    tests = {
        "is_top_cluster": chosen == top,
        "auroc_pass": area >= thresholds["auroc"],
        "gap_pass": gap >= thresholds["gap_ratio"],
    }
    return all(tests.values()), {
        "geneset_auroc": area,
        "chosen_cluster_median_score": scores.get(chosen, 0.0),
        "top_cluster": top,
        "top_cluster_median_score": first,
        "second_best_cluster": runner_up,
        "second_best_median_score": second,
        "gap_ratio": gap,
        **tests,
    }


def mean_marker_value(cell: dict, markers: list) -> float:
    """Returns the mean of the markers' values in the cell, 0.0 for a missing one. Raises TypeError for a value that is not a number."""
    values = [cell.get(marker, 0.0) for marker in markers]
    if not all(isinstance(value, (int, float)) for value in values):
        raise TypeError("the value of a marker is not a number")
    return pairwise_sum([float(value) for value in values]) / len(values) if values else 0.0
