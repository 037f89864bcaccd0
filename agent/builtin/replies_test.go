package builtin_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/internal/model"
)

// hostile is a model that says whatever it is told to, one reply after the
// other, and then its last words. It notes what the strict server would refuse.
type hostile struct {
	onCall func(context.Context)
	last   *model.Response // nil is an error

	mu       sync.Mutex
	replies  []any // *model.Response or error
	requests []model.Request
	refused  []string
}

// replies is a reply of these blocks, which stops as it should.
func replies(content ...model.Block) *model.Response {
	stop := model.StopEndTurn
	if len(model.ToolUses(content)) > 0 {
		stop = model.StopToolUse
	}
	return &model.Response{Content: content, StopReason: stop}
}

// startReplies runs the agent with tools on a model that answers so. What
// onCall, which may be nil, does is done during each call.
func startReplies(t *testing.T, cfg builtin.Config, onCall func(context.Context), all ...any) (*peer, *hostile) {
	t.Helper()
	h := &hostile{onCall: onCall, replies: all}
	t.Cleanup(func() { require.Empty(t, h.faults()) })
	cfg.Model = h
	return start(t, builtin.Run, cfg), h
}

// faults are those of all requests.
func (h *hostile) faults() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.refused)
}

func (h *hostile) Complete(ctx context.Context, req model.Request, _ func(model.Delta)) (*model.Response, error) {
	status, text := judgeRequest(req)
	if h.onCall != nil {
		h.onCall(ctx)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests = append(h.requests, req)
	if status != http.StatusOK {
		h.refused = append(h.refused, text)
	}
	if len(h.replies) == 0 {
		if h.last == nil {
			return nil, errors.New("one more reply was asked for")
		}
		return h.last, nil
	}
	next := h.replies[0]
	h.replies = h.replies[1:]
	reply, _ := next.(*model.Response)
	err, _ := next.(error)
	return reply, err
}
