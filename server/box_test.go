package server_test

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// generous bounds waits that end at once unless something is broken.
const generous = 30 * time.Second

// box keeps all that has come from somewhere, for a test to wait for. It is
// safe for concurrent use.
type box[T any] struct {
	mu    sync.Mutex
	items []T
	more  chan struct{} // closed when there is something new
	err   error         // why nothing more comes
}

func newBox[T any]() *box[T] { return &box[T]{more: make(chan struct{})} }

// fill puts in what next returns until that fails.
func (b *box[T]) fill(next func() (T, error)) {
	for {
		item, err := next()
		b.mu.Lock()
		if err == nil {
			b.items = append(b.items, item)
		}
		b.err = err
		close(b.more)
		b.more = make(chan struct{})
		b.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (b *box[T]) state() (items []T, more <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.items), b.more, b.err
}

// await returns the first item of all that have come, or will, that matches.
func (b *box[T]) await(t *testing.T, what string, match func(T) bool) T {
	t.Helper()
	late := time.After(generous)
	for {
		items, more, err := b.state()
		if i := slices.IndexFunc(items, match); i >= 0 {
			return items[i]
		}
		require.NoError(t, err, "waiting for %s", what)
		select {
		case <-more:
		case <-late:
			require.Fail(t, "it did not come", "%s; what came: %v", what, items)
		}
	}
}

// awaitEnd returns the error that ended it.
func (b *box[T]) awaitEnd(t *testing.T) error {
	t.Helper()
	late := time.After(generous)
	for {
		items, more, err := b.state()
		if err != nil {
			return err
		}
		select {
		case <-more:
		case <-late:
			require.Fail(t, "it did not end", "what came: %v", items)
		}
	}
}

// all returns what has come so far and matches.
func (b *box[T]) all(match func(T) bool) []T {
	items, _, _ := b.state()
	return slices.DeleteFunc(items, func(item T) bool { return !match(item) })
}

// frame is a message: what tests look at most, and the whole of it.
type frame struct {
	Type      string          `json:"type"`
	Action    string          `json:"action"`
	TxID      string          `json:"tx_id"`
	AgentTxID string          `json:"agent_tx_id"`
	CellID    string          `json:"cell_id"`
	Status    string          `json:"status"`
	Error     string          `json:"error"`
	Params    json.RawMessage `json:"params"`
	Message   json.RawMessage `json:"message"`

	body []byte
}

func (f frame) String() string { return string(f.body) }

// fields returns the whole message.
func (f frame) fields(t *testing.T) map[string]any {
	t.Helper()
	var all map[string]any
	require.NoError(t, json.Unmarshal(f.body, &all))
	return all
}

// frames makes frames of bodies.
func frames(next func() ([]byte, error)) func() (frame, error) {
	return func() (frame, error) {
		body, err := next()
		if err != nil {
			return frame{}, err
		}
		f := frame{body: body}
		return f, json.Unmarshal(body, &f)
	}
}

func ofType(kind string) func(frame) bool { return func(f frame) bool { return f.Type == kind } }

// answerTo matches the answer to an action.
func answerTo(tx string) func(frame) bool {
	return func(f frame) bool { return f.Type == "agent_action_response" && f.TxID == tx }
}
