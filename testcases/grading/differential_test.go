package grading_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
	"assay/testcases/grading/pyvalue/pyvaluetest"
)

// configAndAnswer is the config and the answer of one grading.
type configAndAnswer struct {
	Grader string          `json:"grader"`
	Config *pyvalue.Object `json:"config"`
	Answer pyvalue.Value   `json:"answer"`
}

// Many pairs of config and answer, plausible and mutated, get the same verdict, metrics
// (in the same order) and kind of error from Assay's graders as from the Python ones in
// testdata/graders.py.
func TestGradersAgreeWithPythonGraders(t *testing.T) {
	t.Parallel()
	const each = 1500
	var pairs []configAndAnswer
	for grader, draw := range plausibleDrawsByType() {
		name := fnv.New64()
		name.Write([]byte(grader))
		g := valueGenerator{rand.New(rand.NewPCG(1, name.Sum64()))}
		for range each {
			config, answer := draw(g)
			for range max(0, g.IntN(5)-1) {
				if g.IntN(2) == 0 {
					config = pyvaluetest.RequireObject(t, g.mutateObject(config))
				} else {
					answer = g.mutateValue(answer)
				}
			}
			pairs = append(pairs, configAndAnswer{grader, config, answer})
		}
	}
	verdicts := map[string]map[string]int{}
	for i, python := range gradeInPython(t, pairs) {
		p := pairs[i]
		got := grading.Grade(t.Context(), grading.Spec{Type: p.Grader, Config: p.Config}, grading.Input{Answer: p.Answer})
		if difference := describeResultDiff(python, got); difference != "" {
			t.Errorf("%s: %s\n%s", p.Grader, difference, pyvaluetest.MarshalToString(t, p))
		}
		if verdicts[p.Grader] == nil {
			verdicts[p.Grader] = map[string]int{}
		}
		verdicts[p.Grader][resultOutcomeWithoutErrorKind(got)]++
	}
	for grader, seen := range verdicts {
		for _, kind := range []string{"pass", "fail with metrics", "fail", "error"} {
			require.Greater(t, seen[kind], each/100, "%s: too few of %q to say that it was tested", grader, kind)
		}
	}
}

func resultOutcomeWithoutErrorKind(r grading.Result) string {
	switch {
	case r.Error != nil:
		return "error"
	case r.Passed:
		return "pass"
	case r.Metrics.Len() > 0:
		return "fail with metrics"
	default:
		return "fail"
	}
}

// gradeInPython grades the pairs of config and answer with testdata/graders.py and
// returns the results.
func gradeInPython(t *testing.T, pairs []configAndAnswer) []*pyvalue.Object {
	t.Helper()
	var stdin, stderr bytes.Buffer
	for _, p := range pairs {
		require.NoError(t, json.NewEncoder(&stdin).Encode(p))
	}
	cmd := exec.CommandContext(t.Context(), "python3", "testdata/graders.py")
	cmd.Env = append(cmd.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	cmd.Stdin, cmd.Stderr = &stdin, &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	var answers []*pyvalue.Object
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Buffer(nil, 1<<20); lines.Scan(); {
		answers = append(answers, pyvaluetest.RequireObject(t, pyvaluetest.MustDecode(t, lines.Text())))
	}
	require.Len(t, answers, len(pairs))
	return answers
}

// describeResultDiff describes how a result differs from Python's, or returns "" if it does
// not.
func describeResultDiff(python *pyvalue.Object, got grading.Result) string {
	want := python.Get("passed")
	switch {
	case (python.Get("raised") != pyvalue.Null{}) != (got.Error != nil):
		return "raised " + pyvalue.Str(python.Get("raised")) + ", found " + got.Reasoning
	case want != pyvalue.Bool(got.Passed) && !verdictDependsOnRounding(got.Metrics):
		return "passed " + pyvalue.Str(want) + ", found " + got.Reasoning
	case got.Error != nil && got.Error.Kind == "panic":
		return got.Error.Text
	}
	return firstMetricDiff("metrics", python.Get("metrics"), got.Metrics)
}

// verdictDependsOnRounding reports whether the verdict depends on the rounding of a statistic,
// which differs between implementations.
func verdictDependsOnRounding(metrics *pyvalue.Object) bool {
	ami, ok := metrics.Get("ami").(pyvalue.Float)
	for _, bound := range []string{"ami_min_threshold", "ami_max_threshold"} {
		f, isNumber := pyvalue.ParseFloat(pyvalue.Str(metrics.Get(bound)))
		if ok && isNumber && math.Abs(f-float64(ami)) < 1e-9 {
			return true
		}
	}
	return false
}

func firstMetricDiff(path string, want, got pyvalue.Value) string {
	switch want := want.(type) {
	case *pyvalue.Object:
		if got, ok := got.(*pyvalue.Object); ok && slices.Equal(keysOfObject(want), keysOfObject(got)) {
			for key, item := range want.All() {
				if d := firstMetricDiff(path+"."+key, item, got.Get(key)); d != "" {
					return d
				}
			}
			return ""
		}
	case pyvalue.Float:
		if got, ok := got.(pyvalue.Float); ok && isCloseMetric(path, float64(want), float64(got)) {
			return ""
		}
	default:
		if sortedJSONText(want) == sortedJSONText(got) || strings.HasSuffix(path, ".error") {
			return ""
		}
	}
	return path + ": want " + pyvalue.Repr(want) + ", found " + pyvalue.Repr(got)
}

// sortedJSONText returns a value as Python writes it, with lists that contain NaN in a
// fixed order, since sorting leaves them in any order.
func sortedJSONText(v pyvalue.Value) string {
	var items []string
	list, _ := v.(pyvalue.List)
	for _, item := range list {
		items = append(items, pyvalue.Repr(item))
	}
	if !slices.Contains(items, "nan") {
		return pyvalue.Repr(v)
	}
	slices.Sort(items)
	return strings.Join(items, " ")
}

// isCloseMetric reports whether two metrics are the same float, or nearly so where
// Python uses another formula.
func isCloseMetric(path string, want, got float64) bool {
	switch path {
	case "metrics.ami", "metrics.p_value", "metrics.q_value":
		if math.Abs(want-got) <= 1e-9*math.Abs(want)+1e-13 {
			return true
		}
	}
	return pyvalue.Repr(pyvalue.Float(want)) == pyvalue.Repr(pyvalue.Float(got))
}
