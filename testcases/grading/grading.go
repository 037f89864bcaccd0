// Package grading decides whether an answer is right. It finds the answer in a
// conversation ([ExtractAnswer]) and grades it, the notebook or the live kernel by the graders
// of a case ([Grade], [GradeAll]). Values have the meaning that Python gives them: see
// package pyvalue. Each type of grader is in a file of that name.
package grading

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/internal/model"
	"assay/testcases/grading/pyvalue"
)

// Spec says how to grade: it is one grader of a case, with its type and config.
type Spec struct {
	Type   string        // one of [GraderTypeNames]; "" if the case gives none, or no string
	Config pyvalue.Value // nil if the case gives none, which is the same as an empty object
	Field  string        // place in the case, for messages: "grader", "graders[1]"
}

// NeedsRecord reports whether the grader reads Record or Conversation of [Input], which
// take some time to prepare.
func (s Spec) NeedsRecord() bool { return graderTypes()[s.Type].needsRecord }

// NeedsWorkdir reports whether the grader reads the agent's working folder, whose path is in Record of
// [Input].
func (s Spec) NeedsWorkdir() bool { return graderTypes()[s.Type].needsWorkdir }

// TruthPaths returns the files and folders that may tell an agent how to pass the grader. dir is the
// folder of the case.
func (s Spec) TruthPaths(dir string) []string {
	if config, ok := s.Config.(*pyvalue.Object); ok && s.Type == "command" {
		return commandTruthPaths(config, dir)
	}
	return nil
}

// Digest returns 16 characters that differ for specs that grade differently.
func (s Spec) Digest() string {
	text := pyvalue.AppendJSON(pyvalue.AppendJSON(nil, pyvalue.String(s.Type)), s.Config)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Input holds what graders read of an attempt: answer, notebook, kernel, record and
// conversation. The zero Input has none of these. If a grader needs something that is
// absent, its result is an error.
type Input struct {
	Answer         pyvalue.Value // nil or null means no answer
	NoAnswerReason string        // why there is none, for the reasoning; may be ""

	Task         string            // what the agent was told, verbatim
	Notebook     *Notebook         // as the agent left it; nil means unknown
	Conversation []json.RawMessage // the entries of the agent's history, oldest first

	// Record is the JSON object that a command grader reads on stdin; nil means
	// {"answer": …}. Dir is the folder of the case file, in which the command runs; ""
	// means the current one. Environ is the whole environment of the command; nil
	// means only a PATH.
	Record  json.RawMessage
	Dir     string
	Environ []string

	// WorkdirFault says why the agent's working folder could not be copied for graders that read it, which is the
	// agent's doing. They fail. "" means that there is no such fault.
	WorkdirFault string

	// Kernel is the one that the agent worked in; nil means that it is gone. Rerun
	// runs the notebook's code cells from top to bottom in a fresh kernel, in a
	// sandbox as at the beginning of the case, and returns the notebook with its new
	// outputs; nil means that this is not possible here. Its error means that it could
	// not run the notebook, not that a cell failed.
	Kernel Kernel
	Export func(ctx context.Context, sources []string) (Exported, error) // see [Exported]; nil means that this is not possible here
	Rerun  func(context.Context) (*Notebook, error)

	// Judge returns the model of that name for llm_judge; nil means that there is none
	// here.
	Judge func(name string) (model.Client, error)
}

// Notebook is the notebook of an attempt as graders see it.
type Notebook struct {
	Language string         // of the code: python, elisp, …
	Cells    []NotebookCell // in order
}

// NotebookCell is one cell of a [Notebook].
type NotebookCell struct {
	IsCode bool // false means Markdown
	Source string
	Status string // of the last run: "ok", "error" or "interrupted"; "" means that it did not run
	Text   string // text output in its order: printed, and shown as text
}

// Kernel runs code in the kernel that the agent worked in. Nothing else uses the kernel
// while it is graded.
type Kernel interface {
	// Execute runs code in the namespace of the agent's cells and waits for its end.
	// The error means that the kernel could not run the code, not that the code
	// failed.
	Execute(ctx context.Context, code string) (Execution, error)
}

// Exported is a kernel that no code of the agent has touched. It has copies of those globals of the
// agent's kernel that some sources (expressions, or the code of a check) use, if they are data. It works
// in a copy of the agent's working folder.
type Exported interface {
	Kernel

	// NotData returns why a global that this source uses could not be copied, "" if all could.
	NotData(source string) string

	// Close ends the kernel.
	Close()
}

// Execution says how code that a [Kernel] ran has ended: its output, result or error.
type Execution struct {
	Status    string // "ok", "error" or "interrupted"
	Result    string // repr of the last value, "" for None
	Stdout    string
	Stderr    string
	Exception string // traceback, "" if no exception was raised
}

// graderType is one type of grader: its grade function, what it needs and how its
// config is checked.
type graderType struct {
	// check returns an error if a config is malformed, before there is anything to
	// grade. It is nil for types whose malformed config must give a verdict instead.
	check func(config *pyvalue.Object) error
	grade func(ctx context.Context, config *pyvalue.Object, in Input) (Result, error)

	// checkAvailable returns an error if what the grader needs beside the attempt is missing, such
	// as a program or the key of a model. It is nil for types that need nothing.
	checkAvailable func(config *pyvalue.Object, in Input) error

	needsRecord  bool // reads Record or Conversation of Input
	needsWorkdir bool // reads the working folder that Record names
}

// GraderTypeNames returns the names of all grader types, sorted.
func GraderTypeNames() []string { return slices.Sorted(maps.Keys(graderTypes())) }

// CheckSpec returns an error, before a run starts, if no answer could be graded by
// spec: an unknown type, for which the error lists the known ones; a config that is not
// an object; or, for Assay's own types, a malformed config. The error names the field.
func CheckSpec(spec Spec) error {
	g, ok := graderTypes()[spec.Type]
	if !ok {
		return fmt.Errorf("field %s.type: unknown grader type %q; known are %s", spec.Field, spec.Type, strings.Join(GraderTypeNames(), ", "))
	}
	config, err := configObject(spec)
	if err != nil || g.check == nil {
		return err
	}
	if err := g.check(config); err != nil {
		return fmt.Errorf("field %s.config: %w", spec.Field, err)
	}
	return nil
}

// CheckKernel returns an error, before a run starts, if a grader cannot check the kernel of the case, which is the
// value of its field kernel: the probes of a kernel_check are Python. The spec must have passed [CheckSpec].
func CheckKernel(spec Spec, kernel string) error {
	config, isObject := spec.Config.(*pyvalue.Object)
	if kernel == "elisp" && spec.Type == "kernel_check" && isObject && config.Get("probes") != nil {
		return fmt.Errorf("field %s.config: %w", spec.Field, errors.New("probes are expressions of Python: write code for the elisp kernel"))
	}
	return nil
}

// CheckAvailable returns an error, before a run starts, if what a grader needs beside the attempt is
// missing: a program, a script, a model or its key. Only Dir, Environ and Judge of in are read. The
// spec must have passed [CheckSpec].
func CheckAvailable(spec Spec, in Input) error {
	check := graderTypes()[spec.Type].checkAvailable
	if check == nil {
		return nil
	}
	config, err := configObject(spec)
	if err != nil {
		return err
	}
	if err := check(config, in); err != nil {
		return fmt.Errorf("field %s: %w", spec.Field, err)
	}
	return nil
}

// Grade grades an attempt by one grader. Every failure, including a panic, becomes a
// result that did not pass and has an Error. It is safe for concurrent use if the
// input's kernel is.
func Grade(ctx context.Context, spec Spec, in Input) (result Result) {
	defer func() {
		if p := recover(); p != nil {
			result = failedResult(&pyvalue.Error{Kind: "panic", Text: fmt.Sprint(p)})
		}
		result.Type = spec.Type
	}()
	g, ok := graderTypes()[spec.Type]
	if !ok {
		return failedResult(&pyvalue.Error{Kind: "unknown_grader", Text: CheckSpec(spec).Error()})
	}
	config, err := configObject(spec)
	if err != nil {
		return failedResult(pyvalue.TypeError("%v", err))
	}
	if g.needsWorkdir && in.WorkdirFault != "" {
		return failedResult(&pyvalue.Error{Kind: "no_copy", Text: "the working folder could not be copied for the grader: " + in.WorkdirFault})
	}
	result, err = g.grade(ctx, config, in)
	if err != nil {
		return failedResult(err)
	}
	return result
}

// GradeAll grades an attempt by each grader. Those that may run the notebook again come
// last, because that may end the agent's kernel; the results are in the order of specs. Passed is
// true if all results passed, and the score is their mean. Without graders passed is false and the
// score 0.
func GradeAll(ctx context.Context, specs []Spec, in Input) (results []Result, passed bool, score float64) {
	results = make([]Result, len(specs))
	for _, mayRunNotebook := range []bool{false, true} {
		for i, spec := range specs {
			if spec.mayRunNotebook() == mayRunNotebook {
				results[i] = Grade(ctx, spec, in)
				results[i].Spec = spec.Digest()
			}
		}
	}
	passed = len(specs) > 0
	for _, result := range results {
		passed = passed && result.Passed
		score += result.Score
	}
	return results, passed, score / float64(max(1, len(specs)))
}

// mayRunNotebook reports whether the grader may call [Input.Rerun], which may end the agent's kernel.
func (s Spec) mayRunNotebook() bool { return s.Type == "notebook_check" }

// configObject returns the config of a grader as an object; nil becomes an empty
// object. Another kind of value is an error.
func configObject(spec Spec) (*pyvalue.Object, error) {
	switch config := spec.Config.(type) {
	case nil:
		return &pyvalue.Object{}, nil
	case *pyvalue.Object:
		return config, nil
	default:
		return nil, fmt.Errorf("field %s.config: want an object, found %s", spec.Field, pyvalue.KindOf(config))
	}
}

// newAnswerGrader returns a grade function for a grader that reads only the answer.
// Without an answer it does not call grade, and the result did not pass.
func newAnswerGrader(grade func(config *pyvalue.Object, answer pyvalue.Value) (Result, error)) func(context.Context, *pyvalue.Object, Input) (Result, error) {
	return func(_ context.Context, config *pyvalue.Object, in Input) (Result, error) {
		if in.Answer == nil || in.Answer == (pyvalue.Null{}) {
			return noAnswerResult(in.NoAnswerReason), nil
		}
		return grade(config, in.Answer)
	}
}

// noAnswerResult returns the result of a grader if there is no answer. An empty reason
// means that nothing was submitted.
func noAnswerResult(why string) Result {
	r := newGraderReport("Answer")
	if why == "" {
		why = "nothing was submitted"
	}
	r.addFailure("there is no answer to grade: " + why)
	return r.result(0)
}

// graderTypes returns all grader types by name. The types that other harnesses have too
// come without a config check, so that their cases run unchanged.
func graderTypes() map[string]graderType {
	return map[string]graderType{
		"adjusted_mutual_information":  {grade: newAnswerGrader(gradeMutualInformation)},
		"boolean_check":                {grade: newAnswerGrader(gradeBooleanCheck)},
		"cell_typing":                  {grade: newAnswerGrader(gradeCellTyping)},
		"command":                      {check: checkCommandConfig, checkAvailable: checkCommandStarts, grade: gradeCommand, needsRecord: true, needsWorkdir: true},
		"contains":                     {check: checkContainsConfig, grade: newAnswerGrader(gradeContains)},
		"distribution_comparison":      {grade: newAnswerGrader(gradeDistribution)},
		"exact":                        {check: checkExactConfig, grade: newAnswerGrader(gradeExact)},
		"jaccard_label_set":            {grade: newAnswerGrader(gradeLabelSet)},
		"kernel_check":                 {check: checkKernelCheckConfig, grade: gradeKernelCheck},
		"label_set_jaccard":            {grade: newAnswerGrader(gradeLabelSet)},
		"llm_judge":                    {check: checkJudgeConfig, checkAvailable: checkJudgeOpens, grade: gradeLLMJudge, needsRecord: true},
		"marker_gene_precision_recall": {grade: newAnswerGrader(gradeMarkerGenes)},
		"marker_gene_separation":       {grade: newAnswerGrader(gradeMarkerSeparation)},
		"multiple_choice":              {grade: newAnswerGrader(gradeMultipleChoice)},
		"notebook_check":               {check: checkNotebookCheckConfig, grade: gradeNotebookCheck},
		"numeric_range":                {grade: newAnswerGrader(gradeNumericRange)},
		"numeric_tolerance":            {grade: newAnswerGrader(gradeNumericTolerance)},
		"proportion_consistency":       {grade: newAnswerGrader(gradeProportionConsistency)},
		"regex":                        {check: checkRegexConfig, grade: newAnswerGrader(gradeRegex)},
		"spatial_adjacency":            {grade: newAnswerGrader(gradeSpatialAdjacency)},
		"spatial_adjacency_simple":     {grade: newAnswerGrader(gradeSpatialAdjacency)},
	}
}

// maxGraderSteps is the largest number of loop steps of graders whose time or memory
// grows with the product of two lengths; it limits them to a few seconds. Real cases
// stay far below it; only an answer that is made to keep the grader busy exceeds it.
const maxGraderSteps = 50_000_000

// checkGraderSteps returns a value error if a times b is more than maxGraderSteps. what
// names the two lengths.
func checkGraderSteps(what string, a, b int) error {
	if a > 0 && b > maxGraderSteps/a {
		return pyvalue.ValueError("%s: %d times %d steps are more than a grader may take (%d)", what, a, b, maxGraderSteps)
	}
	return nil
}
