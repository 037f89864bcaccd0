package lint

import (
	"math"
	"slices"
	"strings"

	"assay/testcases/grading/pyvalue"
)

// checkConfigKinds checks that those parts of a grader config that must be objects or
// lists are.
func (g *graderChecker) checkConfigKinds() {
	for _, part := range []struct{ key, code, want string }{
		{"ground_truth", "E060", "an object"},
		{"ground_truth_labels", "E062", "a list"},
		{"scoring", "E065", "an object"},
	} {
		v := g.config.Get(part.key)
		if slices.Contains(g.readConfigKeys(), part.key) && !isAbsent(v) && !strings.HasSuffix(part.want, pyvalue.KindOf(v)) {
			g.addIssue(part.code, g.configLocation(part.key), "want %s, found %s", part.want, describeValue(v))
		}
	}
}

// checkThresholds adds an issue for each threshold of a share that is not from 0 to 1.
func (g *graderChecker) checkThresholds() {
	scoring, _ := g.config.Get("scoring").(*pyvalue.Object)
	switch g.kind {
	case "label_set_jaccard", "jaccard_label_set":
		g.checkIsFraction("E081", scoring, "scoring.", "pass_threshold")
	case "marker_gene_precision_recall":
		thresholds, _ := scoring.Get("pass_thresholds").(*pyvalue.Object)
		g.checkIsFraction("E082", thresholds, "scoring.pass_thresholds.", "precision_at_k")
		g.checkIsFraction("E082", thresholds, "scoring.pass_thresholds.", "recall_at_k")
	}
}

// checkIsFraction adds an issue if a number in the config is below 0 or above 1.
func (g *graderChecker) checkIsFraction(code string, object *pyvalue.Object, path, key string) {
	if v := object.Get(key); isValueLess(v, pyvalue.NewInt(0)) || isValueLess(pyvalue.NewInt(1), v) {
		g.addIssue(code, g.configLocation(path+key), "want a share from 0 to 1, found %s", describeValue(object.Get(key)))
	}
}

// warnUnlikelyConfig adds warnings for grader configs that are valid but probably not
// meant.
func (g *graderChecker) warnUnlikelyConfig() {
	has := g.config.Has
	switch {
	case g.kind == "numeric_tolerance" && has("tolerance") && has("tolerances"):
		g.addIssue("W085", g.path+".config", "tolerance is ignored where there are tolerances: leave it out")
	case g.kind == "marker_gene_precision_recall" && !has("canonical_markers") && has("ground_truth_labels"):
		g.addIssue("W086", g.path+".config", "ground_truth_labels is read in place of canonical_markers: call it that")
	case g.kind == "distribution_comparison":
		g.checkPercentages()
	}
}

// checkPercentages adds a warning if the sum of the compared percentages is not about
// 100.
func (g *graderChecker) checkPercentages() {
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
		g.addIssue("W080", g.configLocation("ground_truth"), "the percentages are %g in sum: want about %d, shares of 1 are not percentages", total, sum)
	}
}
