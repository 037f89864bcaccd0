"""marker_gene_precision_recall and marker_gene_separation."""

from __future__ import annotations

from rules.basics import UNGRADABLE, thresholds_of, written


def marker_gene_precision_recall(config: dict, answer) -> tuple[bool, dict]:
    canonical = config.get("canonical_markers", config.get("ground_truth_labels", []))
    thresholds = thresholds_of(config)
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
        return per_cell_type(canonical, predicted, thresholds, field)
    if isinstance(canonical, dict) and field in canonical:
        canonical = canonical[field]
    if not isinstance(predicted, list) or not isinstance(canonical, list):
        return UNGRADABLE
    return flat(canonical, predicted, thresholds, field)


def folded(genes) -> dict[str, str]:
    """Lower-case name to name, in which the last spelling wins."""
    return {str(gene).lower(): str(gene) for gene in genes}


def flat(canonical: list, predicted: list, thresholds: dict, field) -> tuple[bool, dict]:
    least_precision, least_recall = thresholds.get("precision_at_k", 0.60), thresholds.get("recall_at_k", 0.50)
    wanted, given = folded(canonical), folded(predicted)
    hits = wanted.keys() & given.keys()
    precision = len(hits) / len(predicted) if predicted else 0.0
    recall = len(hits) / len(wanted) if wanted else 0.0
    precise, complete = precision >= least_precision, recall >= least_recall
    written(least_precision, least_recall)
    extra, missed = given.keys() - hits, wanted.keys() - hits
    return precise and complete, {
        "k": len(predicted),
        "precision_at_k": precision,
        "recall_at_k": recall,
        "precision_threshold": least_precision,
        "recall_threshold": least_recall,
        "true_positives": sorted(given[gene] for gene in hits),
        "false_positives": sorted(given[gene] for gene in extra),
        "false_negatives": sorted(wanted[gene] for gene in missed),
        "num_true_positives": len(hits),
        "num_false_positives": len(extra),
        "num_false_negatives": len(missed),
        "num_canonical_markers": len(wanted),
        "precision_pass": precise,
        "recall_pass": complete,
        "answer_field_used": field,
    }


def per_cell_type(canonical: dict, predicted: dict, thresholds: dict, field) -> tuple[bool, dict]:
    least = thresholds.get("min_recall_per_celltype", thresholds.get("recall_at_k", 0.50))
    enough = thresholds.get("min_celltypes_passing", len(canonical))
    results = {kind: one_cell_type(genes, predicted.get(kind, []), least) for kind, genes in canonical.items()}
    for _ in results:
        written(least)
    passing = sum(result["pass"] for result in results.values())
    return passing >= enough, {
        "celltypes_passing": passing,
        "total_celltypes": len(canonical),
        "min_celltypes_passing": enough,
        "min_recall_per_celltype": least,
        "per_celltype": results,
        "answer_field_used": field,
    }


def one_cell_type(canonical, predicted, least) -> dict:
    if not isinstance(predicted, list):
        return {"pass": False, "recall": 0.0, "error": "no list"}
    wanted, given = folded(canonical).keys(), folded(predicted).keys()
    hits = wanted & given
    recall = len(hits) / len(wanted) if wanted else 1.0
    return {
        "pass": recall >= least,
        "recall": recall,
        "num_predicted": len(predicted),
        "num_canonical": len(wanted),
        "true_positives": sorted(hits),
        "false_negatives": sorted(wanted - hits),
    }


def marker_gene_separation(config: dict, answer) -> tuple[bool, dict]:
    thresholds = thresholds_of(config)
    least_mean, least_share = thresholds.get("mean_auroc", 0.85), thresholds.get("fraction_high", 0.70)
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
    for value in genes.values():  # sum() of a newer Python would add more exactly
        total += value
    computed = total / len(genes)
    high = [gene for gene, value in genes.items() if value >= cutoff]
    low = [gene for gene, value in genes.items() if value < cutoff]
    share = len(high) / len(stats)
    good_mean, good_share = mean >= least_mean, share >= least_share
    written(mean, least_mean, cutoff)
    if not good_share:
        written(least_share)
    return good_mean and good_share, {
        "num_genes": len(stats),
        "mean_auroc_agent": mean,
        "mean_auroc_computed": computed,
        "mean_auroc_threshold": least_mean,
        "fraction_high": share,
        "fraction_high_threshold": least_share,
        "per_gene_cutoff": cutoff,
        "num_high_auroc_genes": len(high),
        "num_low_auroc_genes": len(low),
        "high_auroc_genes": sorted(high),
        "low_auroc_genes": sorted(low),
        "mean_auroc_pass": good_mean,
        "fraction_high_pass": good_share,
        "per_gene_aurocs": genes,
    }
