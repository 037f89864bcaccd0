package builtin

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// States of a thread. At most one is active.
const (
	threadActive    = "active"
	threadPending   = "pending"
	threadCompleted = "completed"
)

const (
	maxThreads   = 100 // completed ones make room for new ones
	maxListed    = 50  // buffers, and skills, of a thread
	maxIDColumns = 40
)

// thread is something that the mind is concerned with.
type thread struct {
	ID      string   `json:"id"`
	Concern string   `json:"concern"`
	Status  string   `json:"status"`
	Buffers []string `json:"buffers"` // ids of cells
	Skills  []string `json:"skills"`
}

// threadChange is what a reply wants done to the threads. Lists that are nil, and
// an empty concern, leave what there is.
type threadChange struct {
	Op      string   `json:"op"`
	ID      string   `json:"id"`
	Concern string   `json:"concern"`
	Buffers []string `json:"buffers"`
	Skills  []string `json:"skills"`
}

// changeThreads carries out the thread of a reply; one that is missing, null or
// false changes nothing.
func (m *mind) changeThreads(raw json.RawMessage) error {
	var change threadChange
	if isNothing(raw) {
		return nil
	}
	if err := json.Unmarshal(raw, &change); err != nil {
		return errors.New("thread must be an object of op, id, concern (strings), buffers and skills (lists of strings)")
	}
	change.ID = cutColumns(escaped(strings.TrimSpace(change.ID)), maxIDColumns)
	change.Concern = cutColumns(escaped(strings.TrimSpace(change.Concern)), maxLineColumns)
	change.Buffers, change.Skills = listed(change.Buffers), listed(change.Skills)
	switch change.Op {
	case "create":
		return m.createThread(change)
	case "switch":
		return m.switchThread(change)
	case "complete":
		return m.completeThread(change)
	}
	return fmt.Errorf("op must be create, switch or complete, not %q", cutColumns(escaped(change.Op), maxIDColumns))
}

// listed is the beginning of a list, each name once; nil stays nil.
func listed(names []string) []string {
	once := names[:0:0]
	for _, name := range names {
		if !slices.Contains(once, name) && len(once) < maxListed {
			once = append(once, name)
		}
	}
	return once
}

// createThread adds a thread, which becomes the active one.
func (m *mind) createThread(c threadChange) error {
	if c.ID == "" {
		c.ID = m.freeID()
	}
	if m.thread(c.ID) != nil {
		return fmt.Errorf("create: there is a thread %q already", c.ID)
	}
	if len(m.threads) >= maxThreads {
		done := slices.IndexFunc(m.threads, func(t thread) bool { return t.Status == threadCompleted })
		if done < 0 {
			return fmt.Errorf("create: there are %d threads already, and none is completed", maxThreads)
		}
		m.threads = slices.Delete(m.threads, done, done+1)
	}
	m.rest()
	m.threads = append(m.threads, thread{ID: c.ID, Status: threadActive, Buffers: []string{}, Skills: []string{}})
	m.threads[len(m.threads)-1].take(c)
	return nil
}

// freeID is the first of thread-1, thread-2 … that no thread has.
func (m *mind) freeID() string {
	for n := 1; ; n++ {
		if id := fmt.Sprintf("thread-%d", n); m.thread(id) == nil {
			return id
		}
	}
}

// switchThread makes another thread the active one, a completed one too.
func (m *mind) switchThread(c threadChange) error {
	to := m.thread(c.ID)
	if to == nil {
		return fmt.Errorf("switch: there is no thread %q", c.ID)
	}
	m.rest()
	to.Status = threadActive
	to.take(c)
	return nil
}

// completeThread ends a thread, the active one unless it is named.
func (m *mind) completeThread(c threadChange) error {
	done := m.active()
	if c.ID != "" {
		done = m.thread(c.ID)
	}
	if done == nil && c.ID == "" {
		return errors.New("complete: no thread is active")
	}
	if done == nil {
		return fmt.Errorf("complete: there is no thread %q", c.ID)
	}
	done.Status = threadCompleted
	done.take(c)
	return nil
}

// take takes over what a change says of the thread.
func (t *thread) take(c threadChange) {
	t.Concern = cmp.Or(c.Concern, t.Concern)
	if c.Buffers != nil {
		t.Buffers = c.Buffers
	}
	if c.Skills != nil {
		t.Skills = c.Skills
	}
}

// rest makes the active thread a pending one.
func (m *mind) rest() {
	if active := m.active(); active != nil {
		active.Status = threadPending
	}
}

// active is the active thread, nil if there is none. It is good until the threads
// change.
func (m *mind) active() *thread {
	return m.find(func(t thread) bool { return t.Status == threadActive })
}

func (m *mind) thread(id string) *thread {
	return m.find(func(t thread) bool { return t.ID == id })
}

func (m *mind) find(is func(thread) bool) *thread {
	if i := slices.IndexFunc(m.threads, is); i >= 0 {
		return &m.threads[i]
	}
	return nil
}

// activeName is the id of the active thread, none if there is none.
func (m *mind) activeName() string {
	if active := m.active(); active != nil {
		return active.ID
	}
	return "none"
}
