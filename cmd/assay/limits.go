package main

import (
	"encoding/json"
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

// limitFlags are the limits of an attempt. A limit that is not given is the case's, or
// else the default.
type limitFlags struct {
	wall, idle, cell time.Duration
	turns, actions   int
	tokens           int64
	cost             float64 // USD
	trace            byteSizeFlag
	flags            *pflag.FlagSet
}

func (l *limitFlags) add(flags *pflag.FlagSet) {
	defaults := attempt.DefaultLimits()
	describe := func(limit string, defaultValue any) string {
		return fmt.Sprintf("%s; 0 is no limit (default: the case's, else %v)", limit, defaultValue)
	}
	duration := func(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
	flags.DurationVar(&l.wall, "wall", 0, describe("wall clock limit: `duration` since the task was sent", duration(defaults.WallTimeoutS)))
	flags.DurationVar(&l.idle, "idle", 0, describe("idle limit: `duration` without a message from the agent while no cell runs", duration(defaults.IdleTimeoutS)))
	flags.DurationVar(&l.cell, "cell", 0, fmt.Sprintf("`duration` that one cell or piece of code may run (default: the case's, else %v)", duration(defaults.CellTimeoutS)))
	flags.IntVar(&l.turns, "turns", 0, describe("maximum `number` of model messages", defaults.MaxTurns))
	flags.IntVar(&l.actions, "actions", 0, describe("maximum `number` of notebook actions", defaults.MaxActions))
	flags.Int64Var(&l.tokens, "tokens", 0, describe("maximum `number` of tokens, input and output together", "none"))
	flags.Float64Var(&l.cost, "cost", 0, describe("maximum cost in `USD`", "none"))
	l.trace = byteSizeFlag(defaults.MaxTraceBytes)
	flags.Var(&l.trace, "trace-limit", "maximum `size` of the messages of an attempt in its trace; 0 is no limit")
	l.flags = flags
}

// check rejects values that are no limits.
func (l *limitFlags) check() error {
	switch {
	case l.flags.Changed("cell") && l.cell <= 0:
		return fmt.Errorf("--cell %v: want a time of more than 0", l.cell)
	case min(l.wall, l.idle) < 0, min(l.turns, l.actions) < 0, l.tokens < 0:
		return errors.New("--wall, --idle, --turns, --actions, --tokens: a limit is not negative; 0 is none")
	case !(l.cost >= 0) || math.IsInf(l.cost, 1): // also NaN
		return fmt.Errorf("--cost %v: want a number of USD; 0 is no limit", l.cost)
	}
	return nil
}

// overrides returns the limits as in attempt.Config: 0 was not given, negative means no
// limit.
func (l *limitFlags) overrides() runs.Limits {
	return runs.Limits{
		WallTimeoutS: limitOverrideOf(l, "wall", l.wall.Seconds()), IdleTimeoutS: limitOverrideOf(l, "idle", l.idle.Seconds()), CellTimeoutS: limitOverrideOf(l, "cell", l.cell.Seconds()),
		MaxTurns: limitOverrideOf(l, "turns", l.turns), MaxActions: limitOverrideOf(l, "actions", l.actions),
		MaxTokens: limitOverrideOf(l, "tokens", l.tokens), MaxCostUSD: limitOverrideOf(l, "cost", l.cost),
		MaxTraceBytes: limitOverrideOf(l, "trace-limit", int64(l.trace)),
	}
}

// limitOverrideOf returns value, 0 if the flag was not given, or -1 if it was given as 0.
func limitOverrideOf[T int | int64 | float64](l *limitFlags, flag string, value T) T {
	switch {
	case !l.flags.Changed(flag):
		return 0
	case value <= 0:
		return -1
	default:
		return value
	}
}

// limitsForAgent returns limits as the JSON that tells an agent the limits of each query,
// in which 0 means no limit.
func limitsForAgent(overrides runs.Limits) json.RawMessage {
	raw, err := json.Marshal(runs.Limits{
		WallTimeoutS: max(overrides.WallTimeoutS, 0), CellTimeoutS: max(overrides.CellTimeoutS, 0), MaxTurns: max(overrides.MaxTurns, 0), MaxActions: max(overrides.MaxActions, 0),
		MaxTokens: max(overrides.MaxTokens, 0), MaxCostUSD: max(overrides.MaxCostUSD, 0),
	})
	if err != nil {
		return nil // numbers can always be encoded
	}
	return raw
}

// modelWithUnknownPrice returns the model of --model if a flag or a case limits the cost and the price of the model is
// not known; otherwise "".
func (f *kernelAndAgentFlags) modelWithUnknownPrice(p *cli, cases []testcases.Case) string {
	isLimited := f.limits.cost > 0 || slices.ContainsFunc(cases, func(c testcases.Case) bool { return c.Limits.CostUSD > 0 })
	if !isLimited || f.builtin.model == "" || f.builtin.isPriceKnown(p) {
		return ""
	}
	return f.builtin.model
}
