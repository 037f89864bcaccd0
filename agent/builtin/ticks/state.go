package ticks

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

const (
	firstMood       = "neutral"
	firstConfidence = 0.5

	maxMoodColumns    = 40
	maxLineColumns    = 500 // of a line of the monologue, or of a thread's concern
	maxMonologueLines = 20  // in the state; the monologue file has all
	maxRecentActions  = 5
)

// tickState is the part of an agent's state that is kept from tick to tick: mood,
// confidence, threads, last code result, monologue and recent actions. It is used by one
// goroutine at a time.
type tickState struct {
	tick       int // number of the current or latest tick, from 1
	mood       string
	confidence float64 // 0 to 1
	threads    []thread
	lastEval   *evalRecord    // nil before the first eval
	monologue  []string       // oldest first
	actions    []recentAction // oldest first
}

// recentAction describes on one short line what a tick did.
type recentAction struct {
	Tick       int     `json:"tick"`
	Action     string  `json:"action"`
	Confidence float64 `json:"confidence"` // 0 to 1
}

func newTickState() *tickState { return &tickState{mood: firstMood, confidence: firstConfidence} }

// setMood sets mood and confidence to those of a reply; a missing value stays as it was. The
// confidence is clamped to 0 to 1.
func (s *tickState) setMood(r tickReply) {
	s.mood = cmp.Or(cutColumns(escapeLine(r.mood), maxMoodColumns), s.mood)
	if r.confidence != nil {
		s.confidence = min(max(*r.confidence, 0), 1)
	}
}

// addMonologue adds a line to the monologue and drops the oldest one if there are too many.
func (s *tickState) addMonologue(line string) {
	s.monologue = lastItems(append(s.monologue, cutColumns(line, maxLineColumns)), maxMonologueLines)
}

// addAction adds what the current tick did and drops the oldest action if there are too
// many.
func (s *tickState) addAction(text string) {
	s.actions = lastItems(append(s.actions, recentAction{s.tick, text, s.confidence}), maxRecentActions)
}

// lastItems returns the last n items of a list, or all if it has fewer.
func lastItems[T any](list []T, n int) []T { return list[max(0, len(list)-n):] }

// MarshalJSON returns the state of an agent in ticks as JSON for the state file.
func (s *tickState) MarshalJSON() ([]byte, error) {
	var activeID any
	if t := s.activeThread(); t != nil {
		activeID = t.ID
	}
	var lastEval any
	if r := s.lastEval; r != nil {
		lastEval = r.savedObject()
	}
	return lispObject{
		{"tick", s.tick},
		{"mood", s.mood},
		{"confidence", s.confidence},
		{"active-thread", activeID},
		{"threads", emptyIfNil(s.threads)},
		{"last-eval-result", lastEval},
		{"recent-monologue", emptyIfNil(s.monologue)},
		{"recent-actions", emptyIfNil(s.actions)},
	}.MarshalJSON()
}

// emptyIfNil returns list, or an empty list instead of nil, which JSON would write as null.
func emptyIfNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// UnmarshalJSON decodes the agent's state from the state file. Missing fields get the values
// of a new state. It returns an error for invalid JSON and for threads or tick numbers that
// the agent would never save.
func (s *tickState) UnmarshalJSON(data []byte) error {
	in := struct {
		Tick            int
		Mood            string
		Confidence      float64
		Threads         []thread
		LastEvalResult  *savedEvalRecord
		RecentMonologue []string
		RecentActions   []recentAction
	}{Mood: firstMood, Confidence: firstConfidence}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	if in.Tick < 0 {
		return fmt.Errorf("tick is %d", in.Tick)
	}
	*s = tickState{
		tick: in.Tick, mood: in.Mood, confidence: min(max(in.Confidence, 0), 1), lastEval: in.LastEvalResult.toEvalRecord(),
		threads: in.Threads, monologue: lastItems(in.RecentMonologue, maxMonologueLines), actions: lastItems(in.RecentActions, maxRecentActions),
	}
	return s.validateThreads()
}

// validateThreads returns an error for an unknown status, a repeated id or a second active
// thread.
func (s *tickState) validateThreads() error {
	active := 0
	for i, t := range s.threads {
		switch {
		case !slices.Contains([]string{threadActive, threadPending, threadCompleted}, t.Status):
			return fmt.Errorf("thread %q: the status %q is unknown", t.ID, t.Status)
		case slices.ContainsFunc(s.threads[:i], func(other thread) bool { return other.ID == t.ID }):
			return fmt.Errorf("thread %q is there twice", t.ID)
		case t.Status == threadActive:
			active++
		}
	}
	if active > 1 {
		return fmt.Errorf("%d threads are active", active)
	}
	return nil
}

// savedEvalRecord is an evalRecord as it is saved. The name of the source field depends on the
// language.
type savedEvalRecord struct {
	Elisp, Code, Result, Error *string
	Skipped                    bool
	Tick, Forms                int
}

// toEvalRecord converts a saved record; nil becomes nil.
func (r *savedEvalRecord) toEvalRecord() *evalRecord {
	if r == nil {
		return nil
	}
	record := &evalRecord{skipped: r.Skipped, tick: r.Tick, formCount: r.Forms}
	for into, from := range map[*string]*string{&record.source: r.Code, &record.result: r.Result, &record.failure: r.Error} {
		if from != nil {
			*into = *from
		}
	}
	if r.Elisp != nil {
		record.language, record.source = "elisp", *r.Elisp
	}
	return record
}
