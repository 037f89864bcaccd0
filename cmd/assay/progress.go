package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"assay/internal/batch"
	"assay/internal/runs"
)

// stillEvery is how often a run that prints nothing else says what it is doing.
const stillEvery = 10 * time.Second

// report shows a run: results as they come, and in between what runs and what
// it waits for.
type report struct {
	out  io.Writer // results
	json bool      // they are objects, not a line at the end
	err  io.Writer // progress
	dir  string
	all  int
	stop chan struct{}
	over sync.WaitGroup

	mu      sync.Mutex
	running map[string]batch.Running
	done    int
	problem error // with out
}

func (p *process) newReport(f *runFlags, all int, dir string, enforced map[string]bool) *report {
	r := &report{
		out: p.out, json: f.json, err: p.err, dir: dir, all: all,
		stop: make(chan struct{}), running: map[string]batch.Running{},
	}
	if f.quiet {
		r.err = io.Discard
	}
	agent := f.host.agent
	if f.host.model != "" {
		agent += " with " + f.host.model
	}
	for promise, kept := range enforced {
		if !kept {
			r.say("not enforced on this machine: %s", promise)
		}
	}
	r.say("%d attempts, %d at once, agent %s, into %s", all, f.jobs, agent, dir)
	r.over.Go(r.tick)
	return r
}

// say prints a line. What agents, cases and kernels have put into it moves no
// cursor, and is no line of its own.
func (r *report) say(format string, args ...any) {
	line := strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '\uFFFD'
		}
		return c
	}, fmt.Sprintf(format, args...))
	_, _ = fmt.Fprintln(r.err, line)
}

func key(caseID string, epoch int) string { return fmt.Sprintf("%s\x00%d", caseID, epoch) }

// Began notes an attempt that goes on.
func (r *report) Began(running batch.Running) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running[key(running.CaseID, running.Epoch)] = running
}

// Wrote shows a result.
func (r *report) Wrote(line any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	switch line := line.(type) {
	case runs.Attempt:
		delete(r.running, key(line.CaseID, line.Epoch))
		r.say("[%d/%d] %s", r.done, r.all, describe(line))
	case runs.Skipped:
		r.say("[%d/%d] SKIP  %s: %s", r.done, r.all, line.CaseID, line.Reason)
	}
	r.emit(line)
}

// emit writes a result to stdout, until that fails.
func (r *report) emit(line any) {
	if r.json && r.problem == nil {
		r.problem = runs.EncodeLine(r.out, line)
	}
}

// describe is an attempt in one line: the verdict, and what stands behind one
// that is not a pass.
func describe(a runs.Attempt) string {
	took := time.Duration(a.DurationMS) * time.Millisecond
	word := "FAIL "
	switch {
	case a.Infrastructure():
		word = "ERROR"
	case a.Passed == nil:
		word = "DONE "
	case *a.Passed:
		word = "PASS "
	}
	text := fmt.Sprintf("%s %s", word, a.CaseID)
	if a.Epoch > 1 {
		text += fmt.Sprintf(" (epoch %d)", a.Epoch)
	}
	text += fmt.Sprintf("  %.1fs", took.Seconds())
	if a.Outcome != runs.Completed {
		text += "  " + string(a.Outcome) + ": " + oneLine(a.Detail)
	} else if a.Passed != nil && !*a.Passed {
		text += "  " + oneLine(whyNot(a))
	}
	return text
}

// whyNot is what the first grader that failed says.
func whyNot(a runs.Attempt) string {
	for _, raw := range a.Graders {
		var result struct {
			Type      string `json:"type"`
			Passed    bool   `json:"passed"`
			Reasoning string `json:"reasoning"`
		}
		if json.Unmarshal(raw, &result) == nil && !result.Passed {
			_, failures, found := strings.Cut(result.Reasoning, "Failures:")
			if !found {
				failures = result.Reasoning
			}
			return result.Type + ": " + strings.TrimPrefix(strings.TrimSpace(failures), "- ")
		}
	}
	return ""
}

func oneLine(text string) string {
	const most = 200
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// tick says now and then what the run is waiting for.
func (r *report) tick() {
	ticker := time.NewTicker(stillEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			r.still()
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
		text, lasting := running.Now()
		lines = append(lines, fmt.Sprintf("%s for %.0fs: %s (%.0fs)", running.CaseID, time.Since(running.Since).Seconds(), text, lasting.Seconds()))
	}
	slices.Sort(lines)
	const most = 8
	more := ""
	if len(lines) > most {
		more = fmt.Sprintf("; and %d more", len(lines)-most)
		lines = lines[:most]
	}
	if len(lines) > 0 {
		r.say("[%d/%d] running  %s%s", r.done, r.all, strings.Join(lines, "; "), more)
	}
}

// end shows the summary. The error says that stdout does not take it.
func (r *report) end(s batch.Summary) error {
	close(r.stop)
	r.over.Wait()
	r.emit(s)
	if !r.json {
		_, r.problem = fmt.Fprintln(r.out, r.line(s))
	}
	return r.problem
}

// line is the last line of a run on stdout.
func (r *report) line(s batch.Summary) string {
	word := "PASS"
	if !s.All() {
		word = "FAIL"
	}
	return fmt.Sprintf("%s %d/%d  (failed %d, ungraded %d, infrastructure %d)  %s",
		word, s.Passed, s.Graded(), s.Failed, s.Ungraded, s.Infrastructure, r.dir)
}
