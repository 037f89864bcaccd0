package lint

// Rule explains a lint code. A code that begins with E is an error, with W a warning.
type Rule struct {
	Code    string
	Meaning string
	Docs    string // page and heading of the docs
}

// AllRules returns all lint codes in order. Those below 100 are shared with the linter
// of the public benchmarks, with their meanings and locations, so that some have two
// meanings. Those from 100 on are Assay's own.
func AllRules() []Rule {
	const (
		files    = "docs/cases.md#fields"
		template = "docs/cases.md#how-the-answer-is-found"
		graders  = "docs/graders.md#what-all-have-in-common"
		numbers  = "docs/graders.md#numeric_tolerance"
		played   = "docs/cases.md#checking-cases"
	)
	return []Rule{
		{"E000", "there is no such file or folder", files},
		{"W000", "the name does not end as that of a case file; it is read as JSON, and a run refuses it", files},
		{"E001", "the file cannot be read; or id is missing", files},
		{"E002", "no object, or an empty list; or id is not text, or blank", files},
		{"E003", "task is missing", files},
		{"E004", "task is not text, or blank", files},
		{"E005", "metadata is missing", files},
		{"E006", "metadata is not an object", files},
		{"E010", "metadata.task is missing", files},
		{"E011", "metadata.task is no known category", files},
		{"E012", "metadata.kit is missing", files},
		{"W013", "metadata.kit is not known; or the template of a multiple choice shows something other than <letter>", files},
		{"E014", "metadata.time_horizon is missing", files},
		{"W015", "metadata.time_horizon is not known", files},
		{"W001", "metadata.eval_type is missing", files},
		{"E016", "metadata.eval_type is not known", files},
		{"E020", "an item of data_node is not text", files},
		{"E021", "data_node is no address of the platform", files},
		{"E022", "data_node is neither text nor list", files},
		{"W010", "the task has no answer template", template},
		{"W011", "the answer template of the task is not closed", template},
		{"W012", "the task does not say to return exactly the template", template},
		{"E030", "grader is not an object", graders},
		{"E031", "a grader without a type", graders},
		{"E032", "a grader of an unknown type; in the public format also one that only the older set knows", graders},
		{"E033", "a grader without a config", graders},
		{"E034", "the config of a grader is not an object", graders},
		{"E035", "the config lacks a key that the grader needs", graders},
		{"E036", "neither correct_answer nor correct_answers", "docs/graders.md#multiple_choice"},
		{"E037", "answer_field is missing, or is a list or an object", "docs/graders.md#marker_gene_precision_recall"},
		{"E038", "both grader and graders", graders},
		{"E039", "graders is not a list, is empty, or has an item that is not an object", graders},
		{"E040", "tolerances is not an object", numbers},
		{"E041", "a tolerance is not an object", numbers},
		{"E042", "a tolerance without a type", numbers},
		{"E043", "a tolerance of an unknown type", numbers},
		{"E044", "a tolerance without value, lower and upper", numbers},
		{"E045", "the value of a tolerance is not a number", numbers},
		{"E046", "the lower of a tolerance is not a number", numbers},
		{"E047", "the upper of a tolerance is not a number", numbers},
		{"E050", "the answer template of the task lacks a field that a grader reads", template},
		{"E051", "two graders read the same field", graders},
		{"E060", "ground_truth is not an object", numbers},
		{"E062", "ground_truth_labels is not a list", "docs/graders.md#label_set_jaccard"},
		{"E065", "scoring is not an object", graders},
		{"E080", "a tolerance below 0", numbers},
		{"E081", "pass_threshold is not in 0 to 1", "docs/graders.md#label_set_jaccard"},
		{"E082", "a threshold of precision or recall is not in 0 to 1", "docs/graders.md#marker_gene_precision_recall"},
		{"E083", "ranges is not an object, or its ranges and the ground truth do not fit", "docs/graders.md#numeric_range"},
		{"W020", "an unknown field of the case", files},
		{"W021", "an unknown field of metadata", files},
		{"W022", "an unknown field of a grader", graders},
		{"W030", "the grader does not read this key of its config", graders},
		{"W031", "the answer template has a field that no grader reads", template},
		{"W070", "a field of the ground truth has no tolerance", numbers},
		{"W080", "the percentages are more than 5 away from 100 in sum", "docs/graders.md#distribution_comparison"},
		{"W085", "both tolerance and tolerances", numbers},
		{"W086", "ground_truth_labels stands in for canonical_markers", "docs/graders.md#marker_gene_precision_recall"},
		{"W087", "a tolerance of type min or max without a value, which counts as 0", numbers},
		{"W088", "a check that is live, which the agent's code can mislead", "docs/graders.md#kernel_check"},
		{"W089", "a comparison of all values that is true of none", "docs/graders.md#kernel_check"},
		{"W090", "a check that NaN passes", "docs/graders.md#kernel_check"},
		{"E100", "metadata, notes or a timeout cannot be read", files},
		{"E101", "data_node cannot lie in the sandbox: no file name, or one twice", files},
		{"E102", "files cannot lie in the sandbox, or are no texts", files},
		{"E103", "setup is not text", files},
		{"E104", "requires is not a list of python:MODULE, command:NAME or kernel:NAME", files},
		{"E105", "a limit that is unknown or no number above 0", files},
		{"E106", "kernel is not text", files},
		{"E107", "tags is not a list of strings", files},
		{"E108", "oracle is no solution", "docs/cases.md#oracle"},
		{"E109", "the grader refuses its config", graders},
		{"E112", "network is not on, loopback or off", files},
		{"W100", "two cases have one id", files},
		{"W101", "a case with only a task: attempts are ungraded", graders},
		{"E110", "played by its own solution, the case does not pass", played},
		{"E111", "played by doing nothing, the case passes", played},
		{"W110", "there is no solution to play", played},
		{"W111", "the case cannot be played here", played},
	}
}
