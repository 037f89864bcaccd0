package attempt

import (
	"encoding/json"
	"time"

	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/testcases"
)

// DefaultLimits returns the limits that hold unless the command line or the case sets others: 10
// min in all, 5 min idle, 5 min per execute_code, 100 turns, 1,000 actions, 2 GiB on disk, and no
// limit on tokens and cost.
func DefaultLimits() runs.Limits {
	return runs.Limits{WallTimeoutS: 600, IdleTimeoutS: 300, CellTimeoutS: 300, MaxTurns: 100, MaxActions: 1000, MaxDiskBytes: 2 << 30}
}

// EffectiveLimits returns the limits of an attempt: each is that of overrides, of the case or the
// default, the first that is not 0. A negative override means no limit.
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
	}
}

// firstNonZero returns the first value that is not 0, or 0 if that is negative or there is none.
func firstNonZero[T int | int64 | float64](values ...T) T {
	for _, v := range values {
		if v != 0 {
			return max(v, 0)
		}
	}
	return 0
}

// secondsToDuration converts seconds.
func secondsToDuration(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// newAgentInit returns the init message for the agent, which tells it that it is evaluated and its
// limits.
func newAgentInit(limits runs.Limits) protocol.AgentInit {
	raw, err := json.Marshal(limits)
	if err != nil {
		raw = nil // cannot happen: numbers have JSON
	}
	return protocol.AgentInit{SessionID: 1, EvalMode: true, Limits: raw}
}
