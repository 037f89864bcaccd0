package ticks

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Status values of a thread. At most one thread is active.
const (
	threadActive    = "active"
	threadPending   = "pending"
	threadCompleted = "completed"
)

const (
	maxThreads     = 100 // completed threads make room for new ones
	maxThreadNames = 50  // buffers of a thread, and skills of a thread
	maxIDColumns   = 40
)

// thread is one concern of an agent in ticks, with the cells and skills that belong to it. At
// most one thread is active.
type thread struct {
	ID      string   `json:"id"`
	Concern string   `json:"concern"`
	Status  string   `json:"status"`
	Buffers []string `json:"buffers"` // ids of cells
	Skills  []string `json:"skills"`  // names of skills
}

// threadChange is the change of threads that a reply asks for. Nil lists and an empty
// concern leave those of the thread unchanged.
type threadChange struct {
	Op      string   `json:"op"` // create, switch or complete
	ID      string   `json:"id"`
	Concern string   `json:"concern"`
	Buffers []string `json:"buffers"`
	Skills  []string `json:"skills"`
}

// changeThreads makes the change in the thread field of a reply. A field that is missing,
// null or false changes nothing. The error is for the model.
func (s *tickState) changeThreads(raw json.RawMessage) error {
	var change threadChange
	if isAbsentField(raw) {
		return nil
	}
	if err := json.Unmarshal(raw, &change); err != nil {
		return errors.New("thread must be an object of op, id, concern (strings), buffers and skills (lists of strings)")
	}
	change.ID = cutColumns(escapeLine(strings.TrimSpace(change.ID)), maxIDColumns)
	change.Concern = cutColumns(escapeLine(strings.TrimSpace(change.Concern)), maxLineColumns)
	change.Buffers, change.Skills = uniqueNames(change.Buffers), uniqueNames(change.Skills)
	switch change.Op {
	case "create":
		return s.createThread(change)
	case "switch":
		return s.switchThread(change)
	case "complete":
		return s.completeThread(change)
	}
	return fmt.Errorf("op must be create, switch or complete, not %q", cutColumns(escapeLine(change.Op), maxIDColumns))
}

// uniqueNames returns the first 50 different names of a list; nil if names is nil.
func uniqueNames(names []string) []string {
	unique := names[:0:0]
	for _, name := range names {
		if !slices.Contains(unique, name) && len(unique) < maxThreadNames {
			unique = append(unique, name)
		}
	}
	return unique
}

// createThread adds a thread and makes it the active one. It returns an error if the id is used,
// or if there are 100 threads of which none is completed.
func (s *tickState) createThread(c threadChange) error {
	if c.ID == "" {
		c.ID = s.unusedThreadID()
	}
	if s.threadByID(c.ID) != nil {
		return fmt.Errorf("create: there is a thread %q already", c.ID)
	}
	if len(s.threads) >= maxThreads {
		completed := slices.IndexFunc(s.threads, func(t thread) bool { return t.Status == threadCompleted })
		if completed < 0 {
			return fmt.Errorf("create: there are %d threads already, and none is completed", maxThreads)
		}
		s.threads = slices.Delete(s.threads, completed, completed+1)
	}
	s.suspendActiveThread()
	s.threads = append(s.threads, thread{ID: c.ID, Status: threadActive, Buffers: []string{}, Skills: []string{}})
	s.threads[len(s.threads)-1].applyChange(c)
	return nil
}

// unusedThreadID returns the first of thread-1, thread-2 … that no thread has.
func (s *tickState) unusedThreadID() string {
	for n := 1; ; n++ {
		if id := fmt.Sprintf("thread-%d", n); s.threadByID(id) == nil {
			return id
		}
	}
}

// switchThread makes another thread the active one, even if it was completed. It returns an error
// if there is no such thread.
func (s *tickState) switchThread(c threadChange) error {
	target := s.threadByID(c.ID)
	if target == nil {
		return fmt.Errorf("switch: there is no thread %q", c.ID)
	}
	s.suspendActiveThread()
	target.Status = threadActive
	target.applyChange(c)
	return nil
}

// completeThread completes the named thread, or the active one if no thread is named. It returns
// an error if there is no such thread.
func (s *tickState) completeThread(c threadChange) error {
	target := s.activeThread()
	if c.ID != "" {
		target = s.threadByID(c.ID)
	}
	if target == nil && c.ID == "" {
		return errors.New("complete: no thread is active")
	}
	if target == nil {
		return fmt.Errorf("complete: there is no thread %q", c.ID)
	}
	target.Status = threadCompleted
	target.applyChange(c)
	return nil
}

// applyChange sets the concern, buffers and skills of a thread that a change names.
func (t *thread) applyChange(c threadChange) {
	t.Concern = cmp.Or(c.Concern, t.Concern)
	if c.Buffers != nil {
		t.Buffers = c.Buffers
	}
	if c.Skills != nil {
		t.Skills = c.Skills
	}
}

// suspendActiveThread makes the active thread, if there is one, a pending one.
func (s *tickState) suspendActiveThread() {
	if active := s.activeThread(); active != nil {
		active.Status = threadPending
	}
}

// activeThread returns the active thread, or nil. The pointer is valid until threads are
// added or removed.
func (s *tickState) activeThread() *thread {
	return s.findThread(func(t thread) bool { return t.Status == threadActive })
}

// threadByID returns the thread with that id, or nil.
func (s *tickState) threadByID(id string) *thread {
	return s.findThread(func(t thread) bool { return t.ID == id })
}

// findThread returns the first thread that satisfies a condition, or nil.
func (s *tickState) findThread(condition func(thread) bool) *thread {
	if i := slices.IndexFunc(s.threads, condition); i >= 0 {
		return &s.threads[i]
	}
	return nil
}

// activeThreadID returns the id of the active thread, or "none".
func (s *tickState) activeThreadID() string {
	if active := s.activeThread(); active != nil {
		return active.ID
	}
	return "none"
}
