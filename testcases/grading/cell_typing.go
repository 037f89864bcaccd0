package grading

import (
	"fmt"
	"math"
	"slices"

	"assay/internal/stats"
	"assay/testcases/grading/pyvalue"
)

// gradeCellTyping passes if the cluster that the answer chose has the highest score,
// exceeds the second by a factor, and the samples from it score higher than the others,
// measured by their AUROC. A score is the mean over all markers, in which an absent
// marker counts as 0.
func gradeCellTyping(config *pyvalue.Object, answer pyvalue.Value) (Result, error) {
	markers, err := pyvalue.IterateItems("markers", getOrDefault(config, "markers", pyvalue.List{}))
	if err != nil {
		return Result{}, err
	}
	r := newGraderReport("Cell typing")
	given, missing, err := splitMissingFields(answer, "chosen_cluster", "samples_chosen", "samples_other", "cluster_medians")
	if err != nil || missing != nil {
		return r.missingFieldsResult(answer, missing...), err
	}
	chosen, err := markerScoresOfSamples(given, "samples_chosen", markers)
	if err != nil {
		return Result{}, err
	}
	others, err := markerScoresOfSamples(given, "samples_other", markers)
	if err != nil {
		return Result{}, err
	}
	area, err := aurocOrError(chosen, others)
	if err != nil {
		r.addFailure(err.Error())
		return r.binaryResult(), nil
	}
	clusters, err := scoreClusters(given.Get("cluster_medians"), markers)
	if err != nil {
		return Result{}, err
	}
	if len(clusters) < 2 {
		r.addFailure(fmt.Sprintf("cluster_medians: want at least 2 clusters, found %d", len(clusters)))
		return r.binaryResult(), nil
	}
	thresholds, err := cellTypingThresholds(config)
	if err != nil {
		return Result{}, err
	}
	return r.checkCellTyping(area, clusters, given.Get("chosen_cluster"), thresholds)
}

// aurocOrError returns the area under the ROC curve (AUROC) of positive and negative
// scores, or a value error if a side is empty or a score is not finite.
func aurocOrError(positive, negative []float64) (float64, error) {
	if len(positive) == 0 || len(negative) == 0 {
		return 0, pyvalue.ValueError("an AUROC needs samples on both sides, found %d and %d", len(positive), len(negative))
	}
	for _, score := range slices.Concat(positive, negative) {
		if math.IsNaN(score) || math.IsInf(score, 0) {
			return 0, pyvalue.ValueError("an AUROC needs finite scores, found %s", pyvalue.FormatFloat(score))
		}
	}
	return stats.AUROC(positive, negative), nil
}

// cellTypingThresholds returns an object with the thresholds auroc and gap_ratio of a
// cell_typing config. If the config has one of them, it must have both; otherwise the
// result is a key error. If it has neither, the defaults are returned.
func cellTypingThresholds(config *pyvalue.Object) (*pyvalue.Object, error) {
	if !config.Has("thresholds") {
		thresholds := pyvalue.NewObject("auroc", pyvalue.Float(0.75))
		thresholds.Set("gap_ratio", pyvalue.Float(1.15))
		return thresholds, nil
	}
	thresholds, err := getConfigSection(config, "thresholds")
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"auroc", "gap_ratio"} {
		if !thresholds.Has(key) {
			return nil, &pyvalue.Error{Kind: "key_error", Text: "thresholds: " + key + " is missing"}
		}
	}
	return thresholds, nil
}

// checkCellTyping sets the metrics of a cell_typing answer and checks the three
// conditions of a pass. clusters has at least two items, the highest score first.
func (r *graderReport) checkCellTyping(area float64, clusters []scoredCluster, chosen pyvalue.Value, thresholds *pyvalue.Object) (Result, error) {
	if pyvalue.CheckHashable(chosen) != nil {
		return Result{}, pyvalue.TypeError("chosen_cluster: want the name of a cluster, found %s", pyvalue.KindOf(chosen))
	}
	top, second, own := clusters[0], clusters[1], 0.0
	for _, cluster := range clusters {
		if pyvalue.Equal(cluster.name, chosen) {
			own = cluster.score
		}
	}
	gap := math.Inf(1)
	if second.score > 0 {
		gap = top.score / second.score
	}
	r.metrics.Set("geneset_auroc", pyvalue.Float(area))
	r.metrics.Set("chosen_cluster_median_score", pyvalue.Float(own))
	r.metrics.Set("top_cluster", top.name)
	r.metrics.Set("top_cluster_median_score", pyvalue.Float(top.score))
	r.metrics.Set("second_best_cluster", second.name)
	r.metrics.Set("second_best_median_score", pyvalue.Float(second.score))
	r.metrics.Set("gap_ratio", pyvalue.Float(gap))

	isTop := pyvalue.Equal(chosen, top.name)
	r.addLine(isTop, fmt.Sprintf("chose %s, highest is %s with %s, then %s with %s", formatValue(chosen), formatValue(top.name), pyvalue.FormatFloat(top.score), formatValue(second.name), pyvalue.FormatFloat(second.score)))
	if !isTop {
		r.addFailure(fmt.Sprintf("chosen_cluster: found %s, expected %s, which scores highest", formatValue(chosen), formatValue(top.name)))
	}
	apart, err := r.requireAtLeast("AUROC of the chosen samples", pyvalue.Float(area), thresholds.Get("auroc"))
	if err != nil {
		return Result{}, err
	}
	ahead, err := r.requireAtLeast("highest score by second", pyvalue.Float(gap), thresholds.Get("gap_ratio"))
	if err != nil {
		return Result{}, err
	}
	r.metrics.Set("is_top_cluster", pyvalue.Bool(isTop))
	r.metrics.Set("auroc_pass", pyvalue.Bool(apart))
	r.metrics.Set("gap_pass", pyvalue.Bool(ahead))
	return r.binaryResult(), nil
}

// markerScoresOfSamples returns the marker score of each sample in a list of the
// answer.
func markerScoresOfSamples(given *pyvalue.Object, field string, markers pyvalue.List) ([]float64, error) {
	samples, err := pyvalue.IterateItems(field, given.Get(field))
	if err != nil {
		return nil, err
	}
	if err := checkGraderSteps(field+" and markers", len(samples), len(markers)); err != nil {
		return nil, err
	}
	scores := make([]float64, len(samples))
	for i, sample := range samples {
		if scores[i], err = markerScore(field, sample, markers); err != nil {
			return nil, err
		}
	}
	return scores, nil
}

// scoredCluster is a cluster of a cell_typing answer with its marker score.
type scoredCluster struct {
	name  pyvalue.String
	score float64
}

// scoreClusters returns the clusters with their marker scores, from the highest score
// down. Of equal scores, the one listed first comes first.
func scoreClusters(medians pyvalue.Value, markers pyvalue.List) ([]scoredCluster, error) {
	clusters, ok := medians.(*pyvalue.Object)
	if !ok {
		return nil, pyvalue.TypeError("cluster_medians: want an object, found %s", pyvalue.KindOf(medians))
	}
	if err := checkGraderSteps("cluster_medians and markers", clusters.Len(), len(markers)); err != nil {
		return nil, err
	}
	var names []pyvalue.String
	var scores []float64
	for name, median := range clusters.All() {
		score, err := markerScore("cluster_medians", median, markers)
		if err != nil {
			return nil, err
		}
		names, scores = append(names, pyvalue.String(name)), append(scores, score)
	}
	sorted := make([]scoredCluster, len(names))
	for i, at := range stats.RankDescending(scores) {
		sorted[i] = scoredCluster{names[at], scores[at]}
	}
	return sorted, nil
}

// markerScore returns the mean of the markers' values in cell, an object from marker to
// number, in which an absent marker counts as 0. Without markers it returns 0 for any
// cell.
func markerScore(field string, cell pyvalue.Value, markers pyvalue.List) (float64, error) {
	if len(markers) == 0 {
		return 0, nil
	}
	given, ok := cell.(*pyvalue.Object)
	if !ok {
		return 0, pyvalue.TypeError("%s: want objects of marker to value, found %s", field, pyvalue.KindOf(cell))
	}
	values := make([]float64, len(markers))
	for i, marker := range markers {
		v, err := pythonItemIfContained(given, marker)
		if err != nil {
			return 0, err
		}
		if v == nil {
			continue
		}
		n, ok := pyvalue.AsNumber(v)
		if !ok {
			return 0, pyvalue.TypeError("%s: the value of %s is not a number but %s", field, formatValue(marker), formatValue(v))
		}
		if values[i], err = n.Float(); err != nil {
			return 0, err
		}
	}
	return stats.PairwiseSum(values) / float64(len(values)), nil
}
