package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// maxRequest is the largest body, in bytes, that the mock server reads. It is
// the limit of the real API.
const maxRequest = 32 << 20

// Mock is a server that plays a script, as two APIs would with their real wire
// shapes, as JSON or as a stream of events: the Messages API at POST /v1/messages,
// and Chat Completions at POST /v1/chat/completions. It answers 401 without a
// key, which the second does not need, and 400 where the real API would and where
// the script does not fit. Streams are split into small events, and those in the middle of
// characters, so that a client must put them together. As handlers do, it panics
// with [http.ErrAbortHandler] where a fault of the script breaks the connection.
//
// Conversations may be played side by side; see [Script] for how they are told
// apart. It is safe for concurrent use.
type Mock struct {
	player *player
	log    *slog.Logger
	served atomic.Int64
}

// NewMock returns a server that plays the script. A nil log discards.
func NewMock(script *Script, log *slog.Logger) *Mock {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Mock{player: script.player(), log: log}
}

// ServeHTTP answers one request.
func (m *Mock) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := m.served.Add(1)
	w.Header().Set("Request-Id", "req_"+strconv.FormatInt(id, 10))
	switch {
	case r.URL.Path == chatPath && r.Method == http.MethodPost:
		m.chat(w, r, id)
	case r.URL.Path != "/v1/messages":
		m.refuse(w, http.StatusNotFound, "not found: "+r.URL.Path)
	case r.Method != http.MethodPost:
		m.refuse(w, http.StatusMethodNotAllowed, "the method must be POST")
	case r.Header.Get("X-Api-Key") == "":
		m.refuse(w, http.StatusUnauthorized, "x-api-key header is required")
	default:
		m.message(w, r, id)
	}
}

// Serve serves on ln until ctx ends, and closes ln.
func (m *Mock) Serve(ctx context.Context, ln net.Listener) error {
	const header = 10 * time.Second
	web := &http.Server{Handler: m, ReadHeaderTimeout: header}
	defer context.AfterFunc(ctx, func() { _ = web.Close() })()
	if err := web.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the scripted API: %w", err)
	}
	return nil
}

func (m *Mock) message(w http.ResponseWriter, r *http.Request, id int64) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		m.refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", maxRequest))
		return
	}
	in, err := readIncoming(body)
	if err == nil {
		err = m.player.script.checkThoughts(in.Messages)
	}
	if err != nil {
		m.refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	turn, _ := strconv.Atoi(r.Header.Get(turnHeader)) // 0 without one
	next, err := m.player.next(turn, in.Messages)
	if err != nil {
		m.refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	m.log.Info("reply", "line", next.line, "stream", in.Stream, "messages", len(in.Messages))
	if err := next.wait(r.Context()); err != nil {
		return // the client has gone
	}
	m.answer(w, r, in, next, "msg_"+strconv.FormatInt(id, 10))
}

// answer sends a reply, or what the script has instead.
func (m *Mock) answer(w http.ResponseWriter, r *http.Request, in *incoming, next *reply, id string) {
	gone := r.Context().Done()
	out := message{
		ID: id, Type: "message", Role: RoleAssistant, Model: in.Model,
		Content: next.whole(), StopReason: &next.stop, Usage: next.usage,
	}
	switch {
	case next.refusal != nil:
		next.sendRefusal(w)
	case next.fault.whole():
		next.fault.play(w, gone)
	case in.Stream:
		stream(w, gone, out, next)
	case next.fault != nil:
		next.fault.spoil(w, gone, out, errorBody{Type: "error", Error: next.fault.said})
	default:
		send(w, http.StatusOK, out)
	}
}

// message is a reply on the wire.
type message struct {
	ID           string      `json:"id"`
	Type         string      `json:"type"`
	Role         string      `json:"role"`
	Model        string      `json:"model"`
	Content      []Block     `json:"content"`
	StopReason   *StopReason `json:"stop_reason"`
	StopSequence *string     `json:"stop_sequence"`
	Usage        Usage       `json:"usage"`
}

// whole is the content of a reply in one piece. A call that is cut in its input
// has an empty one.
func (r *reply) whole() []Block {
	content := make([]Block, 0, len(r.content))
	for i, b := range r.content {
		if r.cuts(i) {
			b.Input = json.RawMessage(`{}`)
		}
		content = append(content, b)
	}
	return content
}

func (m *Mock) refuse(w http.ResponseWriter, status int, text string) {
	m.log.Info("refused", "status", status, "error", text)
	send(w, status, errorBody{Type: "error", Error: errorDetail{errorType(status), text}})
}

// sendRefusal answers as the script says. A body that is a string is sent as
// plain text.
func (r *reply) sendRefusal(w http.ResponseWriter) {
	if r.refusal.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatFloat(r.refusal.RetryAfter.Seconds(), 'f', -1, 64))
	}
	var text string
	if json.Unmarshal(r.body, &text) == nil {
		http.Error(w, text, r.refusal.Status)
		return
	}
	send(w, r.refusal.Status, r.body)
}

func send(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may have gone
}
