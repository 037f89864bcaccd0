// Package builtin is Assay's own agent. It is a process like any other agent:
// it speaks the wire protocol on a connection and works on a notebook through
// agent_action.
//
// A small core is shared by everything in it. The agent reads the connection, and
// its inbox starts queries: those of one conversation one after the other, those
// of several side by side. Operations match answers to requests; runs follow the
// cells that were started; a conversation keeps its transcript and calls the
// model, within limits that one account counts for all. A strategy turns a query
// into calls of the model and of the notebook, and has one conversation or
// several: the tools, blocks and ticks of [Run], the solution of [RunOracle], the
// silence of [RunNoop]. [ExternalAgent] leave it to another program what is called.
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

// Config is what an agent may be told. The zero value works where a model is
// not needed.
type Config struct {
	Model     model.Client // required by Run
	ModelName string       // as for open.Open; by it prices are looked up
	Unpriced  bool         // the model is not served by whom its name says: its price is not known
	Params    model.Params // of every call of the model
	Name      string       // what the model is called; "" is Eva
	Limits    Limits

	Strategy     string // one of Strategies; "" is tools
	MemoryDir    string // of tools: folder of the five memory files; "" is no memory
	MaxEvalIters int    // of blocks: rounds of feedback; 0 is 5
	SkillsDir    string // of ticks: folder with a folder for each skill; "" is no skills
	StateDir     string // of ticks: where its state is kept; "" keeps none

	Stderr io.Writer        // gets "[agent] -> <action> <tx_id>" for each operation; nil discards
	Log    *slog.Logger     // nil discards
	Clock  func() time.Time // nil is time.Now
	NewID  func() string    // makes a tx_id; nil is protocol.NewTxID

	// Before a call of the model is made again: Pause waits, and returns the
	// cause of the context if that ends first; Jitter is a random number from 0
	// to 1 that spreads the pauses. nil waits for real, nil is math/rand/v2.
	Pause  func(context.Context, time.Duration) error
	Jitter func() float64

	// Admit waits until a call of the model may be made, at most until the
	// context ends, whose cause it then returns; leave is called when the call
	// has ended. nil lets every call through at once.
	Admit func(context.Context) (leave func(), err error)
}

func (c Config) withDefaults() Config {
	if c.Name == "" {
		c.Name = "Eva"
	}
	if c.Strategy == "" {
		c.Strategy = "tools"
	}
	if c.MaxEvalIters == 0 {
		c.MaxEvalIters = 5
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
	if c.NewID == nil {
		c.NewID = protocol.NewTxID
	}
	if c.Pause == nil {
		c.Pause = sleep
	}
	if c.Jitter == nil {
		c.Jitter = rand.Float64
	}
	c.Limits = c.Limits.withDefaults()
	return c
}

// Run is the agent that works by the strategy of its configuration. It speaks on
// conn until that ends, which is no error, or until ctx does, which is its
// cause; it closes conn and leaves nothing running. Memory that cannot be read is
// an error before the first frame. What goes wrong in a query is told to the
// server and ends the query only.
func Run(ctx context.Context, conn protocol.Conn, cfg Config) error {
	a, err := newAgent(conn, cfg, func(c *core) (strategy, error) {
		if c.cfg.Model == nil {
			return nil, errors.New("the agent needs a model")
		}
		if err := CheckStrategy(c.cfg.Strategy); err != nil {
			return nil, err
		}
		return makers()[c.cfg.Strategy](c)
	})
	if err != nil {
		return err
	}
	return a.run(ctx)
}

// RunNoop is the agent that does nothing: it answers every query with one
// sentence and submits nothing. It ends as [Run] does. A good case is one that
// it fails.
func RunNoop(ctx context.Context, conn protocol.Conn, cfg Config) error {
	a, err := newAgent(conn, cfg, func(c *core) (strategy, error) {
		conversation := newConversation(c)
		return &single{conversation, func(context.Context, protocol.AgentQuery) (string, error) {
			conversation.commit(assistantMessage(model.Text("I do nothing.")), nil)
			return protocol.AgentDone, nil
		}}, nil
	})
	if err != nil {
		return err
	}
	return a.run(ctx)
}
