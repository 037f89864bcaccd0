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
	return runs.Limits{WallS: 600, IdleS: 300, CellS: 300, Turns: 100, Actions: 1000, DiskBytes: 2 << 30}
}

// EffectiveLimits returns the limits of an attempt: each is that of overrides, of the case or the
// default, the first that is not 0. A negative override means no limit.
func EffectiveLimits(overrides runs.Limits, c testcases.Case) runs.Limits {
	defaults := DefaultLimits()
	return runs.Limits{
		WallS:     firstNonZero(overrides.WallS, c.WallLimit().Seconds(), defaults.WallS),
		IdleS:     firstNonZero(overrides.IdleS, c.Limits.Idle.Seconds(), defaults.IdleS),
		CellS:     firstNonZero(overrides.CellS, c.Limits.Cell.Seconds(), defaults.CellS),
		Turns:     firstNonZero(overrides.Turns, c.Limits.Turns, defaults.Turns),
		Actions:   firstNonZero(overrides.Actions, c.Limits.Actions, defaults.Actions),
		Tokens:    firstNonZero(overrides.Tokens, c.Limits.Tokens, defaults.Tokens),
		CostUSD:   firstNonZero(overrides.CostUSD, c.Limits.CostUSD, defaults.CostUSD),
		DiskBytes: firstNonZero(overrides.DiskBytes, defaults.DiskBytes),
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
