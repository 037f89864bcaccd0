package grading

import (
	"fmt"
	"math"
)

// cellTyping passes when the cluster that the answer chose scores highest on the
// markers, by a factor over the second, and the samples it took from there score
// higher than the others, by their AUROC. A score is the mean over all markers,
// in which one that is not given is 0.
func cellTyping(config *Object, answer Value) (Result, error) {
	markers, err := iterate("markers", orElse(config, "markers", List{}))
	if err != nil {
		return Result{}, err
	}
	r := newReport("Cell typing")
	given, missing, err := withFields(answer, "chosen_cluster", "samples_chosen", "samples_other", "cluster_medians")
	if err != nil || missing != nil {
		return r.without(answer, missing...), err
	}
	chosen, err := scoresOf(given, "samples_chosen", markers)
	if err != nil {
		return Result{}, err
	}
	others, err := scoresOf(given, "samples_other", markers)
	if err != nil {
		return Result{}, err
	}
	area, err := auroc(chosen, others)
	if err != nil {
		r.fail(err.Error())
		return r.verdict(), nil
	}
	clusters, err := clusterScores(given.Get("cluster_medians"), markers)
	if err != nil {
		return Result{}, err
	}
	if len(clusters) < 2 {
		r.fail(fmt.Sprintf("cluster_medians: want at least 2 clusters, found %d", len(clusters)))
		return r.verdict(), nil
	}
	thresholds, err := typingThresholds(config)
	if err != nil {
		return Result{}, err
	}
	return r.cellTyping(area, clusters, given.Get("chosen_cluster"), thresholds)
}

// typingThresholds returns an object with auroc and gap_ratio. Thresholds that
// are given must have both.
func typingThresholds(config *Object) (*Object, error) {
	if !config.Has("thresholds") {
		thresholds := NewObject("auroc", Float(0.75))
		thresholds.Set("gap_ratio", Float(1.15))
		return thresholds, nil
	}
	thresholds, err := section(config, "thresholds")
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"auroc", "gap_ratio"} {
		if !thresholds.Has(key) {
			return nil, &Error{Kind: "key_error", Text: "thresholds: " + key + " is missing"}
		}
	}
	return thresholds, nil
}

func (r *report) cellTyping(area float64, clusters []clusterScore, chosen Value, thresholds *Object) (Result, error) {
	if _, err := hash(chosen); err != nil {
		return Result{}, typeError("chosen_cluster: want the name of a cluster, found %s", KindOf(chosen))
	}
	top, second, own := clusters[0], clusters[1], 0.0
	for _, cluster := range clusters {
		if equal(cluster.name, chosen) {
			own = cluster.score
		}
	}
	gap := math.Inf(1)
	if second.score > 0 {
		gap = top.score / second.score
	}
	r.metrics.Set("geneset_auroc", Float(area))
	r.metrics.Set("chosen_cluster_median_score", Float(own))
	r.metrics.Set("top_cluster", top.name)
	r.metrics.Set("top_cluster_median_score", Float(top.score))
	r.metrics.Set("second_best_cluster", second.name)
	r.metrics.Set("second_best_median_score", Float(second.score))
	r.metrics.Set("gap_ratio", Float(gap))

	isTop := equal(chosen, top.name)
	r.line(isTop, fmt.Sprintf("chose %s, highest is %s with %s, then %s with %s", show(chosen), show(top.name), floatText(top.score), show(second.name), floatText(second.score)))
	if !isTop {
		r.fail(fmt.Sprintf("chosen_cluster: found %s, expected %s, which scores highest", show(chosen), show(top.name)))
	}
	apart, err := r.atLeast("AUROC of the chosen samples", Float(area), thresholds.Get("auroc"))
	if err != nil {
		return Result{}, err
	}
	ahead, err := r.atLeast("highest score by second", Float(gap), thresholds.Get("gap_ratio"))
	if err != nil {
		return Result{}, err
	}
	r.metrics.Set("is_top_cluster", Bool(isTop))
	r.metrics.Set("auroc_pass", Bool(apart))
	r.metrics.Set("gap_pass", Bool(ahead))
	return r.verdict(), nil
}
