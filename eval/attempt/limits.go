package attempt

import (
	"encoding/json"
	"time"

	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/testcases"
)

// DefaultLimits hold where neither the command line nor the case says anything.
func DefaultLimits() runs.Limits {
	return runs.Limits{WallS: 600, IdleS: 300, CellS: 300, Turns: 100, Actions: 1000, DiskBytes: 2 << 30}
}

// EffectiveLimits puts together the limits of an attempt: what asked says goes before
// the case, and the case before the defaults. In asked, negative is no limit.
func EffectiveLimits(asked runs.Limits, c testcases.Case) runs.Limits {
	def := DefaultLimits()
	return runs.Limits{
		WallS:     firstNonZero(asked.WallS, c.WallLimit().Seconds(), def.WallS),
		IdleS:     firstNonZero(asked.IdleS, c.Limits.Idle.Seconds(), def.IdleS),
		CellS:     firstNonZero(asked.CellS, c.Limits.Cell.Seconds(), def.CellS),
		Turns:     firstNonZero(asked.Turns, c.Limits.Turns, def.Turns),
		Actions:   firstNonZero(asked.Actions, c.Limits.Actions, def.Actions),
		Tokens:    firstNonZero(asked.Tokens, c.Limits.Tokens, def.Tokens),
		CostUSD:   firstNonZero(asked.CostUSD, c.Limits.CostUSD, def.CostUSD),
		DiskBytes: firstNonZero(asked.DiskBytes, def.DiskBytes),
	}
}

// firstNonZero returns the first value that is not 0, and 0 for a negative one.
func firstNonZero[T int | int64 | float64](values ...T) T {
	for _, v := range values {
		if v != 0 {
			return max(v, 0)
		}
	}
	return 0
}

func secondsToDuration(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// newAgentInit tells the agent that it is in an evaluation, and its limits.
func newAgentInit(limits runs.Limits) protocol.AgentInit {
	raw, err := json.Marshal(limits)
	if err != nil {
		raw = nil // numbers can always be written
	}
	return protocol.AgentInit{SessionID: 1, EvalMode: true, Limits: raw}
}
