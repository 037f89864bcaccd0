"""multiple_choice, boolean_check and label_set_jaccard."""

from __future__ import annotations

from rules.basics import UNGRADABLE, check_formattable


def multiple_choice(config: dict, answer) -> tuple[bool, dict]:
    correct = config["correct_answers"] if "correct_answers" in config else [config.get("correct_answer", "")]
    correct = [entry.strip().upper() for entry in correct]
    if "answer" not in answer:
        return UNGRADABLE
    given = str(answer["answer"]).strip().upper()
    return given in correct, {"correct_answers": correct, "agent_answer": given}


def boolean_check(config: dict, answer) -> tuple[bool, dict]:
    metrics, passed = {}, True
    for field, expected in config.get("ground_truth", {}).items():
        given = answer[field] if field in answer else None
        if not isinstance(expected, bool) or not isinstance(given, bool):
            passed = False
            continue
        passed = passed and given == expected
        metrics.update({f"{field}_actual": given, f"{field}_expected": expected, f"{field}_pass": given == expected})
    return passed, metrics


def label_set_jaccard(config: dict, answer) -> tuple[bool, dict]:
    truth = set(config.get("ground_truth_labels", []))
    threshold = config.get("scoring", {}).get("pass_threshold", 0.90)
    field = config.get("answer_field", "cell_types_predicted")
    if field not in answer:
        return UNGRADABLE
    predicted = set(answer[field])
    union = truth | predicted
    index = len(truth & predicted) / len(union) if union else 0.0
    passed = index >= threshold
    check_formattable(threshold)
    return passed, {
        "jaccard_index": index,
        "pass_threshold": threshold,
        "answer_field": field,
        "true_positives": sorted(truth & predicted),
        "false_positives": sorted(predicted - truth),
        "false_negatives": sorted(truth - predicted),
        "predicted_count": len(predicted),
        "ground_truth_count": len(truth),
    }
