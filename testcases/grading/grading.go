// Package grading decides whether an answer is right. It finds the answer in a
// conversation ([Extract]) and grades it, the notebook or the live kernel by the graders
// of a case ([Grade], [GradeAll]). Values have the meaning that Python gives them: see
// package pyvalue. Each type of grader is in a file of that name.
package grading

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/internal/model"
	"assay/testcases/grading/pyvalue"
)

// Spec says how to grade: one entry of a case's graders.
type Spec struct {
	Type   string        // one of [Types]; empty when the case gives none, or no string
	Config pyvalue.Value // nil when the case gives none, which is an empty one
	Field  string        // where the case has it, for messages: "grader", "graders[1]"
}

// NeedsRecord says whether its grader reads [Input].Record or Conversation, which
// take some work to make.
func (s Spec) NeedsRecord() bool { return graderTypes()[s.Type].needsRecord }

// Digest tells specs that grade differently apart, in 16 characters.
func (s Spec) Digest() string {
	text := pyvalue.AppendJSON(pyvalue.AppendJSON(nil, pyvalue.String(s.Type)), s.Config)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Input is what there is to grade. The zero Input has no answer, and nothing else
// either. What a grader needs and does not find is its error.
type Input struct {
	Answer         pyvalue.Value // nil or [Null]: no answer
	NoAnswerReason string        // why there is none, for the reasoning; may be empty

	Task         string            // what the agent was told, verbatim
	Notebook     *Notebook         // what it left behind; nil: not known
	Conversation []json.RawMessage // the entries of the agent's history, oldest first

	// Record is what a command grader reads on stdin, an object; nil: it gets
	// {"answer": …}. Dir is the folder of the case file, in which the command
	// runs; empty: the current one. Environ is all of its environment; nil: no
	// more than a PATH.
	Record  json.RawMessage
	Dir     string
	Environ []string

	// Kernel is the one the agent worked in; nil: it is gone. Rerun runs the
	// notebook's code cells from top to bottom in a fresh kernel, in a sandbox as
	// the case began with, and returns them as they are then; nil: that cannot be
	// done here. The error of Rerun says that it could not do it, not that a cell
	// failed.
	Kernel Kernel
	Rerun  func(context.Context) (*Notebook, error)

	// Judge opens the model of that name, for llm_judge; nil: there is none here.
	Judge func(name string) (model.Client, error)
}

// Notebook is a notebook as graders see it.
type Notebook struct {
	Language string // of the code: python, elisp, …
	Cells    []Cell // in order
}

// Cell is a cell of a [Notebook].
type Cell struct {
	IsCode bool // otherwise it is Markdown
	Source string
	Status string // of the last run: "ok", "error" or "interrupted"; empty: it did not run
	Text   string // what it printed and showed as text, in order
}

// Kernel is the kernel that the agent worked in, which by now nobody else uses.
type Kernel interface {
	// Execute runs code among the kernel's globals and waits for its end. The
	// error says that the kernel could not do that, not that the code failed.
	Execute(ctx context.Context, code string) (Execution, error)
}

// Execution is how the code given to a [Kernel] ended.
type Execution struct {
	Status    string // "ok", "error" or "interrupted"
	Result    string // the repr of the last value, empty for None
	Stdout    string
	Stderr    string
	Exception string // the traceback, empty if none was raised
}

// grader grades by one type of spec.
type grader struct {
	// check finds what is wrong with a config before there is anything to
	// grade. It is nil where a bad config must yield a verdict instead.
	check func(config *pyvalue.Object) error
	grade func(ctx context.Context, config *pyvalue.Object, in Input) (Result, error)

	needsRecord bool // it reads Input.Record or Input.Conversation
}

// Types returns the known grader types, sorted.
func Types() []string { return slices.Sorted(maps.Keys(graderTypes())) }

// Check says what would keep spec from grading anything, before a run starts:
// an unknown type, which the error answers with the known ones, or a config of
// the wrong kind or, for our own types, with wrong content. The error names the
// field.
func Check(spec Spec) error {
	g, ok := graderTypes()[spec.Type]
	if !ok {
		return fmt.Errorf("field %s.type: unknown grader type %q; known are %s", spec.Field, spec.Type, strings.Join(Types(), ", "))
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

// Grade grades in by spec. Whatever goes wrong becomes a result that did not
// pass and has an error, a panic included. It may be called by several
// goroutines as far as the kernel allows it.
func Grade(ctx context.Context, spec Spec, in Input) (result Result) {
	defer func() {
		if p := recover(); p != nil {
			result = failedResult(&pyvalue.Error{Kind: "panic", Text: fmt.Sprint(p)})
		}
		result.Type = spec.Type
	}()
	g, ok := graderTypes()[spec.Type]
	if !ok {
		return failedResult(&pyvalue.Error{Kind: "unknown_grader", Text: Check(spec).Error()})
	}
	config, err := configObject(spec)
	if err != nil {
		return failedResult(pyvalue.TypeError("%v", err))
	}
	result, err = g.grade(ctx, config, in)
	if err != nil {
		return failedResult(err)
	}
	return result
}

// GradeAll grades in by each spec, in order. It passed when all results did, and
// the score is their mean. Without specs nothing passed and the score is 0.
func GradeAll(ctx context.Context, specs []Spec, in Input) (results []Result, passed bool, score float64) {
	passed = len(specs) > 0
	for _, spec := range specs {
		result := Grade(ctx, spec, in)
		result.Spec = spec.Digest()
		results = append(results, result)
		passed = passed && result.Passed
		score += result.Score
	}
	return results, passed, score / float64(max(1, len(specs)))
}

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

// answerGrader makes a grader out of a function that reads nothing but the answer.
func answerGrader(grade func(config *pyvalue.Object, answer pyvalue.Value) (Result, error)) func(context.Context, *pyvalue.Object, Input) (Result, error) {
	return func(_ context.Context, config *pyvalue.Object, in Input) (Result, error) {
		if in.Answer == nil || in.Answer == (pyvalue.Null{}) {
			return noAnswerResult(in.NoAnswerReason), nil
		}
		return grade(config, in.Answer)
	}
}

func noAnswerResult(why string) Result {
	r := newReport("Answer")
	if why == "" {
		why = "nothing was submitted"
	}
	r.addFailure("there is no answer to grade: " + why)
	return r.result(0)
}

// graderTypes is the one place that lists them. The types that other harnesses know
// too have no check, so that their cases run as they are.
func graderTypes() map[string]grader {
	return map[string]grader{
		"adjusted_mutual_information":  {grade: answerGrader(gradeMutualInformation)},
		"boolean_check":                {grade: answerGrader(gradeBooleanCheck)},
		"cell_typing":                  {grade: answerGrader(gradeCellTyping)},
		"command":                      {check: checkCommandConfig, grade: gradeCommand, needsRecord: true},
		"contains":                     {check: checkContainsConfig, grade: answerGrader(gradeContains)},
		"distribution_comparison":      {grade: answerGrader(gradeDistribution)},
		"exact":                        {check: checkExactConfig, grade: answerGrader(gradeExact)},
		"jaccard_label_set":            {grade: answerGrader(gradeLabelSet)},
		"kernel_check":                 {check: checkKernelCheckConfig, grade: gradeKernelCheck},
		"label_set_jaccard":            {grade: answerGrader(gradeLabelSet)},
		"llm_judge":                    {check: checkJudgeConfig, grade: gradeLLMJudge, needsRecord: true},
		"marker_gene_precision_recall": {grade: answerGrader(gradeMarkerGenes)},
		"marker_gene_separation":       {grade: answerGrader(gradeMarkerSeparation)},
		"multiple_choice":              {grade: answerGrader(gradeMultipleChoice)},
		"notebook_check":               {check: checkNotebookCheckConfig, grade: gradeNotebookCheck},
		"numeric_range":                {grade: answerGrader(gradeNumericRange)},
		"numeric_tolerance":            {grade: answerGrader(gradeNumericTolerance)},
		"proportion_consistency":       {grade: answerGrader(gradeProportionConsistency)},
		"regex":                        {check: checkRegexConfig, grade: answerGrader(gradeRegex)},
		"spatial_adjacency":            {grade: answerGrader(gradeSpatialAdjacency)},
		"spatial_adjacency_simple":     {grade: answerGrader(gradeSpatialAdjacency)},
	}
}

// maxSteps bounds the work of graders that grows with the product of two
// lengths: some seconds of it. What a case asks for is far below; it is an answer
// made to keep the grader busy, or to fill the memory, that is beyond.
const maxSteps = 50_000_000

// checkSteps is an error if a times b steps are too many. What describes them.
func checkSteps(what string, a, b int) error {
	if a > 0 && b > maxSteps/a {
		return pyvalue.ValueError("%s: %d times %d steps are more than a grader may take (%d)", what, a, b, maxSteps)
	}
	return nil
}
