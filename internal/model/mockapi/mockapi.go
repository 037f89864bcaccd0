// Package mockapi is a server that plays a script with the wire formats of the APIs of
// two vendors, and refuses the requests that they refuse: see [Server].
package mockapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"assay/internal/model"
	"assay/internal/model/endpoint"
	"assay/internal/model/script"
	"assay/internal/model/wire"
)

// maxRequestBytes is the limit of a request's body in bytes: 32 MiB, as for the
// Messages API. A larger body gets status 413.
const maxRequestBytes = 32 << 20

// Server is an HTTP server that plays a script in the wire formats of two vendors, as
// JSON or as an event stream: Anthropic's Messages API at POST /v1/messages, and OpenAI's
// Chat Completions at POST /v1/chat/completions and Responses at POST /v1/responses. It
// answers 401 without an API key (x-api-key or a bearer token), which only the first
// requires, and 400 to requests that the real API rejects or the script does not expect. Texts are split into small events,
// and packets inside characters, so that a client must join them. If a fault of the
// script breaks the connection, ServeHTTP panics with [http.ErrAbortHandler], as handlers
// do.
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

// ServeHTTP answers one HTTP request: a model call at the path of an API, or 404 for
// another path.
func (m *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := strconv.FormatInt(m.served.Add(1), 10)
	w.Header().Set("Request-Id", "req_"+id)
	api, known := wire.APIOfPath(r.URL.Path)
	bearer := r.Header.Get("Authorization")
	switch {
	case !known:
		m.sendError(w, wire.Messages, http.StatusNotFound, "not found: "+r.URL.Path)
	case r.Method != http.MethodPost:
		m.sendError(w, api, http.StatusMethodNotAllowed, "the method must be POST")
	case api == wire.Messages && r.Header.Get("X-Api-Key") == "" && bearer == "":
		m.sendError(w, api, http.StatusUnauthorized, "x-api-key header is required")
	case bearer != "" && !strings.HasPrefix(bearer, "Bearer "):
		m.sendError(w, api, http.StatusUnauthorized, "the Authorization header must be a Bearer token")
	default:
		m.serveCall(w, r, api, id)
	}
}

// serveCall answers a model call with the script's next reply. It sends an error with
// status 400 for a request that the API or the script rejects, and 413 for a too large
// one.
func (m *Server) serveCall(w http.ResponseWriter, r *http.Request, api wire.API, id string) {
	body, err := readRequestBody(w, r)
	if err != nil {
		m.sendError(w, api, http.StatusRequestEntityTooLarge, err.Error())
		return
	}
	messages, err := parseRequest(api, body)
	if err == nil {
		err = m.player.CheckThinking(messages)
	}
	var envelope wire.Envelope
	if err == nil {
		envelope, err = wire.ReadEnvelope(api, body)
	}
	if err != nil {
		m.sendError(w, api, http.StatusBadRequest, err.Error())
		return
	}
	next, err := m.nextReply(r, messages, envelope.IsStreamed)
	switch {
	case err != nil:
		m.sendError(w, api, http.StatusBadRequest, err.Error())
	case next != nil:
		head := wire.Head{ID: id, Model: envelope.Model, IncludesUsage: envelope.IncludesUsage, Namespaces: envelope.Namespaces}
		(&reply{api: api, isStreamed: envelope.IsStreamed, head: head, next: next}).send(w, r.Context().Done())
	}
}

// parseRequest returns the conversation of a request, as messages of the Messages API,
// which scripts use. It returns an error that names the place if the real API would reject
// the request.
func parseRequest(api wire.API, body []byte) ([]model.Message, error) {
	switch api {
	case wire.Messages:
		return parseMessageRequest(body)
	case wire.Chat:
		return parseChatRequest(body)
	default:
		return parseResponsesRequest(body)
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

// sendError sends an error response of the API with this HTTP status and text, and logs it.
func (m *Server) sendError(w http.ResponseWriter, api wire.API, status int, text string) {
	m.log.Info("refused", "status", status, "error", text)
	wire.WriteError(w, api, status, "", text)
}
