package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/eval/batch"
	"assay/eval/runs"
	"assay/kernel"
)

// stillEvery is how often a run, shown in plain lines, says what it is doing.
const stillEvery = 10 * time.Second

// report shows a run: results as they come, and in between, or below them, what
// runs and what it waits for.
type report struct {
	out    io.Writer // results
	json   bool      // they are objects, not a line at the end
	err    io.Writer // progress
	live   *screen   // shows what runs all the time; nil: now and then in a line
	colour bool
	dir    string
	all    int
	began  time.Time
	stop   chan struct{}
	over   sync.WaitGroup
	pool   *kernel.Pool // nil: there is none

	mu      sync.Mutex
	running map[string]batch.RunningAttempt
	tally
	used    used  // by the attempts that are done
	problem error // with out
}

// tally counts a run's attempts.
type tally struct{ done, passed, failed, broken int }

func (p *process) newReport(f *runFlags, all int, dir string, h *host) *report {
	r := &report{
		out: p.out, json: f.json, err: p.err, dir: dir, all: all, began: time.Now(),
		stop: make(chan struct{}), running: map[string]batch.RunningAttempt{}, pool: h.pool,
	}
	switch p.progress(f) {
	case "none":
		r.err = io.Discard
	case "live":
		r.live, r.colour = p.screen, p.colourful()
	}
	agent := f.host.agent
	if f.host.builtin.model != "" {
		agent += " with " + f.host.builtin.model
	}
	for _, what := range unenforced(h.enforced()) {
		r.say("not enforced on this machine: %s", what)
	}
	r.say("%d attempts, %d at once, agent %s, into %s", all, f.jobs, agent, dir)
	if r.live != nil {
		r.live.show(r.bottom)
	}
	r.over.Go(r.tick)
	return r
}

// say prints a line. What agents, cases and kernels have put into it moves no
// cursor, and is no line of its own.
func (r *report) say(format string, args ...any) {
	_, _ = fmt.Fprintln(r.err, printable(fmt.Sprintf(format, args...)))
}

// result prints the line of a result, which word sums up.
func (r *report) result(word, text string) {
	if r.colour {
		word = tint(word)
	}
	_, _ = fmt.Fprintf(r.err, "[%d/%d] %s %s\n", r.done, r.all, word, printable(text))
}

func key(caseID string, epoch int) string { return fmt.Sprintf("%s\x00%d", caseID, epoch) }

// AttemptStarted notes an attempt that goes on.
func (r *report) AttemptStarted(running batch.RunningAttempt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running[key(running.CaseID, running.Epoch)] = running
}

// LineWritten shows a result.
func (r *report) LineWritten(line any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	switch line := line.(type) {
	case runs.Attempt:
		delete(r.running, key(line.CaseID, line.Epoch))
		r.used.add(line.Usage)
		r.result(r.verdict(line), describe(line))
	case runs.SkippedCase:
		r.result("SKIP ", line.CaseID+": "+line.Reason)
	}
	r.emit(line)
}

// verdict counts an attempt, and is the word for it.
func (r *report) verdict(a runs.Attempt) string {
	switch {
	case a.IsInfrastructureFailure():
		r.broken++
		return "ERROR"
	case a.Passed == nil:
		return "DONE "
	case *a.Passed:
		r.passed++
		return "PASS "
	default:
		r.failed++
		return "FAIL "
	}
}

// emit writes a result to stdout, until that fails.
func (r *report) emit(line any) {
	if r.json && r.problem == nil {
		r.problem = runs.EncodeLine(r.out, line)
	}
}

// tick shows now and then what the run is waiting for.
func (r *report) tick() {
	every, show := stillEvery, r.still
	if r.live != nil {
		every, show = redrawEvery, func() { _, _ = r.err.Write(nil) }
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			show()
		case <-r.stop:
			return
		}
	}
}

func (r *report) still() {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []string
	for _, running := range r.running {
		text, lasting := running.Activity()
		lines = append(lines, fmt.Sprintf("%s for %.0fs: %s (%.0fs)%s", named(running.CaseID, running.Epoch),
			time.Since(running.StartedAt).Seconds(), text, lasting.Seconds(), usedBy(running.Usage())))
	}
	slices.Sort(lines)
	const most = 8
	more := ""
	if len(lines) > most {
		more = fmt.Sprintf("; and %d more", len(lines)-most)
		lines = lines[:most]
	}
	if len(lines) > 0 {
		r.say("[%d/%d] running%s  %s%s", r.done, r.all, r.total(), strings.Join(lines, "; "), more)
	}
}

// end shows the summary. The error says that stdout does not take it.
func (r *report) end(s batch.Summary) error {
	close(r.stop)
	r.over.Wait()
	if r.live != nil {
		r.live.clear(r.err)
	}
	if r.pool != nil {
		stats := r.pool.Stats()
		r.say("pool: %d kernels forked, %d started cold", stats.ForkedKernels, stats.ColdKernels)
	}
	r.emit(s)
	if !r.json {
		_, r.problem = fmt.Fprintln(r.out, r.line(s))
	}
	return r.problem
}

// line is the last line of a run on stdout.
func (r *report) line(s batch.Summary) string {
	word := "PASS"
	if !s.AllPassed() {
		word = "FAIL"
	}
	return fmt.Sprintf("%s %d/%d  (failed %d, ungraded %d, infrastructure %d)  %s",
		word, s.Passed, s.GradedCount(), s.Failed, s.Ungraded, s.Infrastructure, r.dir)
}
