package server_test

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// inbox keeps all items that have come from a connection, for tests to wait for. It is
// safe for concurrent use.
type inbox[T any] struct {
	mu      sync.Mutex
	items   []T
	changed chan struct{} // closed and replaced with each item, and at the end
	err     error         // why no more items come; nil: they may
}

func newInbox[T any]() *inbox[T] { return &inbox[T]{changed: make(chan struct{})} }

// readFrom adds the items that next returns until it fails.
func (b *inbox[T]) readFrom(next func() (T, error)) {
	for {
		item, err := next()
		b.mu.Lock()
		if err == nil {
			b.items = append(b.items, item)
		}
		b.err = err
		close(b.changed)
		b.changed = make(chan struct{})
		b.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// snapshot returns the items so far, a channel that is closed at the next change, and
// why no more items come.
func (b *inbox[T]) snapshot() (items []T, changed <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.items), b.changed, b.err
}

// awaitItem returns the first item, of those that have come or will come, that matches.
// what describes it for the failure message.
func (b *inbox[T]) awaitItem(t *testing.T, what string, matches func(T) bool) T {
	t.Helper()
	timeout := time.After(generousTimeout)
	for {
		items, changed, err := b.snapshot()
		if i := slices.IndexFunc(items, matches); i >= 0 {
			return items[i]
		}
		require.NoError(t, err, "waiting for %s", what)
		select {
		case <-changed:
		case <-timeout:
			require.Fail(t, "it did not come", "%s; what came: %v", what, items)
		}
	}
}

// awaitEnd waits until no more items come, and returns why.
func (b *inbox[T]) awaitEnd(t *testing.T) error {
	t.Helper()
	timeout := time.After(generousTimeout)
	for {
		items, changed, err := b.snapshot()
		if err != nil {
			return err
		}
		select {
		case <-changed:
		case <-timeout:
			require.Fail(t, "it did not end", "what came: %v", items)
		}
	}
}

// itemsMatching returns the items so far that match.
func (b *inbox[T]) itemsMatching(matches func(T) bool) []T {
	items, _, _ := b.snapshot()
	return slices.DeleteFunc(items, func(item T) bool { return !matches(item) })
}

// frame is a message: the fields that tests read most, and the whole body.
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

// fields returns all fields of the message.
func (f frame) fields(t *testing.T) map[string]any {
	t.Helper()
	var all map[string]any
	require.NoError(t, json.Unmarshal(f.body, &all))
	return all
}

// newFrameReader returns a function that parses the next body.
func newFrameReader(nextBody func() ([]byte, error)) func() (frame, error) {
	return func() (frame, error) {
		body, err := nextBody()
		if err != nil {
			return frame{}, err
		}
		f := frame{body: body}
		return f, json.Unmarshal(body, &f)
	}
}

// isMessageOfType matches messages of a type.
func isMessageOfType(messageType string) func(frame) bool {
	return func(f frame) bool { return f.Type == messageType }
}

// isAnswerTo matches the answer to an action.
func isAnswerTo(tx string) func(frame) bool {
	return func(f frame) bool { return f.Type == "agent_action_response" && f.TxID == tx }
}
