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

// pair is something to grade.
type pair struct {
	Grader string          `json:"grader"`
	Config *pyvalue.Object `json:"config"`
	Answer pyvalue.Value   `json:"answer"`
}

// TestAgainstPython grades many pairs of config and answer, plausible ones and
// what becomes of them by a mutation or several, and wants what
// testdata/graders.py makes of them: the verdict, the metrics and their order,
// and whether it was an error.
func TestAgainstPython(t *testing.T) {
	t.Parallel()
	const each = 1500
	var pairs []pair
	for grader, draw := range plausible() {
		name := fnv.New64()
		name.Write([]byte(grader))
		g := gen{rand.New(rand.NewPCG(1, name.Sum64()))}
		for range each {
			config, answer := draw(g)
			for range max(0, g.IntN(5)-1) {
				if g.IntN(2) == 0 {
					config = pyvaluetest.Object(t, g.mutateObject(config))
				} else {
					answer = g.mutate(answer)
				}
			}
			pairs = append(pairs, pair{grader, config, answer})
		}
	}
	verdicts := map[string]map[string]int{}
	for i, python := range askGraders(t, pairs) {
		p := pairs[i]
		got := grading.Grade(t.Context(), grading.Spec{Type: p.Grader, Config: p.Config}, grading.Input{Answer: p.Answer})
		if difference := differs(python, got); difference != "" {
			t.Errorf("%s: %s\n%s", p.Grader, difference, pyvaluetest.JSON(t, p))
		}
		if verdicts[p.Grader] == nil {
			verdicts[p.Grader] = map[string]int{}
		}
		verdicts[p.Grader][kindOf(got)]++
	}
	for grader, seen := range verdicts {
		for _, kind := range []string{"pass", "fail with metrics", "fail", "error"} {
			require.Greater(t, seen[kind], each/100, "%s: too few of %q to say that it was tested", grader, kind)
		}
	}
}

func kindOf(r grading.Result) string {
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

// askGraders asks testdata/graders.py.
func askGraders(t *testing.T, pairs []pair) []*pyvalue.Object {
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
		answers = append(answers, pyvaluetest.Object(t, pyvaluetest.Decode(t, lines.Text())))
	}
	require.Len(t, answers, len(pairs))
	return answers
}

// differs says where a result is not what Python said, "" if it is.
func differs(python *pyvalue.Object, got grading.Result) string {
	want := python.Get("passed")
	switch {
	case (python.Get("raised") != pyvalue.Null{}) != (got.Error != nil):
		return "raised " + pyvalue.Text(python.Get("raised")) + ", found " + got.Reasoning
	case want != pyvalue.Bool(got.Passed) && !floatSensitive(got.Metrics):
		return "passed " + pyvalue.Text(want) + ", found " + got.Reasoning
	case got.Error != nil && got.Error.Kind == "panic":
		return got.Error.Text
	}
	return differentMetric("metrics", python.Get("metrics"), got.Metrics)
}

// floatSensitive says that a verdict hangs on how a statistic is rounded, which no
// two ways to compute it agree on.
func floatSensitive(metrics *pyvalue.Object) bool {
	ami, ok := metrics.Get("ami").(pyvalue.Float)
	for _, bound := range []string{"ami_min_threshold", "ami_max_threshold"} {
		f, isNumber := pyvalue.ParseFloat(pyvalue.Text(metrics.Get(bound)))
		if ok && isNumber && math.Abs(f-float64(ami)) < 1e-9 {
			return true
		}
	}
	return false
}

func differentMetric(path string, want, got pyvalue.Value) string {
	switch want := want.(type) {
	case *pyvalue.Object:
		if got, ok := got.(*pyvalue.Object); ok && slices.Equal(keys(want), keys(got)) {
			for key, item := range want.All() {
				if d := differentMetric(path+"."+key, item, got.Get(key)); d != "" {
					return d
				}
			}
			return ""
		}
	case pyvalue.Float:
		if got, ok := got.(pyvalue.Float); ok && nearEnough(path, float64(want), float64(got)) {
			return ""
		}
	default:
		if text(want) == text(got) || strings.HasSuffix(path, ".error") {
			return ""
		}
	}
	return path + ": want " + pyvalue.Repr(want) + ", found " + pyvalue.Repr(got)
}

// text is a value as Python writes it. Where NaN is in a list, sorting it has left
// the items in any order; here it does not matter.
func text(v pyvalue.Value) string {
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

// nearEnough wants the same double, except where Python computes by another formula.
func nearEnough(path string, want, got float64) bool {
	switch path {
	case "metrics.ami", "metrics.p_value", "metrics.q_value":
		if math.Abs(want-got) <= 1e-9*math.Abs(want)+1e-13 {
			return true
		}
	}
	return pyvalue.Repr(pyvalue.Float(want)) == pyvalue.Repr(pyvalue.Float(got))
}
