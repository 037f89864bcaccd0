package attempt

import (
	"encoding/json"
	"time"

	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/testcases"
)

// DefaultLimits returns the limits of an attempt that neither the command line nor the case has
// set: 10 min in all, 5 min idle, 5 min per execute_code, 100 turns, 1,000 actions, 2 GiB on
// disk, 1 GiB of trace, and no limit on tokens and cost.
func DefaultLimits() runs.Limits {
	return runs.Limits{
		WallTimeoutS: 600, IdleTimeoutS: 300, CellTimeoutS: 300, MaxTurns: 100, MaxActions: 1000, MaxDiskBytes: 2 << 30, MaxTraceBytes: 1 << 30,
	}
}

// EffectiveLimits returns the limits of an attempt at case c. Each limit is the first one that
// is not 0 of: overrides, the case's limit, the default. A negative override means no limit,
// which the result has as 0.
func EffectiveLimits(overrides runs.Limits, c testcases.Case) runs.Limits {
	defaults := DefaultLimits()
	return runs.Limits{
		WallTimeoutS: firstNonZero(overrides.WallTimeoutS, c.WallLimit().Seconds(), defaults.WallTimeoutS),
		IdleTimeoutS: firstNonZero(overrides.IdleTimeoutS, c.Limits.Idle.Seconds(), defaults.IdleTimeoutS),
		CellTimeoutS: firstNonZero(overrides.CellTimeoutS, c.Limits.Cell.Seconds(), defaults.CellTimeoutS),
		MaxTurns:     firstNonZero(overrides.MaxTurns, c.Limits.Turns, defaults.MaxTurns),
		MaxActions:   firstNonZero(overrides.MaxActions, c.Limits.Actions, defaults.MaxActions),
		MaxTokens:    firstNonZero(overrides.MaxTokens, c.Limits.Tokens, defaults.MaxTokens),
		MaxCostUSD:   firstNonZero(overrides.MaxCostUSD, c.Limits.CostUSD, defaults.MaxCostUSD),
		MaxDiskBytes: firstNonZero(overrides.MaxDiskBytes, defaults.MaxDiskBytes),

		MaxTraceBytes: firstNonZero(overrides.MaxTraceBytes, defaults.MaxTraceBytes),
	}
}

// firstNonZero returns the first value that is not 0. It returns 0 if that value is negative,
// or if all values are 0.
func firstNonZero[T int | int64 | float64](values ...T) T {
	for _, v := range values {
		if v != 0 {
			return max(v, 0)
		}
	}
	return 0
}

// secondsToDuration converts a number of seconds, which may have a fraction, to a
// time.Duration.
func secondsToDuration(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// newAgentInit returns the init message that tells the agent that it is being evaluated, and
// with which limits.
func newAgentInit(limits runs.Limits) protocol.AgentInit {
	raw, err := json.Marshal(limits)
	if err != nil {
		raw = nil // cannot happen: numbers have JSON
	}
	return protocol.AgentInit{SessionID: 1, EvalMode: true, Limits: raw}
}
