package builtin

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A call that has waited for its turn for tellAfter is told of, and then again
// every tellEvery: it is no silence of the agent's.
const (
	tellAfter = time.Second
	tellEvery = 10 * time.Second
)

// admitted waits until a call of the model may be made. A wait that takes longer
// is told of with events of type waiting {for, waited_ms, over}, over being true of
// the last.
func (c *conversation) admitted(ctx context.Context) (leave func(), err error) {
	if c.cfg.Admit == nil {
		return func() {}, nil
	}
	w := &waiting{conversation: c, began: c.cfg.Clock()}
	w.begin()
	leave, err = c.cfg.Admit(ctx)
	w.end()
	return leave, err
}

// waiting is a wait for a turn.
type waiting struct {
	*conversation
	began time.Time

	mu    sync.Mutex
	timer *time.Timer
	told  bool
	over  bool
}

func (w *waiting) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(tellAfter, w.tell)
}

func (w *waiting) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	w.told = true
	w.show("waiting for its turn to call the model, for %s s now", false)
	w.timer.Reset(tellEvery)
}

func (w *waiting) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.timer.Stop()
	if w.told {
		w.show("waited %s s for its turn to call the model", true)
	}
}

func (w *waiting) show(text string, over bool) {
	waited := w.cfg.Clock().Sub(w.began)
	w.event("waiting", fmt.Sprintf(text, tidy(waited)), map[string]any{
		"for": "a model call's turn", "waited_ms": waited.Milliseconds(), "over": over,
	})
}
