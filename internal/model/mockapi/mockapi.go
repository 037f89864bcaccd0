// Package mockapi is a server that plays a script with the wire formats of the APIs of
// two vendors, and refuses the requests that they refuse: see [Server].
package mockapi

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

	"assay/internal/model"
	"assay/internal/model/endpoint"
	"assay/internal/model/script"
)

// maxRequestBytes is the limit of a request's body in bytes: 32 MiB, as for the
// Messages API. A larger body gets status 413.
const maxRequestBytes = 32 << 20

// Server is an HTTP server that plays a script in the wire formats of two vendors, as
// JSON or as an event stream: Anthropic's Messages API at POST /v1/messages, and
// OpenAI's Chat Completions at POST /v1/chat/completions. It answers 401 without an API
// key, which only the first requires, and 400 to requests that the real API rejects or
// the script does not expect. Texts are split into small events, and packets inside
// characters, so that a client must join them. If a fault of the script breaks the
// connection, ServeHTTP panics with [http.ErrAbortHandler], as handlers do.
//
// Several conversations may be played at the same time; [script.Script] says how they
// are distinguished. A Server is safe for concurrent use.
type Server struct {
	player *script.Player
	log    *slog.Logger
	served atomic.Int64 // requests, for their ids
}

// New returns a server that plays the script from its beginning. It logs each reply and
// error to log; nil discards them.
func New(script *script.Script, log *slog.Logger) *Server {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Server{player: script.NewPlayer(), log: log}
}

// chatPath is the URL path of OpenAI's Chat Completions.
const chatPath = "/v1/chat/completions"

// ServeHTTP answers one HTTP request: a model call at the path of either vendor, or 404
// for another path.
func (m *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := m.served.Add(1)
	w.Header().Set("Request-Id", "req_"+strconv.FormatInt(id, 10))
	switch {
	case r.URL.Path == chatPath && r.Method == http.MethodPost:
		m.serveChat(w, r, id)
	case r.URL.Path != "/v1/messages":
		m.sendMessagesError(w, http.StatusNotFound, "not found: "+r.URL.Path)
	case r.Method != http.MethodPost:
		m.sendMessagesError(w, http.StatusMethodNotAllowed, "the method must be POST")
	case r.Header.Get("X-Api-Key") == "":
		m.sendMessagesError(w, http.StatusUnauthorized, "x-api-key header is required")
	default:
		m.serveMessage(w, r, id)
	}
}

// Serve answers HTTP requests on ln until ctx ends, and closes ln. The end of ctx is
// not an error.
func (m *Server) Serve(ctx context.Context, ln net.Listener) error {
	const headerTimeout = 10 * time.Second
	web := &http.Server{Handler: m, ReadHeaderTimeout: headerTimeout}
	defer context.AfterFunc(ctx, func() { _ = web.Close() })()
	if err := web.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the scripted API: %w", err)
	}
	return nil
}

// readRequestBody reads the body of a request. It returns an error if the body has more than
// 32 MiB or cannot be read.
func readRequestBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	if err != nil {
		return nil, fmt.Errorf("the body is larger than %d bytes", maxRequestBytes)
	}
	return body, nil
}

// nextReply returns the script's reply to a conversation after waiting for the reply's
// delay. It returns nil if the client disconnects during the delay, and an error if the
// script has no matching reply.
func (m *Server) nextReply(r *http.Request, messages []model.Message, stream bool) (*script.Reply, error) {
	turn, _ := strconv.Atoi(r.Header.Get(endpoint.TurnHeader)) // 0 without the header
	next, err := m.player.NextReply(turn, messages)
	if err != nil {
		return nil, err
	}
	m.log.Info("reply", "line", next.Line, "stream", stream, "messages", len(messages))
	if next.WaitDelay(r.Context()) != nil {
		return nil, nil //nolint:nilerr // the client has gone: there is nobody to tell
	}
	return next, nil
}

// sendMessagesError sends an error response of the Messages API with this HTTP status
// and text, and logs it.
func (m *Server) sendMessagesError(w http.ResponseWriter, status int, text string) {
	m.log.Info("refused", "status", status, "error", text)
	sendJSON(w, status, model.ErrorBody{Type: "error", Error: model.ErrorDetail{Type: model.ErrorTypeOfStatus(status), Message: text}})
}

// sendScriptedError sends an API error of the script: its status, its Retry-After and
// this body. A body that is a JSON string is sent as plain text.
func sendScriptedError(w http.ResponseWriter, refusal *model.APIError, body json.RawMessage) {
	if refusal.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatFloat(refusal.RetryAfter.Seconds(), 'f', -1, 64))
	}
	var text string
	if json.Unmarshal(body, &text) == nil {
		http.Error(w, text, refusal.Status)
		return
	}
	sendJSON(w, refusal.Status, body)
}

func sendJSON(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may have gone
}
