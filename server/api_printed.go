package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/coder/websocket"

	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/server/endpoint"
)

// printedEvery is how often a watcher is told what was printed, at most.
const printedEvery = 100 * time.Millisecond

// ProcessOutput is the response of GET /api/sessions/{id}/printed, and each message
// of the WebSocket /printed.
type ProcessOutput struct {
	Lines []OutputLine `json:"lines"` // ascending by N; never null
}

// servePrinted is GET /api/sessions/{id}/printed: what is kept of what kernel and
// agent have printed.
func (s *Server) servePrinted(w http.ResponseWriter, r *http.Request) error {
	if err := endpoint.ReadParameters(r).Err(); err != nil {
		return err
	}
	sl, err := s.slotThatIs(r.PathValue("id"))
	if err != nil {
		return err
	}
	lines, _ := sl.printed.behind(0)
	endpoint.WriteJSON(w, http.StatusOK, ProcessOutput{Lines: append([]OutputLine{}, lines...)})
	return nil
}

// watchPrinted is /printed: the same over a WebSocket, and on as it comes.
func (s *Server) watchPrinted(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	s.consoles.Add(1)
	defer s.consoles.Done()
	q := endpoint.ReadParameters(r, "session")
	id := idOr(q.Text("session"))
	if err := q.Err(); err != nil {
		return err
	}
	sl, err := s.slotThatIs(id)
	if err != nil {
		return err
	}
	ws, err := websocket.Accept(w, r, s.accept())
	if err != nil {
		s.log.Debug("not a watcher", "error", err) // it has been answered
		return nil
	}
	defer s.metrics.AddConsole("watch")()
	ctx, end := watching(ctx, sl.untilStop)
	defer end()
	conn := protocol.NewWebSocket(context.WithoutCancel(ctx), ws, watcherLimit)
	if err := tell(ctx, conn, watcherPatience, sl.printed.send); err != nil {
		s.log.Warn("a watcher was sent away", "session", id, "error", err)
	}
	return nil
}

// slotThatIs is what stands behind an id; where nothing does, the error wraps
// runs.ErrNotFound.
func (s *Server) slotThatIs(id string) (*slot, error) {
	if sl := s.known(id); sl != nil {
		return sl, nil
	}
	return nil, fmt.Errorf("there is no session %s: %w", strconv.Quote(id), runs.ErrNotFound)
}

// send writes what is kept, and then what is added. Its error says why it ends.
func (p *printed) send(ctx context.Context, write func([]byte) error) error {
	every := time.NewTicker(printedEvery)
	defer every.Stop()
	last := int64(0)
	for {
		lines, more := p.behind(last)
		if len(lines) > 0 {
			last = lines[len(lines)-1].N
			message, err := json.Marshal(ProcessOutput{Lines: lines})
			if err != nil || write(message) != nil {
				return errWatcherGone
			}
		}
		if more == nil {
			return io.EOF
		}
		select {
		case <-more:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		select {
		case <-every.C: // what comes together is told together
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
