package builtin

import (
	"encoding/json"
	"fmt"
	"time"
)

// Limits bound an attempt. In an evaluation they count from the first query on,
// otherwise from each that no other is worked on beside. The first five are
// checked before each call of the model; 0 is no limit. They are the agent's own:
// the server has limits too.
type Limits struct {
	Turns   int           // replies of the model
	Tokens  int64         // in and out, cached or not
	CostUSD float64       // not enforced for a model whose price is not known, which is said once
	Actions int           // sent to the notebook
	Wall    time.Duration // since they count

	Cell   time.Duration // how long a tool waits for a cell or for code; 0 is 5 minutes
	Action time.Duration // how long an operation may take; 0 is 10 seconds
}

func (l Limits) withDefaults() Limits {
	if l.Cell <= 0 {
		l.Cell = 5 * time.Minute
	}
	if l.Action <= 0 {
		l.Action = 10 * time.Second
	}
	return l
}

// override takes over the limits that an init names, each of them if it is more
// than 0.
func (l Limits) override(raw json.RawMessage) (Limits, error) {
	var in struct {
		WallS   float64 `json:"wall_s"`
		CellS   float64 `json:"cell_s"`
		Turns   int     `json:"turns"`
		Actions int     `json:"actions"`
		Tokens  int64   `json:"tokens"`
		CostUSD float64 `json:"cost_usd"`
	}
	if len(raw) == 0 {
		return l, nil
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return l, fmt.Errorf("init.limits: %w", err)
	}
	l.Wall = orElse(seconds(in.WallS), l.Wall)
	l.Cell = orElse(seconds(in.CellS), l.Cell)
	l.Turns = orElse(in.Turns, l.Turns)
	l.Actions = orElse(in.Actions, l.Actions)
	l.Tokens = orElse(in.Tokens, l.Tokens)
	l.CostUSD = orElse(in.CostUSD, l.CostUSD)
	return l, nil
}

func orElse[T int | int64 | float64 | time.Duration](value, otherwise T) T {
	if value > 0 {
		return value
	}
	return otherwise
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// meter is what has been spent of the limits.
type meter struct {
	turns   int
	tokens  int64
	costUSD *float64 // nil is not known
	actions int
	wall    time.Duration
}

// check returns the first limit that has been reached, nil if none.
func (l Limits) check(m meter) error {
	switch {
	case l.Turns > 0 && m.turns >= l.Turns:
		return &limitError{limit: "turns", configured: l.Turns, measured: m.turns}
	case l.Tokens > 0 && m.tokens >= l.Tokens:
		return &limitError{limit: "tokens", configured: l.Tokens, measured: m.tokens}
	case l.CostUSD > 0 && m.costUSD != nil && *m.costUSD >= l.CostUSD:
		return &limitError{limit: "cost_usd", configured: l.CostUSD, measured: *m.costUSD}
	case l.Actions > 0 && m.actions >= l.Actions:
		return &limitError{limit: "actions", configured: l.Actions, measured: m.actions}
	case l.Wall > 0 && m.wall >= l.Wall:
		return &limitError{limit: "wall_s", configured: l.Wall.Seconds(), measured: m.wall.Seconds()}
	}
	return nil
}

// limitError ends an attempt at one of its limits.
type limitError struct {
	limit                string
	configured, measured any
	words                string // that tell it where the two are no numbers, else ""
}

func (e *limitError) Error() string {
	if e.words != "" {
		return fmt.Sprintf("limit reached: %s (%s)", e.limit, e.words)
	}
	return fmt.Sprintf("limit reached: %s %v of %v", e.limit, e.measured, e.configured)
}

func (e *limitError) metadata() map[string]any {
	return map[string]any{"limit": e.limit, "configured": e.configured, "measured": e.measured}
}
