package lint_test

import "strings"

type issueExample struct {
	text string
	want []string
}

func allIssueExamples() []issueExample {
	all := [][]issueExample{examplesForFields(), examplesForTasks(), examplesForGraders(), examplesForTolerances(), examplesForConfigs(), examplesForAssayFields()}
	var out []issueExample
	for _, some := range all {
		out = append(out, some...)
	}
	return out
}

func examplesForFields() []issueExample {
	metadata := func(members string) string { return caseJSONWithMembers(`"metadata": {` + members + `}`) }
	return []issueExample{
		{"{" + validMembers + "}", []string{}},
		{`{"x": `, []string{"E001"}},
		{"\ufeff{}", []string{"E001"}},
		{"{\"id\": \"\xff\"}", []string{"E001"}},
		{`{"id": ` + strings.Repeat("1", 5000) + `}`, []string{"E001"}},
		{strings.Repeat("[", 100_000), []string{"E001"}},
		{`5`, []string{"E002"}},
		{`[]`, []string{"E002"}},
		{`{"id": "a", "task": "t", "data_node": ["data/a.csv"]}`, []string{"W101"}},
		{`{}`, []string{"E001", "E003", "E005", "W010"}},
		{caseJSONWithMembers(`"id": "\u001c \u00a0"`), []string{"E002"}},
		{caseJSONWithMembers(`"id": 7`), []string{"E002"}},
		{caseJSONWithMembers(`"task": " "`), []string{"E004", "W010"}},
		{caseJSONWithMembers(`"task": ["<EVAL_ANSWER>"]`), []string{"E004"}},
		{caseJSONWithMembers(`"task": null`), []string{"E004"}},
		{caseJSONWithMembers(`"metadata": null`), []string{"E006"}},
		{metadata(``), []string{"E010", "E012", "E014", "W001"}},
		{metadata(`"task": "QC", "kit": "unknown_kit", "time_horizon": "medium", "eval_type": null`), []string{"E011", "W013", "W015", "E016"}},
		{metadata(`"task": ["qc"], "kit": {}, "time_horizon": 1, "eval_type": "benchmark"`), []string{"E011", "W013", "W015", "E016"}},
		{caseJSONWithMembers(`"data_node": ["latch://1.account/a/b.h5ad", 5, "s3://x", "latch://1.nodes"]`), []string{"E020 data_node[1]", "E021 data_node[2]", "E021 data_node[3]"}},
		{caseJSONWithMembers(`"data_node": ""`), []string{"E021 data_node"}},
		{caseJSONWithMembers(`"data_node": "latch://\u0661\u0662.node/x\n"`), []string{}},
		{caseJSONWithMembers(`"data_node": "latch://1.node\n\n"`), []string{"E021 data_node"}},
		{caseJSONWithMembers(`"data_node": {}`), []string{"E022"}},
		{caseJSONWithMembers(`"data_node": null`), []string{}},
		{caseJSONWithMembers(`"data_node": []`), []string{}},
		{caseJSONWithMembers(`"difficulty": "hard", "timeout": 60, "canary": "x"`), []string{"W020 difficulty", "W020 timeout"}},
		{metadata(`"task": "qc", "kit": "parsebio", "time_horizon": "long", "eval_type": "procedural", "timeout_s": 1, "level": 2`), []string{"W021 metadata.level"}},
		{caseJSONWithMembers(`"graders": null, "grader": {"type": "multiple_choice", "config": {"correct_answer": "A"}, "scoring": {}}, "task": "Return exactly <EVAL_ANSWER>"`), []string{"W011", "W022 grader.scoring"}},
		{caseJSONWithMembers(`"notes": 5`), []string{}}, // see TestRefusalsAreLogged
		{caseJSONWithMembers(`"timeout": "soon", "agent_timeout": 1.5`), []string{"W020 timeout", "W020 agent_timeout"}},
		{caseJSONWithMembers(`"data_node": ["latch://1.account/a/x", "latch://1.account/b/x", "latch://1.node/.."]`), []string{}},
	}
}

func examplesForTasks() []issueExample {
	choice := func(task string) string {
		return caseJSONWithMembers(`"grader": {"type": "multiple_choice", "config": {"correct_answers": []}}, "task": "` + task + `"`)
	}
	numbers := func(task string) string { return caseJSONWithMembers(`"task": "return exactly ` + task + `"`) }
	return []issueExample{
		{numbers(""), []string{"W010"}},
		{numbers("<eval_answer>{}</eval_answer>"), []string{"W010"}},
		{numbers("<EVAL_ANSWER>{}"), []string{"W011"}},
		{caseJSONWithMembers(`"task": "<EVAL_ANSWER>{\"n\": 1}</EVAL_ANSWER>"`), []string{"W012"}},
		{caseJSONWithMembers(`"task": "<EVAL_ANSWER>{\"n\": 1}</EVAL_ANSWER> Respond EXACTLY so"`), []string{}},
		{choice(`return exactly <EVAL_ANSWER>{\"answer\": \"<letter>\"}</EVAL_ANSWER>`), []string{}},
		{choice(`return exactly <EVAL_ANSWER>{\"answer\" : \"A\"}</EVAL_ANSWER>`), []string{"W013 task"}},
		{choice(`<EVAL_ANSWER>{\"answer\": \"\"}`), []string{"W011"}},
		{numbers(`<EVAL_ANSWER> {\"m\": 1} </EVAL_ANSWER>`), []string{"E050 task", "W031 task"}},
		{numbers(`<EVAL_ANSWER>{\"n\": \"m: x\", \"a: b\": 1}</EVAL_ANSWER>`), []string{"W031 task"}},
		{numbers(`<EVAL_ANSWER>{\"m\": {\"k\": 1}}</EVAL_ANSWER>`), []string{}},
		{numbers(`<EVAL_ANSWER>[{\"m\": 1}]</EVAL_ANSWER>`), []string{}},
		{numbers(`<EVAL_ANSWER>{}</EVAL_ANSWER>`), []string{}},
		{numbers(`<EVAL_ANSWER>n</EVAL_ANSWER> or <EVAL_ANSWER>\u2028{\"m\"\u001c: 1}\u00a0</EVAL_ANSWER>`), []string{"E050 task", "W031 task"}},
		{caseJSONWithGrader("numeric_tolerance", `{"ground_truth": {"a.b": 1}, "tolerances": {"a.b": {"type": "max", "value": 1}}}`, "a"), []string{"E050 task", "W031 task"}},
		{caseJSONWithGrader("label_set_jaccard", `{"ground_truth_labels": []}`, "cell_types_predicted"), []string{}},
		{caseJSONWithGrader("jaccard_label_set", `{"ground_truth_labels": [], "answer_field": null}`, "cell_types_predicted"), []string{"E050 task", "W031 task"}},
		{caseJSONWithGrader("distribution_comparison", `{"ground_truth": {}, "tolerances": {}}`, "cell_type_distribution", "total_cells"), []string{"W031 task"}},
		{caseJSONWithGrader("marker_gene_separation", `{"scoring": {}}`, "mean_auroc"), []string{"E050 task"}},
		{caseJSONWithGrader("spatial_adjacency", `{"scoring": {}}`, "adjacency_pass"), []string{"E050 task", "E050 task", "E050 task", "E050 task"}},
		{caseJSONWithGrader("exact", `{"ground_truth": 1, "answer_field": "a.b"}`, "a", "b"), []string{"W031 task"}},
		{caseJSONWithGrader("regex", `{"pattern": "x"}`, "a"), []string{}},
		{caseJSONWithGrader("kernel_check", `{"code": "True"}`, "a"), []string{}},
	}
}

func examplesForGraders() []issueExample {
	grader := func(value string) string { return caseJSONWithMembers(`"grader": ` + value) }
	several := func(value string) string { return caseJSONWithMembers(`"grader": null, "graders": ` + value) }
	const one = `{"type": "marker_gene_separation", "config": {"scoring": {}}}`
	const number = `{"type": "numeric_range", "config": {"ground_truth": {"n": 1}, "ranges": {"n": {"min": 0, "max": 2}}}}`
	return []issueExample{
		{grader(`null`), []string{}},
		{grader(`[]`), []string{"E030 grader", "E030 grader"}},
		{grader(`{}`), []string{"E031 grader.type"}},
		{grader(`{"type": null}`), []string{"E031 grader.type"}},
		{grader(`{"type": "Numeric_Tolerance"}`), []string{"E032 grader.type"}},
		{grader(`{"type": ["x"]}`), []string{"E032 grader.type"}},
		{grader(`{"type": {}}`), []string{"E032 grader.type"}},
		{grader(`{"type": "boolean_check", "config": {"ground_truth": {}}}`), []string{"E032 grader.type"}},
		{grader(`{"type": "multiple_choice"}`), []string{"E033 grader.config", "E050 task", "W031 task"}},
		{grader(`{"type": "multiple_choice", "config": null}`), []string{"E033 grader.config"}},
		{grader(`{"type": "multiple_choice", "config": []}`), []string{"E034 grader.config"}},
		{caseJSONWithMembers(`"graders": [` + one + `]`), []string{"E038 graders", "E050 task", "E050 task"}},
		{caseJSONWithMembers(`"graders": []`), []string{"E038 graders"}},
		{caseJSONWithMembers(`"grader": 5, "graders": [5]`), []string{"E030 grader", "E030 grader", "E039 graders"}},
		{several(`5`), []string{"E039 graders"}},
		{several(`[]`), []string{"E039 graders"}},
		{several(`[5, ` + one + `, null]`), []string{"E039 graders", "E039 graders", "E050 task", "E050 task", "W031 task"}},
		{several(`[` + number + `, {"type": "x", "extra": 1}]`), []string{"E032 graders[1].type", "W022 graders[1].extra"}},
		{several(`[` + number + `,` + number + `,` + number + `]`), []string{"E051 graders"}},
		{several(`[` + number + `, {"type": "exact", "config": {"answer_field": "n", "ground_truth": 1}}]`), []string{}},
	}
}

func examplesForTolerances() []issueExample {
	with := func(tolerances string) string {
		return caseJSONWithGrader("numeric_tolerance", `{"ground_truth": {"n": 1}, "tolerances": `+tolerances+`}`, "n")
	}
	one := func(tolerance string) string { return with(`{"n": ` + tolerance + `}`) }
	const at = " grader.config.tolerances.n"
	return []issueExample{
		{with(`null`), []string{}},
		{with(`[]`), []string{"E040 grader.config.tolerances"}},
		{with(`{}`), []string{"W070 grader.config.ground_truth.n"}},
		{with(`{"type": "absolute", "value": 1}`), []string{"E041 grader.config.tolerances.type", "E041 grader.config.tolerances.value", "W070 grader.config.ground_truth.n"}},
		{one(`50`), []string{"E041" + at}},
		{one(`{"value": 1}`), []string{"E042" + at + ".type"}},
		{one(`{"type": null, "lower": 1}`), []string{"E042" + at + ".type"}},
		{one(`{"type": "Absolute", "value": true}`), []string{"E043" + at + ".type"}},
		{one(`{"type": "range", "min": 1, "max": 2}`), []string{"E043" + at + ".type", "E044" + at}},
		{one(`{"type": "min"}`), []string{"E044" + at}},
		{one(`{"type": "max", "upper": 3}`), []string{"W087" + at + ".value"}},
		{one(`{"type": "absolute", "value": null, "lower": "1", "upper": []}`), []string{"E045" + at + ".value", "E046" + at + ".lower", "E047" + at + ".upper"}},
		{one(`{"type": "absolute", "value": -1, "lower": -0.5, "upper": -Infinity}`), []string{"E080" + at + ".value", "E080" + at + ".lower", "E080" + at + ".upper"}},
		{one(`{"type": "absolute", "value": -0.0, "lower": NaN, "upper": false}`), []string{}},
		{caseJSONWithGrader("numeric_tolerance", `{"ground_truth": {"n": 1}, "tolerance": {"type": "max", "threshold": 1}}`, "n"), []string{"E035 grader.config.tolerances", "W070 grader.config.ground_truth.n"}},
		{caseJSONWithGrader("numeric_tolerance", `{"ground_truth": {}, "tolerances": {}, "tolerance": 5}`), []string{"W085 grader.config"}},
	}
}

func examplesForConfigs() []issueExample {
	ranges := func(truth, ranges string) string {
		return caseJSONWithGrader("numeric_range", `{"ground_truth": `+truth+`, "ranges": `+ranges+`}`)
	}
	marker := func(scoring string) string {
		return caseJSONWithGrader("marker_gene_precision_recall", `{"canonical_markers": [], "answer_field": "g", "scoring": `+scoring+`}`, "g")
	}
	percent := func(truth string) string {
		return caseJSONWithGrader("distribution_comparison", `{"tolerances": {}, "ground_truth": `+truth+`}`)
	}
	bad := []string{"E083 grader.config.ranges"}
	return []issueExample{
		{caseJSONWithGrader("multiple_choice", `{"correct": "A"}`, "answer"), []string{"E036 grader.config", "W030 grader.config.correct"}},
		{caseJSONWithGrader("marker_gene_precision_recall", `{"ground_truth_labels": {}}`), []string{"E035 grader.config.canonical_markers", "E035 grader.config.scoring", "E037 grader.config.answer_field", "E062 grader.config.ground_truth_labels", "W086 grader.config"}},
		{caseJSONWithGrader("label_set_jaccard", `{"ground_truth_labels": [], "answer_field": ["x"]}`, "x"), []string{"E037 grader.config.answer_field"}},
		{caseJSONWithGrader("label_set_jaccard", `{"ground_truth_labels": {}, "scoring": {"pass_threshold": 1.5}}`), []string{"E062 grader.config.ground_truth_labels", "E081 grader.config.scoring.pass_threshold"}},
		{caseJSONWithGrader("jaccard_label_set", `{"ground_truth_labels": null, "scoring": 1}`), []string{"E065 grader.config.scoring"}},
		{caseJSONWithGrader("jaccard_label_set", `{"ground_truth_labels": [], "scoring": {"pass_threshold": {}}, "description": ""}`), []string{"W030 grader.config.description"}},
		{marker(`{"pass_thresholds": {"precision_at_k": -1, "recall_at_k": 1.01, "min_recall_per_celltype": 9}}`), []string{"E082 grader.config.scoring.pass_thresholds.precision_at_k", "E082 grader.config.scoring.pass_thresholds.recall_at_k"}},
		{marker(`{"pass_thresholds": {"precision_at_k": NaN, "recall_at_k": true}}`), []string{}},
		{ranges(`{"n": 5}`, `{"n": {"min": 0, "max": 10}, "m": {"min": -Infinity, "max": Infinity}}`), []string{}},
		{ranges(`[]`, `{"n": {"min": 0, "max": 10}}`), []string{"E060 grader.config.ground_truth"}},
		{ranges(`{"n": 5}`, `null`), []string{}},
		{ranges(`{}`, `5`), bad},
		{ranges(`{"n": 5}`, `{"n": 5}`), bad},
		{ranges(`{"n": 5}`, `{"n": {"max": 10}}`), bad},
		{ranges(`{"n": 5}`, `{"n": {"min": 0}}`), bad},
		{ranges(`{"n": 5}`, `{"n": {"min": "0", "max": 10}}`), bad},
		{ranges(`{"n": 5}`, `{"n": {"min": 5, "max": 5}}`), bad},
		{ranges(`{"n": 10}`, `{"n": {"min": 0, "max": 10}}`), bad},
		{ranges(`{"n": "5"}`, `{"n": {"min": 0, "max": 10}}`), bad},
		{ranges(`{"n": 5}`, `{}`), bad},
		{ranges(`{"n": 5}`, `{"n": {"min": NaN, "max": 10}}`), bad},
		{ranges(`{"n": 9007199254740992.0}`, `{"n": {"min": 9007199254740991, "max": 9007199254740993}}`), []string{}},
		{ranges(`{"n": 9007199254740993}`, `{"n": {"min": 9007199254740992.0, "max": 1e16}}`), []string{}},
		{caseJSONWithGrader("multiple_choice", `{"correct_answer": "A", "ranges": 5, "tolerances": 5}`, "answer"), []string{"E040 grader.config.tolerances", "E083 grader.config.ranges", "W030 grader.config.ranges", "W030 grader.config.tolerances"}},
		{percent(`{"cell_type_distribution": {"a": 60, "b": 45.0}}`), []string{}},
		{percent(`{"cell_type_distribution": {"a": 0.6, "b": 0.4}}`), []string{"W080 grader.config.ground_truth"}},
		{percent(`{"total_cells": 1000}`), []string{"W080 grader.config.ground_truth"}},
		{percent(`{"cell_type_distribution": null, "x": 1}`), []string{}},
		{percent(`{"cell_type_distribution": {"a": NaN, "b": 1, "c": "x"}}`), []string{}},
		{percent(`5`), []string{"E060 grader.config.ground_truth"}},
	}
}

// examplesForAssayFields returns cases that have a field of Assay and so need not
// follow the rules of the public benchmarks, but must be accepted by a run.
func examplesForAssayFields() []issueExample {
	ours := func(members string) string { return `{"id": "a", "task": "t", "tags": [], ` + members + `}` }
	return []issueExample{
		{ours(`"data_node": "x.csv", "grader": null`), []string{}},
		{ours(`"data_node": "latch://1.node"`), []string{}}, // a run decides where to find it
		{ours(`"oracle": []`), []string{"E108 oracle.cells"}},
		{ours(`"grader": {"type": "boolean_check", "config": {"ground_truth": {}}}`), []string{}}, // an older type that Assay knows
		{ours(`"grader": {"type": "boolean_check"}`), []string{"E033 grader.config"}},
		{ours(`"metadata": {"task": "sums", "level": 1}`), []string{"W021 metadata.level"}},
		{ours(`"metadata": 5`), []string{"E100 metadata"}},
		{ours(`"notes": 5, "timeout": "soon"`), []string{"W020 timeout", "E100 notes", "E100 timeout"}},
		{ours(`"data_node": ["a/x", "b/x"]`), []string{"E101 data_node[1]"}},
		{ours(`"data_node": [5]`), []string{"E020 data_node[0]"}},
		{ours(`"data_node": "x", "files": {"../x": "", "data/x": "", "y": 1}`), []string{`E102 files["../x"]`, `E102 files["y"]`, `E102 files["data/x"]`}},
		{ours(`"data_node": "x", "files": {"data": ""}`), []string{"E101 data_node[0]"}},
		{ours(`"files": []`), []string{"E102 files"}},
		{ours(`"setup": 1, "kernel": [], "requires": ["numpy"]`), []string{"E106 kernel", "E104 requires[0]", "E103 setup"}},
		{ours(`"network": "open"`), []string{"E112 network"}},
		{ours(`"limits": {"wall": 1, "turns": 0}`), []string{"E105 limits.wall", "E105 limits.turns"}},
		{ours(`"tags": "x"`), []string{"E107 tags"}},
		{ours(`"oracle": {"cells": [1]}`), []string{"E108 oracle.cells[0]"}},
		{ours(`"grader": {"type": "kernel_check", "config": {}}`), []string{"E109 grader.config"}},
		{ours(`"grader": {"type": "kernel_check", "config": {"code": "True", "live": 1}}`), []string{"E109 grader.config"}},
		{ours(`"kernel": "elisp", "grader": {"type": "kernel_check", "config": {"probes": [{"expr": "x", "equals": 1}]}}`), []string{"E109 grader.config"}},
		{ours(`"kernel": "elisp", "grader": {"type": "kernel_check", "config": {"code": "(= x 1)"}}`), []string{}},
		{ours(`"grader": {"type": "kernel_check", "config": {"code": "True", "live": true}}`), []string{"W088 grader.config.live"}},
		{ours(`"grader": {"type": "notebook_check", "config": {"no_errors": true, "live": true}}`), []string{"W088 grader.config.live"}},
		{ours(`"grader": {"type": "kernel_check", "config": {"code": "assert (x == 5).all()"}}`), []string{"W089 grader.config.code"}},
		{ours(`"grader": {"type": "kernel_check", "config": {"code": "assert x.shape == (3,) and np.allclose(x, 5)"}}`), []string{}},
		{ours(`"grader": {"type": "kernel_check", "config": {"code": "assert not (x != 5).any()"}}`), []string{"W089 grader.config.code"}},
		{ours(`"grader": {"type": "kernel_check", "config": {"code": "all(a == 5 for a in x)"}}`), []string{"W089 grader.config.code"}},
		{ours(`"grader": {"type": "kernel_check", "config": {"code": "for a, b in zip(x, [1, 2]):\n    assert a == b"}}`), []string{"W089 grader.config.code"}},
		{ours(`"grader": {"type": "kernel_check", "config": {"code": "for a, b in zip(x, [1, 2], strict=True):\n    assert a == b"}}`), []string{}},
		{ours(`"grader": {"type": "kernel_check", "config": {"code": "assert (x > 5).any()"}}`), []string{}},
		{ours(`"grader": {"type": "kernel_check", "config": {"code": "if abs(x - 5) > 0.1:\n    raise ValueError"}}`), []string{"W090 grader.config.code"}},
		{ours(`"grader": {"type": "kernel_check", "config": {"code": "assert not abs(x - 5) > 0.1"}}`), []string{"W090 grader.config.code"}},
		{ours(`"grader": {"type": "kernel_check", "config": {"code": "assert (x - 5).abs().sum() < 0.1"}}`), []string{"W090 grader.config.code"}},
		{ours(`"grader": {"type": "kernel_check", "config": {"code": "assert ((x - y)**2).sum().sum() < 0.1"}}`), []string{"W090 grader.config.code"}},
		{ours(`"grader": {"type": "kernel_check", "config": {"code": "assert max(abs(a - 5) for a in x) < 0.1"}}`), []string{"W090 grader.config.code"}},
		{ours(`"grader": {"type": "kernel_check", "config": {"code": "assert not x.isna().any() and len(x) == 2 and (x - 5).abs().max() < 0.1"}}`), []string{}},
		{ours(`"grader": {"type": "kernel_check", "config": {"code": "assert abs(x - 5) < 0.1"}}`), []string{}},
		{ours(`"grader": {"type": "kernel_check", "config": {"probes": [{"expr": "np.allclose(x, 5)", "equals": true}]}}`), []string{"W089 grader.config.probes[0].expr"}},
		{ours(`"graders": [{"type": "exact", "config": {"ground_truth": 1, "tolerances": 5}}]`), []string{"W030 graders[0].config.tolerances"}},
		{ours(`"graders": 5, "grader": []`), []string{"E030 grader", "E030 grader", "E039 graders"}},
	}
}
