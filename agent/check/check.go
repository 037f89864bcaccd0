// Package check says how well an agent speaks the wire protocol. It plays a server with a small
// notebook in scripted situations, from the handshake to a socket that is closed while the agent
// works, and reports a [Finding] for each. Each situation starts the agent as a new process, on a
// socket pair, as a session does.
//
// The answers come from the server's own document. The kernel is played: every run of a cell
// prints 42.
//
// # Goroutines
//
// [Run] has one per situation in progress, and each process of the agent four more: one reads its
// frames, one writes to it, one serves the document, and one passes on what the document answers.
// They end when the process is stopped, and Run waits for all of them.
package check

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"assay/agent"
	"assay/internal/subprocess"
)

// Defaults of a [Config].
const (
	// DefaultQueryTimeout is how long the agent may take for a query.
	DefaultQueryTimeout = 30 * time.Second

	// DefaultAnswerTimeout is how long an answer is withheld where none comes. It is longer than
	// the 10 s after which an agent should give up.
	DefaultAnswerTimeout = 12 * time.Second

	// DefaultJobs is how many situations are tried at once.
	DefaultJobs = 4
)

// Statuses of a [Finding].
const (
	StatusPass = "pass"
	StatusWarn = "warn" // works in an evaluation, but not as it should
	StatusFail = "fail"
	StatusSkip = "skip" // the situation did not arise, because the agent sent no action
)

// Values of the field Type.
const (
	TypeFinding = "situation"
	TypeSummary = "summary"
)

// Config configures [Run]. Supervisor and Agent are required.
type Config struct {
	Supervisor *subprocess.Supervisor

	// Agent is how to start the agent. The check sets Workdir, Session, WrapSocket and ModelServer.
	Agent agent.Config

	// NewModelServer, if set, returns the ModelServer of the next process of the agent.
	NewModelServer func() agent.ModelServer

	// WorkdirRoot is the folder in which working folders are made; empty is the default folder for temporary
	// files.
	WorkdirRoot string

	// Only names the situations to report; empty: all of them. See [Names]. Those that they need are tried too, and
	// reported if they fail.
	Only []string

	// QueryTimeout, AnswerTimeout and Jobs replace the constants Default…; 0 means the constant.
	QueryTimeout, AnswerTimeout time.Duration
	Jobs                        int
}

// Finding says how the agent did in one situation. Its texts may have control characters and several lines, as the
// agent's output can be in them. Programs read its JSON.
type Finding struct {
	Type       string `json:"type"` // TypeFinding
	Status     string `json:"status"`
	Name       string `json:"name"`         // of the situation
	Section    string `json:"section"`      // how a heading of docs/protocol.md begins, which has the rule
	Detail     string `json:"detail"`       // what happened
	Remedy     string `json:"do,omitempty"` // what the agent must do, unless it has passed
	DurationMS int64  `json:"duration_ms"`
}

// Summary counts the findings by status. Programs read its JSON.
type Summary struct {
	Type       string `json:"type"` // TypeSummary
	Passed     int    `json:"passed"`
	Warnings   int    `json:"warnings"`
	Failed     int    `json:"failed"`
	Skipped    int    `json:"skipped"`
	NotTried   int    `json:"not_tried"` // situations that need one that has failed, or for which there was no time
	DurationMS int64  `json:"duration_ms"`
}

// String returns the summary as a line for people.
func (s Summary) String() string {
	text := fmt.Sprintf("%d passed, %s, %d failed", s.Passed, plural(s.Warnings, "warning"), s.Failed)
	if s.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped", s.Skipped)
	}
	if s.NotTried > 0 {
		text += fmt.Sprintf(", %d not tried", s.NotTried)
	}
	return text
}

// add counts a finding with this status; "" is that of a situation that is not tried.
func (s *Summary) add(status string) {
	switch status {
	case StatusPass:
		s.Passed++
	case StatusWarn:
		s.Warnings++
	case StatusFail:
		s.Failed++
	case StatusSkip:
		s.Skipped++
	default:
		s.NotTried++
	}
}

// plural returns a number and a noun, with an s unless the number is 1.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Names returns the names of all situations in order.
func Names() (names []string) {
	for _, s := range situations() {
		names = append(names, s.name)
	}
	return names
}

// check is a running check.
type check struct {
	cfg      Config
	failed   []string // situations that others need and that have failed, or were not tried
	baseline turn     // how the agent has answered in the situation query; zero: that was not tried
}

// Run tries the situations and calls report with each finding in the order of [Names], as soon as those before it
// are known. A situation is not tried if it needs one that has failed. Run stops early, with the cause of ctx,
// when ctx ends. Every wait in it has a time limit; afterwards nothing that it has started is running.
func Run(ctx context.Context, cfg Config, report func(Finding)) (Summary, error) {
	start := time.Now()
	c := &check{cfg: cfg.withDefaults()}
	summary := Summary{Type: TypeSummary}
	count := func(f Finding) {
		summary.add(f.Status)
		if f.Status != "" {
			report(f)
		}
	}
	var rest []situation
	for _, s := range cfg.situations() {
		if !s.isNeeded() {
			rest = append(rest, s)
			continue
		}
		f := c.try(ctx, s)
		hasFailed := f.Status == StatusFail || f.Status == ""
		if hasFailed {
			c.failed = append(c.failed, s.name)
		}
		if cfg.reports(s) || f.Status == StatusFail {
			count(f)
		}
	}
	for f := range c.tryAtOnce(ctx, rest) {
		count(f)
	}
	summary.DurationMS = time.Since(start).Milliseconds()
	return summary, context.Cause(ctx)
}

// withDefaults returns the configuration with its defaults filled in.
func (cfg Config) withDefaults() Config {
	if cfg.QueryTimeout <= 0 {
		cfg.QueryTimeout = DefaultQueryTimeout
	}
	if cfg.AnswerTimeout <= 0 {
		cfg.AnswerTimeout = DefaultAnswerTimeout
	}
	if cfg.Jobs <= 0 {
		cfg.Jobs = DefaultJobs
	}
	if cfg.Agent.ReadyTimeout <= 0 {
		cfg.Agent.ReadyTimeout = agent.DefaultReadyTimeout
	}
	return cfg
}

// reports reports whether the finding in a situation is reported, whatever it is.
func (cfg Config) reports(s situation) bool {
	return len(cfg.Only) == 0 || slices.Contains(cfg.Only, s.name)
}

// situations returns the situations to try: those to report, and those that they need.
func (cfg Config) situations() []situation {
	all := situations()
	var needed []string
	for _, s := range slices.Backward(all) { // a situation comes after those that it needs
		if cfg.reports(s) || slices.Contains(needed, s.name) {
			needed = append(needed, s.name, s.needs)
		}
	}
	return slices.DeleteFunc(all, func(s situation) bool { return !slices.Contains(needed, s.name) })
}

// tryAtOnce tries situations, Config.Jobs at once, and yields their findings in order. It returns when all have
// ended.
func (c *check) tryAtOnce(ctx context.Context, list []situation) iter.Seq[Finding] {
	return func(yield func(Finding) bool) {
		found := make([]chan Finding, len(list))
		next := make(chan int, len(list))
		for i := range list {
			found[i] = make(chan Finding, 1)
			next <- i
		}
		close(next)
		var workers sync.WaitGroup
		defer workers.Wait()
		for range c.cfg.Jobs {
			workers.Go(func() {
				for i := range next {
					found[i] <- c.try(ctx, list[i])
				}
			})
		}
		for _, f := range found {
			if !yield(<-f) {
				return
			}
		}
	}
}

// try tries one situation with a new process of the agent. The finding has no status if the situation needs one
// that has failed, or ctx has ended.
func (c *check) try(ctx context.Context, s situation) Finding {
	if ctx.Err() != nil || slices.Contains(c.failed, s.needs) {
		return Finding{}
	}
	start := time.Now()
	f := c.tryWithProcess(ctx, s)
	if ctx.Err() != nil {
		return Finding{} // the agent may have failed because of that
	}
	f.Type, f.Name, f.Section, f.DurationMS = TypeFinding, s.name, cmp.Or(f.Section, s.section), time.Since(start).Milliseconds()
	if f.Status == StatusFail && s.isTolerable {
		f.Status = StatusWarn
	}
	if isProblem := f.Status == StatusFail || f.Status == StatusWarn; isProblem && f.Remedy == "" {
		f.Remedy = s.rule
	}
	return f
}

// tryWithProcess starts the agent for a situation, tries it, and stops the agent.
func (c *check) tryWithProcess(ctx context.Context, s situation) (f Finding) {
	p, err := c.startServer(ctx, s)
	if err != nil {
		return startFailure(err)
	}
	defer func() {
		if err := p.stop(ctx); err != nil && f.Status != StatusFail {
			f = fail("it could not be stopped: %v", err)
		}
	}()
	if !s.startsItself {
		if _, err := p.initialize(ctx, newInit(!s.isLive)); err != nil {
			return p.failure(err)
		}
	}
	return s.run(ctx, p)
}
