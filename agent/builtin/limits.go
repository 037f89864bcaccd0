package builtin

import (
	"encoding/json"
	"fmt"
	"time"
)

// Limits are the maximum turns, tokens, cost, actions and times of an agent. In an
// evaluation they count from the first query on; otherwise they start anew with each query
// that arrives while no other is in progress. The server enforces its own limits as well.
type Limits struct {
	// Checked before each call of the model. 0 means no limit.
	MaxTurns    int           // calls of the model that returned a reply
	MaxTokens   int64         // input and output tokens, cached or not
	MaxCostUSD  float64       // ignored, with one agent_error, if the price of the model is not known
	MaxActions  int           // actions sent to the notebook
	WallTimeout time.Duration // wall-clock time

	CellTimeout   time.Duration // longest wait for the end of a cell or of code; 0 means 5 minutes
	ActionTimeout time.Duration // longest wait for the response to an action; 0 means 10 seconds
}

func (l Limits) withDefaults() Limits {
	if l.CellTimeout <= 0 {
		l.CellTimeout = 5 * time.Minute
	}
	if l.ActionTimeout <= 0 {
		l.ActionTimeout = 10 * time.Second
	}
	return l
}

// withOverrides returns a copy of the limits in which those of an init message (raw, a JSON
// object) replace the old values. A limit that raw lacks, or that is not positive there,
// keeps its value. It returns an error if raw cannot be decoded.
func (l Limits) withOverrides(raw json.RawMessage) (Limits, error) {
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
	l.WallTimeout = positiveOrDefault(secondsToDuration(in.WallS), l.WallTimeout)
	l.CellTimeout = positiveOrDefault(secondsToDuration(in.CellS), l.CellTimeout)
	l.MaxTurns = positiveOrDefault(in.Turns, l.MaxTurns)
	l.MaxActions = positiveOrDefault(in.Actions, l.MaxActions)
	l.MaxTokens = positiveOrDefault(in.Tokens, l.MaxTokens)
	l.MaxCostUSD = positiveOrDefault(in.CostUSD, l.MaxCostUSD)
	return l, nil
}

// positiveOrDefault returns value if it is positive, otherwise fallback.
func positiveOrDefault[T int | int64 | float64 | time.Duration](value, fallback T) T {
	if value > 0 {
		return value
	}
	return fallback
}

// secondsToDuration returns a number of seconds as a time.Duration.
func secondsToDuration(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// limitUse is how much of each limit the agent has used in the current limit period: turns,
// tokens, cost in US dollars, actions and wall-clock time.
type limitUse struct {
	turns   int
	tokens  int64
	costUSD *float64 // nil if the price of the model is not known
	actions int
	wall    time.Duration
}

// check compares the use of an agent with its limits. It returns a [LimitError] for the
// first limit that has been reached, nil if none has.
func (l Limits) check(used limitUse) error {
	switch {
	case l.MaxTurns > 0 && used.turns >= l.MaxTurns:
		return &LimitError{Limit: "turns", Configured: l.MaxTurns, Measured: used.turns}
	case l.MaxTokens > 0 && used.tokens >= l.MaxTokens:
		return &LimitError{Limit: "tokens", Configured: l.MaxTokens, Measured: used.tokens}
	case l.MaxCostUSD > 0 && used.costUSD != nil && *used.costUSD >= l.MaxCostUSD:
		return &LimitError{Limit: "cost_usd", Configured: l.MaxCostUSD, Measured: *used.costUSD}
	case l.MaxActions > 0 && used.actions >= l.MaxActions:
		return &LimitError{Limit: "actions", Configured: l.MaxActions, Measured: used.actions}
	case l.WallTimeout > 0 && used.wall >= l.WallTimeout:
		return &LimitError{Limit: "wall_s", Configured: l.WallTimeout.Seconds(), Measured: used.wall.Seconds()}
	}
	return nil
}

// LimitError is the error that ends the work on a query because a limit was reached. The
// agent reports it to the server as an event of type limit {limit, configured, measured}.
type LimitError struct {
	Limit                string // name of the limit, such as turns or max_eval_iters
	Configured, Measured any    // numbers, in the unit of the limit
	Text                 string // replaces "MEASURED of CONFIGURED" in the message unless ""
}

func (e *LimitError) Error() string {
	if e.Text != "" {
		return fmt.Sprintf("limit reached: %s (%s)", e.Limit, e.Text)
	}
	return fmt.Sprintf("limit reached: %s %v of %v", e.Limit, e.Measured, e.Configured)
}

// eventMetadata returns the metadata of the limit event: the limit's name, its configured
// value and the measured value.
func (e *LimitError) eventMetadata() map[string]any {
	return map[string]any{"limit": e.Limit, "configured": e.Configured, "measured": e.Measured}
}
