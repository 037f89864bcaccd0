package lint

import (
	"strings"

	"assay/testcases/grading/pyvalue"
)

// graderSpec says what a grader type reads: the keys of its config and the fields of
// the answer.
type graderSpec struct {
	isAssayType bool     // the public format does not have it; grading.CheckSpec checks its config
	required    []string // keys that the config must have
	optional    []string // other keys that it reads

	// answer returns what the grader reads of the answer. Nil means nothing.
	answer func(config *pyvalue.Object) (fields []answerField, whole bool)
}

// answerField is a field of the answer that a grader reads.
type answerField struct {
	name      string
	isNotText bool // the config names it by something other than a text, so no template can show it
}

// graderSpecs returns the grader types that lint knows, by name. Types of the older
// set, whose graders work in Assay too, are left out: see [caseChecker.isOlderType].
func graderSpecs() map[string]graderSpec {
	labels := graderSpec{
		required: []string{"ground_truth_labels"}, optional: []string{"scoring", "answer_field"},
		answer: answerFieldOption("cell_types_predicted"),
	}
	return map[string]graderSpec{
		"numeric_tolerance": {required: []string{"ground_truth", "tolerances"}, optional: []string{"tolerance"}, answer: groundTruthFields},
		"numeric_range":     {required: []string{"ground_truth", "ranges"}, answer: groundTruthFields},
		"distribution_comparison": {
			required: []string{"ground_truth", "tolerances"},
			answer:   readsFixedFields(answerField{name: "cell_type_distribution"}),
		},
		"label_set_jaccard": labels,
		"jaccard_label_set": labels,
		"marker_gene_precision_recall": {
			required: []string{"canonical_markers", "scoring", "answer_field"}, optional: []string{"ground_truth_labels"},
			answer: answerFieldOption("top_marker_genes"),
		},
		"marker_gene_separation": {
			required: []string{"scoring"},
			answer:   readsFixedFields(answerField{name: "per_gene_stats"}, answerField{name: "mean_auroc"}),
		},
		"spatial_adjacency": {
			required: []string{"scoring"},
			answer: readsFixedFields(
				answerField{name: "median_ic_to_pc_um"}, answerField{name: "p90_ic_to_pc_um"},
				answerField{name: "pct_ic_within_15um"}, answerField{name: "pct_ic_mixed_within_55um"},
				answerField{name: "adjacency_pass"},
			),
		},
		"multiple_choice": {optional: []string{"correct_answer", "correct_answers"}, answer: readsFixedFields(answerField{name: "answer"})},

		"exact":          {isAssayType: true, optional: []string{"ground_truth", "answer_field"}, answer: firstPartOfAnswerField},
		"regex":          {isAssayType: true, optional: []string{"pattern", "answer_field"}, answer: firstPartOfAnswerField},
		"contains":       {isAssayType: true, optional: []string{"values", "answer_field", "mode"}, answer: firstPartOfAnswerField},
		"kernel_check":   {isAssayType: true, optional: []string{"code", "probes", "live"}},
		"notebook_check": {isAssayType: true, optional: []string{"min_cells", "no_errors", "must_run_clean", "must_use", "must_not_use", "live"}},
		"command":        {isAssayType: true, optional: []string{"argv", "timeout_s"}, answer: readsWholeAnswer},
		"llm_judge":      {isAssayType: true, optional: []string{"prompt", "model", "pass_score"}, answer: readsWholeAnswer},
	}
}

// readsFixedFields returns a function for graders that always read the same fields of
// the answer.
func readsFixedFields(fields ...answerField) func(*pyvalue.Object) ([]answerField, bool) {
	return func(*pyvalue.Object) ([]answerField, bool) { return fields, false }
}

// readsWholeAnswer returns no fields: it is for graders that read the whole answer.
func readsWholeAnswer(*pyvalue.Object) ([]answerField, bool) { return nil, true }

// groundTruthFields returns the keys of the ground truth as the fields of the answer
// that a grader reads. The keys may contain dots.
func groundTruthFields(config *pyvalue.Object) (fields []answerField, whole bool) {
	truth, _ := config.Get("ground_truth").(*pyvalue.Object)
	for key := range truth.All() {
		fields = append(fields, answerField{name: key})
	}
	return fields, false
}

// answerFieldOption returns the field of the answer that answer_field in the config
// names. If answer_field is a list or an object, another check reports that.
func answerFieldOption(byDefault string) func(*pyvalue.Object) ([]answerField, bool) {
	return func(config *pyvalue.Object) (fields []answerField, whole bool) {
		switch v := config.Get("answer_field").(type) {
		case nil:
			return []answerField{{name: byDefault}}, false
		case pyvalue.List, *pyvalue.Object:
			return nil, false
		default:
			_, isText := v.(pyvalue.String)
			return []answerField{{name: pyvalue.Str(v), isNotText: !isText}}, false
		}
	}
}

// firstPartOfAnswerField returns the first part of the dotted path in answer_field of
// the config. Without answer_field the grader reads the whole answer.
func firstPartOfAnswerField(config *pyvalue.Object) (fields []answerField, whole bool) {
	path, ok := config.Get("answer_field").(pyvalue.String)
	if !ok {
		return nil, true
	}
	name, _, _ := strings.Cut(string(path), ".")
	return []answerField{{name: name}}, false
}
