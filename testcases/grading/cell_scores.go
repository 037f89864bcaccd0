package grading

import (
	"assay/internal/stats"
	"assay/testcases/grading/pyvalue"
)

// scoresOf scores each sample in a list of the answer.
func scoresOf(given *pyvalue.Object, field string, markers pyvalue.List) ([]float64, error) {
	samples, err := pyvalue.Iterate(field, given.Get(field))
	if err != nil {
		return nil, err
	}
	if err := affordable(field+" and markers", len(samples), len(markers)); err != nil {
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

type clusterScore struct {
	name  pyvalue.String
	score float64
}

// clusterScores scores the clusters, and sorts them from the highest down. Of
// equal ones the first listed comes first.
func clusterScores(medians pyvalue.Value, markers pyvalue.List) ([]clusterScore, error) {
	clusters, ok := medians.(*pyvalue.Object)
	if !ok {
		return nil, pyvalue.TypeError("cluster_medians: want an object, found %s", pyvalue.KindOf(medians))
	}
	if err := affordable("cluster_medians and markers", clusters.Len(), len(markers)); err != nil {
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
	sorted := make([]clusterScore, len(names))
	for i, at := range stats.RankDescending(scores) {
		sorted[i] = clusterScore{names[at], scores[at]}
	}
	return sorted, nil
}

// markerScore is the mean over the markers of what cell, an object of marker to
// number, has for them. Without markers it is 0, whatever cell is.
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
		v, err := take(given, marker)
		if err != nil {
			return 0, err
		}
		if v == nil {
			continue
		}
		n, ok := pyvalue.AsNumber(v)
		if !ok {
			return 0, pyvalue.TypeError("%s: the value of %s is not a number but %s", field, show(marker), show(v))
		}
		if values[i], err = n.Float(); err != nil {
			return 0, err
		}
	}
	return stats.PairwiseSum(values) / float64(len(values)), nil
}
