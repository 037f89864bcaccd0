package builtin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

const (
	firstMood       = "neutral"
	firstConfidence = 0.5

	maxMoodColumns = 40
	maxLineColumns = 500 // of a line of the monologue, a concern, in the state
	keptMonologue  = 20  // lines
	keptActions    = 5
)

// mind is what lasts from tick to tick. It is used by one goroutine at a time.
type mind struct {
	tick       int // that is under way, or was last
	mood       string
	confidence float64 // 0 to 1
	threads    []thread
	last       *record // nil before the first eval
	monologue  []string
	actions    []action
}

// action is what a tick did, in short.
type action struct {
	Tick       int     `json:"tick"`
	Action     string  `json:"action"`
	Confidence float64 `json:"confidence"`
}

func newMind() *mind { return &mind{mood: firstMood, confidence: firstConfidence} }

// feel takes over mood and confidence of a reply.
func (m *mind) feel(r tickReply) {
	m.mood = cmp.Or(cutColumns(escaped(r.mood), maxMoodColumns), m.mood)
	if r.confidence != nil {
		m.confidence = min(max(*r.confidence, 0), 1)
	}
}

// murmur keeps a line of the monologue.
func (m *mind) murmur(line string) {
	m.monologue = latest(append(m.monologue, cutColumns(line, maxLineColumns)), keptMonologue)
}

// did keeps what the tick did.
func (m *mind) did(what string) {
	m.actions = latest(append(m.actions, action{m.tick, what, m.confidence}), keptActions)
}

// latest is the end of a list.
func latest[T any](list []T, most int) []T { return list[max(0, len(list)-most):] }

// MarshalJSON writes the state as it is kept.
func (m *mind) MarshalJSON() ([]byte, error) {
	var active any
	if t := m.active(); t != nil {
		active = t.ID
	}
	var last any
	if r := m.last; r != nil {
		last = r.kept()
	}
	return lispObject{
		{"tick", m.tick},
		{"mood", m.mood},
		{"confidence", m.confidence},
		{"active-thread", active},
		{"threads", orEmpty(m.threads)},
		{"last-eval-result", last},
		{"recent-monologue", orEmpty(m.monologue)},
		{"recent-actions", orEmpty(m.actions)},
	}.MarshalJSON()
}

// orEmpty is a list that is never null in JSON.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// UnmarshalJSON reads a state that was kept. What it lacks is as at the start.
func (m *mind) UnmarshalJSON(data []byte) error {
	in := struct {
		Tick            int
		Mood            string
		Confidence      float64
		Threads         []thread
		LastEvalResult  *keptRecord
		RecentMonologue []string
		RecentActions   []action
	}{Mood: firstMood, Confidence: firstConfidence}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	if in.Tick < 0 {
		return fmt.Errorf("tick is %d", in.Tick)
	}
	*m = mind{
		tick: in.Tick, mood: in.Mood, confidence: min(max(in.Confidence, 0), 1), last: in.LastEvalResult.record(),
		threads: in.Threads, monologue: latest(in.RecentMonologue, keptMonologue), actions: latest(in.RecentActions, keptActions),
	}
	return m.checkThreads()
}

// checkThreads finds what this program would not have written.
func (m *mind) checkThreads() error {
	active := 0
	for i, t := range m.threads {
		switch {
		case !slices.Contains([]string{threadActive, threadPending, threadCompleted}, t.Status):
			return fmt.Errorf("thread %q: the status %q is unknown", t.ID, t.Status)
		case slices.ContainsFunc(m.threads[:i], func(other thread) bool { return other.ID == t.ID }):
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

// keptRecord is a record as it is kept.
type keptRecord struct {
	Elisp, Code, Result, Error *string
	Skipped                    bool
	Tick, Forms                int
}

func (k *keptRecord) record() *record {
	if k == nil {
		return nil
	}
	r := &record{skipped: k.Skipped, tick: k.Tick, forms: k.Forms}
	for into, from := range map[*string]*string{&r.source: k.Code, &r.result: k.Result, &r.failure: k.Error} {
		if from != nil {
			*into = *from
		}
	}
	if k.Elisp != nil {
		r.language, r.source = "elisp", *k.Elisp
	}
	return r
}
