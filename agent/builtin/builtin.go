// Package builtin is Assay's own agent: a process that speaks the wire protocol on
// one connection, like any other agent, and changes a notebook with agent_action
// frames.
//
// This package holds what all strategies share. A [Strategy] turns a query into
// calls of the model and actions on the notebook. Each has its own package:
//
//	tools     the model calls tools; also tools.ExternalAgent, whose tools
//	          another program calls (agent/mcp), and tools.Ask
//	blocks    the model writes fenced code blocks
//	ticks     the model answers with one JSON object per tick
//	oracle    plays the solution of a case; also the agent that does nothing
//
// The strategies import this package, never the other way round; cmd/assay chooses
// one by its name. Two packages below it need no agent: render writes what a
// kernel printed and displayed as text and images for a model, markdown finds
// fenced code blocks.
//
// # Parts of an agent
//
//   - [Agent] reads the connection. It never waits there, because the responses
//     that its other goroutines wait for come in through the same reader.
//   - A job queue runs the queries: those of one conversation one after the other,
//     those of several conversations side by side.
//   - [Conversation] is one transcript. It sends every message that it adds to the
//     server, repairs itself before each call of the model (transcript.go), makes
//     the content of replies valid (sanitize.go) and retries failed calls
//     (retry.go).
//   - [ModelCall] gets one complete reply: it asks again after a reply that was cut
//     off and drops old rounds from a conversation that is too long.
//   - [NotebookClient] sends actions, matches their responses by tx_id and follows the
//     runs of the cells that the agent started.
//   - A usage tracker adds up tokens and cost and checks the [Limits].
//
// # Goroutines
//
// [Agent.Run] starts four goroutines: the reader, the job queue's worker, one that
// stops cells whose creation was given up, and one that closes the connection when
// the context ends. The worker adds one per job that is under way. Run returns after all of them
// have ended.
package builtin

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"time"

	"assay/internal/model"
	"assay/internal/protocol"
)

// Config configures a built-in agent: its model, limits, log and clock. The zero value works
// for agents that call no model.
type Config struct {
	Model        model.Client // required by [Run]
	ModelName    string       // such as anthropic/claude-opus-4-5; selects price and context size
	PriceUnknown bool         // the price of ModelName does not apply, because another provider serves it
	Params       model.Params // settings of every call; MaxTokens 0 means model.DefaultMaxTokens
	Name         string       // name of the agent in its system prompt; "" means Eva
	Limits       Limits

	// SystemText is text of the user that follows the strategy's own system prompt in every
	// call; "" means none.
	SystemText string

	// IsBehindGateway says that calls of the model go through the server, which enforces the limits on cost and on
	// wall-clock time.
	IsBehindGateway bool

	Stderr  io.Writer        // gets a line "[agent] -> ACTION TX_ID" per action; nil discards
	Log     *slog.Logger     // nil discards
	Clock   func() time.Time // nil means time.Now
	NewTxID func() string    // returns the tx_id of a new action; nil means protocol.NewTxID

	// Sleep waits between two tries of a model call and returns the cause of the
	// context if that ends first. nil waits in real time.
	Sleep func(context.Context, time.Duration) error

	// Jitter returns a random number from 0 to 1 by which the delay before a retry
	// is multiplied. nil means rand.Float64.
	Jitter func() float64
}

func (c Config) withDefaults() Config {
	if c.Name == "" {
		c.Name = "Eva"
	}
	if c.Params.MaxTokens == 0 {
		c.Params.MaxTokens = model.DefaultMaxTokens
	}
	if c.Stderr == nil {
		c.Stderr = io.Discard
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.NewTxID == nil {
		c.NewTxID = protocol.NewTxID
	}
	if c.Sleep == nil {
		c.Sleep = sleepContext
	}
	if c.Jitter == nil {
		c.Jitter = rand.Float64
	}
	c.Limits = c.Limits.withDefaults()
	return c
}

// Run runs a built-in agent that calls a model until conn ends, which is no error, or until
// ctx ends, whose cause it then returns. It closes conn and leaves no goroutine behind.
// Errors of newStrategy and a missing Config.Model are returned before the first frame is
// sent. A query that fails is reported to the server and ends only that query.
func Run(ctx context.Context, conn protocol.Conn, cfg Config, strategyName string, newStrategy func(*AgentCore) (Strategy, error)) error {
	a, err := NewAgent(conn, cfg, strategyName, func(core *AgentCore) (Strategy, error) {
		if core.Config.Model == nil {
			return nil, ErrNoModel
		}
		return newStrategy(core)
	})
	if err != nil {
		return err
	}
	return a.Run(ctx)
}

// ErrNoModel is the error of [Run] and tools.Ask for a configuration without a model.
var ErrNoModel = errors.New("the agent needs a model")
