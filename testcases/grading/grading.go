// Package grading decides whether an answer is right. It finds the answer in a
// conversation ([Extract]), reads it with the meaning JSON has in Python
// ([Decode], [Value]), and grades it, or the live kernel, by what a case asks
// for ([Grade], [GradeAll]).
package grading

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Spec says how to grade: one entry of a case's graders.
type Spec struct {
	Type   string // one of [Types]; empty when the case gives none, or no string
	Config Value  // nil when the case gives none, which is an empty one
	Field  string // where the case has it, for messages: "grader", "graders[1]"
}

// Input is what there is to grade. The zero Input has neither an answer nor a
// kernel.
type Input struct {
	Answer   Value  // nil or [Null]: no answer
	NoAnswer string // why there is none, for the reasoning; may be empty
	Kernel   Kernel // nil: it is gone
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
	check func(config *Object) error
	grade func(ctx context.Context, config *Object, in Input) (Result, error)
}

// graders is the one place that lists them. The types that other harnesses know
// too have no check, so that their cases run as they are.
func graders() map[string]grader {
	return map[string]grader{
		"exact":             {check: checkExact, grade: ofAnswer(exact)},
		"kernel_check":      {check: checkKernelCheck, grade: kernelCheck},
		"multiple_choice":   {grade: ofAnswer(multipleChoice)},
		"numeric_tolerance": {grade: ofAnswer(numericTolerance)},
	}
}

// Types returns the known grader types, sorted.
func Types() []string { return slices.Sorted(maps.Keys(graders())) }

// Check says what would keep spec from grading anything, before a run starts:
// an unknown type, which the error answers with the known ones, or a config of
// the wrong kind or, for our own types, with wrong content. The error names the
// field.
func Check(spec Spec) error {
	g, ok := graders()[spec.Type]
	if !ok {
		return fmt.Errorf("field %s.type: unknown grader type %q; known are %s", spec.Field, spec.Type, strings.Join(Types(), ", "))
	}
	config, err := configOf(spec)
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
			result = failed(&Error{Kind: "panic", Text: fmt.Sprint(p)})
		}
		result.Type = spec.Type
	}()
	g, ok := graders()[spec.Type]
	if !ok {
		return failed(&Error{Kind: "unknown_grader", Text: Check(spec).Error()})
	}
	config, err := configOf(spec)
	if err != nil {
		return failed(typeError("%v", err))
	}
	result, err = g.grade(ctx, config, in)
	if err != nil {
		return failed(err)
	}
	return result
}

// GradeAll grades in by each spec, in order. It passed when all results did, and
// the score is their mean. Without specs nothing passed and the score is 0.
func GradeAll(ctx context.Context, specs []Spec, in Input) (results []Result, passed bool, score float64) {
	passed = len(specs) > 0
	for _, spec := range specs {
		result := Grade(ctx, spec, in)
		results = append(results, result)
		passed = passed && result.Passed
		score += result.Score / float64(len(specs))
	}
	return results, passed, score
}

func configOf(spec Spec) (*Object, error) {
	switch config := spec.Config.(type) {
	case nil:
		return &Object{}, nil
	case *Object:
		return config, nil
	default:
		return nil, fmt.Errorf("field %s.config: want an object, found %s", spec.Field, KindOf(config))
	}
}

// ofAnswer makes a grader out of a function that reads nothing but the answer.
func ofAnswer(grade func(config *Object, answer Value) (Result, error)) func(context.Context, *Object, Input) (Result, error) {
	return func(_ context.Context, config *Object, in Input) (Result, error) {
		if in.Answer == nil || in.Answer == (Null{}) {
			return noAnswer(in.NoAnswer), nil
		}
		return grade(config, in.Answer)
	}
}

func noAnswer(why string) Result {
	r := newReport("Answer")
	if why == "" {
		why = "nothing was submitted"
	}
	r.fail("there is no answer to grade: " + why)
	return r.result(0)
}
