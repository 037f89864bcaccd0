package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"assay/eval/attempt"
	"assay/eval/runs"
	"assay/testcases"
)

// limitFlags are the limits of an attempt. What is not given is left to the
// case, and then to the defaults.
type limitFlags struct {
	wall, idle, cell time.Duration
	turns, actions   int
	tokens           int64
	cost             float64
	flags            *pflag.FlagSet
}

func (l *limitFlags) add(flags *pflag.FlagSet) {
	def := attempt.DefaultLimits()
	text := func(what string, byDefault any) string {
		return fmt.Sprintf("%s; 0 is no limit (default: the case's, else %v)", what, byDefault)
	}
	in := func(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
	flags.DurationVar(&l.wall, "wall", 0, text("wall clock limit: `duration` since the task was sent", in(def.WallTimeoutS)))
	flags.DurationVar(&l.idle, "idle", 0, text("idle limit: `duration` without a message from the agent while no cell runs", in(def.IdleTimeoutS)))
	flags.DurationVar(&l.cell, "cell", 0, fmt.Sprintf("`duration` that one cell or piece of code may run (default: the case's, else %v)", in(def.CellTimeoutS)))
	flags.IntVar(&l.turns, "turns", 0, text("maximum `number` of model messages", def.MaxTurns))
	flags.IntVar(&l.actions, "actions", 0, text("maximum `number` of notebook actions", def.MaxActions))
	flags.Int64Var(&l.tokens, "tokens", 0, text("maximum `number` of tokens, input and output together", "none"))
	flags.Float64Var(&l.cost, "cost", 0, text("most cost in `USD`", "none"))
	l.flags = flags
}

// check refuses what cannot be a limit.
func (l *limitFlags) check() error {
	switch {
	case l.flags.Changed("cell") && l.cell <= 0:
		return fmt.Errorf("--cell %v: want a time of more than 0", l.cell)
	case min(l.wall, l.idle) < 0, min(l.turns, l.actions) < 0, l.tokens < 0:
		return errors.New("--wall, --idle, --turns, --actions, --tokens: a limit is not negative; 0 is none")
	case !(l.cost >= 0) || math.IsInf(l.cost, 1):
		return fmt.Errorf("--cost %v: want a number of USD; 0 is no limit", l.cost)
	}
	return nil
}

// asked is what was given, in the form of attempt.Config: 0 is not given,
// negative is no limit.
func (l *limitFlags) asked() runs.Limits {
	return runs.Limits{
		WallTimeoutS: given(l, "wall", l.wall.Seconds()), IdleTimeoutS: given(l, "idle", l.idle.Seconds()), CellTimeoutS: given(l, "cell", l.cell.Seconds()),
		MaxTurns: given(l, "turns", l.turns), MaxActions: given(l, "actions", l.actions),
		MaxTokens: given(l, "tokens", l.tokens), MaxCostUSD: given(l, "cost", l.cost),
	}
}

// unpriced is the model of the built-in agent when there is a limit on cost and
// its price is not known; "" otherwise.
func (f *hostFlags) unpriced(p *process, cases []testcases.Case) string {
	limited := f.limits.cost > 0 || slices.ContainsFunc(cases, func(c testcases.Case) bool { return c.Limits.CostUSD > 0 })
	if !limited || f.agent != "builtin" || f.builtin.priced(p) {
		return ""
	}
	return f.builtin.model
}

func given[T int | int64 | float64](l *limitFlags, name string, value T) T {
	switch {
	case !l.flags.Changed(name):
		return 0
	case value <= 0:
		return -1
	default:
		return value
	}
}
