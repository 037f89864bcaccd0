"""marker_gene_precision_recall and marker_gene_separation."""

from __future__ import annotations

from rules.basics import UNGRADABLE, check_formattable, pass_thresholds


def marker_gene_precision_recall(config: dict, answer) -> tuple[bool, dict]:
    canonical = config.get("canonical_markers", config.get("ground_truth_labels", []))
    thresholds = pass_thresholds(config)
    field = config.get("answer_field", "top_marker_genes")
    if field not in answer:
        for key in answer.keys():
            if isinstance(answer[key], (list, dict)):
                field = key
                break
        else:
            return UNGRADABLE
    predicted = answer[field]
    if isinstance(canonical, dict) and isinstance(predicted, dict):
        return grade_cell_types(canonical, predicted, thresholds, field)
    if isinstance(canonical, dict) and field in canonical:
        canonical = canonical[field]
    if not isinstance(predicted, list) or not isinstance(canonical, list):
        return UNGRADABLE
    return grade_list(canonical, predicted, thresholds, field)


def by_lower_case(genes) -> dict[str, str]:
    """Returns the names by their lower-case form; of several spellings the last wins."""
    return {str(gene).lower(): str(gene) for gene in genes}


def grade_list(canonical: list, predicted: list, thresholds: dict, field) -> tuple[bool, dict]:
    min_precision, min_recall = thresholds.get("precision_at_k", 0.60), thresholds.get("recall_at_k", 0.50)
    wanted, given = by_lower_case(canonical), by_lower_case(predicted)
    hits = wanted.keys() & given.keys()
    precision = len(hits) / len(predicted) if predicted else 0.0
    recall = len(hits) / len(wanted) if wanted else 0.0
    precision_pass, recall_pass = precision >= min_precision, recall >= min_recall
    check_formattable(min_precision, min_recall)
    extra, missed = given.keys() - hits, wanted.keys() - hits
    return precision_pass and recall_pass, {
        "k": len(predicted),
        "precision_at_k": precision,
        "recall_at_k": recall,
        "precision_threshold": min_precision,
        "recall_threshold": min_recall,
        "true_positives": sorted(given[gene] for gene in hits),
        "false_positives": sorted(given[gene] for gene in extra),
        "false_negatives": sorted(wanted[gene] for gene in missed),
        "num_true_positives": len(hits),
        "num_false_positives": len(extra),
        "num_false_negatives": len(missed),
        "num_canonical_markers": len(wanted),
        "precision_pass": precision_pass,
        "recall_pass": recall_pass,
        "answer_field_used": field,
    }


def grade_cell_types(canonical: dict, predicted: dict, thresholds: dict, field) -> tuple[bool, dict]:
    min_recall = thresholds.get("min_recall_per_celltype", thresholds.get("recall_at_k", 0.50))
    min_passing = thresholds.get("min_celltypes_passing", len(canonical))
    results = {kind: grade_cell_type(genes, predicted.get(kind, []), min_recall) for kind, genes in canonical.items()}
    for _ in results:
        check_formattable(min_recall)
    passing = sum(result["pass"] for result in results.values())
    return passing >= min_passing, {
        "celltypes_passing": passing,
        "total_celltypes": len(canonical),
        "min_celltypes_passing": min_passing,
        "min_recall_per_celltype": min_recall,
        "per_celltype": results,
        "answer_field_used": field,
    }


def grade_cell_type(canonical, predicted, min_recall) -> dict:
    if not isinstance(predicted, list):
        return {"pass": False, "recall": 0.0, "error": "no list"}
    wanted, given = by_lower_case(canonical).keys(), by_lower_case(predicted).keys()
    hits = wanted & given
    recall = len(hits) / len(wanted) if wanted else 1.0
    return {
        "pass": recall >= min_recall,
        "recall": recall,
        "num_predicted": len(predicted),
        "num_canonical": len(wanted),
        "true_positives": sorted(hits),
        "false_negatives": sorted(wanted - hits),
    }


def marker_gene_separation(config: dict, answer) -> tuple[bool, dict]:
    thresholds = pass_thresholds(config)
    min_mean, min_share = thresholds.get("mean_auroc", 0.85), thresholds.get("fraction_high", 0.70)
    cutoff = thresholds.get("per_gene_cutoff", 0.80)
    if "per_gene_stats" not in answer or "mean_auroc" not in answer:
        return UNGRADABLE
    stats, mean = answer["per_gene_stats"], answer["mean_auroc"]
    if not isinstance(stats, list) or not stats:
        return UNGRADABLE
    genes = {}
    for stat in stats:
        if not isinstance(stat, dict) or "gene" not in stat or "auroc" not in stat:
            return UNGRADABLE
        genes[stat["gene"]] = stat["auroc"]
    total = 0
    for value in genes.values():  # not sum(), which since Python 3.12 compensates rounding errors
        total += value
    computed = total / len(genes)
    high = [gene for gene, value in genes.items() if value >= cutoff]
    low = [gene for gene, value in genes.items() if value < cutoff]
    share = len(high) / len(stats)
    mean_pass, share_pass = mean >= min_mean, share >= min_share
    check_formattable(mean, min_mean, cutoff)
    if not share_pass:
        check_formattable(min_share)
    return mean_pass and share_pass, {
        "num_genes": len(stats),
        "mean_auroc_agent": mean,
        "mean_auroc_computed": computed,
        "mean_auroc_threshold": min_mean,
        "fraction_high": share,
        "fraction_high_threshold": min_share,
        "per_gene_cutoff": cutoff,
        "num_high_auroc_genes": len(high),
        "num_low_auroc_genes": len(low),
        "high_auroc_genes": sorted(high),
        "low_auroc_genes": sorted(low),
        "mean_auroc_pass": mean_pass,
        "fraction_high_pass": share_pass,
        "per_gene_aurocs": genes,
    }
