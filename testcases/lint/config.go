package lint

import (
	"math"
	"slices"
	"strings"

	"assay/testcases/grading/pyvalue"
)

// checkKinds checks that parts of a config are objects or lists.
func (g *graderCheck) checkKinds() {
	for _, part := range []struct{ key, code, want string }{
		{"ground_truth", "E060", "an object"},
		{"ground_truth_labels", "E062", "a list"},
		{"scoring", "E065", "an object"},
	} {
		v := g.config.Get(part.key)
		if slices.Contains(g.keys(), part.key) && !isAbsent(v) && !strings.HasSuffix(part.want, pyvalue.KindOf(v)) {
			g.add(part.code, g.location(part.key), "want %s, found %s", part.want, showValue(v))
		}
	}
}

// checkThresholds checks that thresholds of shares are from 0 to 1.
func (g *graderCheck) checkThresholds() {
	scoring, _ := g.config.Get("scoring").(*pyvalue.Object)
	switch g.kind {
	case "label_set_jaccard", "jaccard_label_set":
		g.checkFraction("E081", scoring, "scoring.", "pass_threshold")
	case "marker_gene_precision_recall":
		thresholds, _ := scoring.Get("pass_thresholds").(*pyvalue.Object)
		g.checkFraction("E082", thresholds, "scoring.pass_thresholds.", "precision_at_k")
		g.checkFraction("E082", thresholds, "scoring.pass_thresholds.", "recall_at_k")
	}
}

// checkFraction adds an issue if a number is below 0 or above 1.
func (g *graderCheck) checkFraction(code string, object *pyvalue.Object, path, key string) {
	if v := object.Get(key); isLess(v, pyvalue.NewInt(0)) || isLess(pyvalue.NewInt(1), v) {
		g.add(code, g.location(path+key), "want a share from 0 to 1, found %s", showValue(object.Get(key)))
	}
}

// warnUnlikelyConfig adds warnings for configs that are valid but probably not meant.
func (g *graderCheck) warnUnlikelyConfig() {
	has := g.config.Has
	switch {
	case g.kind == "numeric_tolerance" && has("tolerance") && has("tolerances"):
		g.add("W085", g.path+".config", "tolerance is ignored where there are tolerances: leave it out")
	case g.kind == "marker_gene_precision_recall" && !has("canonical_markers") && has("ground_truth_labels"):
		g.add("W086", g.path+".config", "ground_truth_labels is read in place of canonical_markers: call it that")
	case g.kind == "distribution_comparison":
		g.checkPercentages()
	}
}

// checkPercentages checks that the sum of the compared percentages is about 100.
func (g *graderCheck) checkPercentages() {
	const sum, most = 100, 5
	truth, _ := g.config.Get("ground_truth").(*pyvalue.Object)
	distribution := truth
	if v := truth.Get("cell_type_distribution"); v != nil {
		distribution, _ = v.(*pyvalue.Object)
	}
	total, any := 0.0, false
	for _, v := range distribution.All() {
		n, ok := pyvalue.AsNumber(v)
		if !ok {
			continue
		}
		f, err := n.Float()
		switch {
		case err != nil: // an integer that is too large for a float
			f = math.Inf(n.Int().Sign())
		case math.IsNaN(f):
			return // a sum with NaN is not checked
		}
		total, any = total+f, true
	}
	if any && math.Abs(total-sum) > most {
		g.add("W080", g.location("ground_truth"), "the percentages are %g in sum: want about %d, shares of 1 are not percentages", total, sum)
	}
}
