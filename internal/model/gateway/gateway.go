// Package gateway is the HTTP endpoint through which one agent calls language models. It
// speaks the APIs of package wire. A call for a vendor's model is forwarded byte for byte,
// with the vendor's key in place of the agent's token; a call for the model "assay" goes to
// the model of the endpoint, in the format of another vendor if need be. The endpoint counts
// tokens and cost, bounds the calls in flight, refuses calls beyond its limits, and tells of
// each call what was asked and replied. A recording or a cache may answer in place of a vendor. It knows nothing of notebooks.
//
// # Goroutines
//
// [Endpoint.Serve] starts one per connection, as an HTTP server does. [Endpoint.Close] ends all
// calls and waits for them. A timer of each call notices silence.
package gateway

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"assay/internal/model"
	"assay/internal/model/endpoint"
	"assay/internal/model/replay"
	"assay/internal/model/wire"
)

// ModelName is the name by which an agent asks for the model of the endpoint, whatever that
// is.
const ModelName = "assay"

const (
	readHeaderTimeout = 10 * time.Second
	bodyTimeout       = time.Minute // to read the body of a request
	writeTimeout      = time.Minute // until an agent has read a piece of a reply
	idleConnTimeout   = 2 * time.Minute

	maxIdleConnections = 128 // to one vendor, which are kept for further calls

	defaultSilenceDelay = time.Minute

	// wholeReplyTimeout is how long a vendor may take for a reply that is not streamed, of
	// which nothing comes before its end. Both vendors' SDKs wait as long.
	wholeReplyTimeout = 10 * time.Minute
)

// Config configures an [Endpoint]. Only Token is required.
type Config struct {
	// Token is what the agent sends as its API key. Calls without it are refused.
	Token string

	// Vendors are the APIs to which calls are forwarded, by the name of the provider:
	// anthropic, openai.
	Vendors map[string]Vendor

	// Model is what the name "assay" stands for; nil: calls for it are refused.
	Model *Model

	// FindCard returns the price of a provider's model; nil, or its result nil: not known.
	FindCard func(provider, id string) *model.ModelCard

	// RefusesHosted refuses calls with what the vendor does itself, with its own network, such as a search of the
	// web: see [wire.FindHosted].
	RefusesHosted bool

	// Replayer, if set, answers all calls: nothing is sent to a vendor or to Model.
	Replayer *replay.Replayer

	// Cache, if set, answers calls that an earlier run has made.
	Cache *replay.AttemptCache

	Recorder *replay.Recorder // writes all calls that a model or the Replayer has answered; nil: none

	Slots *Slots // shared by all endpoints of a run; nil: no limit on calls in flight

	Agent Agent

	// IdleTimeout is how long a streamed call may stay without traffic; see
	// [endpoint.Config].
	IdleTimeout time.Duration

	Transport http.RoundTripper // for calls to vendors; nil: a new one
	Log       *slog.Logger      // nil discards
}

// Agent is what differs between the agents of a run.
type Agent struct {
	Limits Limits

	// OnEvent, if set, gets what happens to the calls. It is called from several goroutines, for one
	// call in order. Calls wait for it.
	OnEvent func(Event)

	// SilenceDelay is how long nothing of a reply must come until that is an event; 0 is a minute.
	SilenceDelay time.Duration

	// Session and Workdir are the name of the agent's session and its working folder, which recordings do not
	// contain.
	Session, Workdir string

	Scope replay.CacheScope // in which a cache has the agent's replies
}

// Vendor is an API of models: where it is, and its key.
type Vendor struct {
	BaseURL *url.URL // of OpenAI's API with /v1
	APIKey  string   // "": the API needs none
}

// Model is a model that an agent can use by the name "assay".
type Model struct {
	// Provider and ID are of a model behind a vendor's API, to which calls in the provider's
	// format are forwarded. They are empty for a model that only Client can call.
	Provider, ID string
	Vendor       Vendor

	// Client replies to calls in the format of other providers, or to all.
	Client model.Client

	Name string // as on the command line: for errors
}

// Endpoint serves the calls of one agent. It is safe for concurrent use. Its creator must
// Close it.
type Endpoint struct {
	cfg       Config
	http      *http.Server
	transport http.RoundTripper
	calls     atomic.Int64 // that have been made, for their numbers

	mu       sync.Mutex
	isClosed bool
	handlers sync.WaitGroup // of requests; Add is called before isClosed only

	writeTimeout time.Duration // the constant, except in tests

	ctx    context.Context //nolint:containedctx // ends with the endpoint, and then all its calls
	cancel context.CancelFunc

	ledger   ledger
	bodies   *semaphore.Weighted // bytes of bodies in memory
	recorded callQueue
}

// New returns an endpoint. It uses no network.
func New(cfg Config) *Endpoint {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Agent.OnEvent == nil {
		cfg.Agent.OnEvent = func(Event) {}
	}
	if cfg.Agent.SilenceDelay <= 0 {
		cfg.Agent.SilenceDelay = defaultSilenceDelay
	}
	if cfg.FindCard == nil {
		cfg.FindCard = func(string, string) *model.ModelCard { return nil }
	}
	if cfg.Transport == nil {
		cfg.Transport = NewTransport()
	}
	e := &Endpoint{cfg: cfg, transport: cfg.Transport, ledger: ledger{limits: cfg.Agent.Limits}, bodies: semaphore.NewWeighted(maxBodyBytes), writeTimeout: writeTimeout}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.http = &http.Server{
		Handler: e, ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleConnTimeout,
		BaseContext: func(net.Listener) context.Context { return e.ctx },
		ErrorLog:    slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug),
	}
	return e
}

// NewTransport returns a transport for calls to vendors. It asks for no compression, which
// would delay the pieces of a streamed reply.
func NewTransport() *http.Transport {
	transport, isStandard := http.DefaultTransport.(*http.Transport)
	if !isStandard {
		return &http.Transport{DisableCompression: true}
	}
	transport = transport.Clone()
	transport.DisableCompression = true
	transport.MaxIdleConnsPerHost = maxIdleConnections
	return transport
}

// Serve serves the connections of a listener until the endpoint is closed, and closes the
// listener. Any other end is an error.
func (e *Endpoint) Serve(listener net.Listener) error {
	if err := e.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the agent's calls of models: %w", err)
	}
	return nil
}

// Close ends all calls and connections, makes Serve return, and waits for the last event of each
// call. Further calls do nothing.
func (e *Endpoint) Close() {
	e.cancel()
	_ = e.http.Close() // its error is that of a listener that was closed already
	e.mu.Lock()
	e.isClosed = true
	e.mu.Unlock()
	e.handlers.Wait()
}

// beginRequest makes Close wait for a request, until handlers.Done is called. It returns false if
// the endpoint is closed.
func (e *Endpoint) beginRequest() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.isClosed {
		e.handlers.Add(1)
	}
	return !e.isClosed
}

// Refuse refuses all further calls with this reason. Calls in flight go on.
func (e *Endpoint) Refuse(reason string) {
	e.ledger.refuse(errors.New(reason))
}

// ServeHTTP answers one request: a call of a model, or the list of models. Anything else is
// refused in the format of the vendor.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !e.beginRequest() {
		panic(http.ErrAbortHandler)
	}
	defer e.handlers.Done()
	api, isCall := wire.APIOfPath(r.URL.Path)
	if !isCall {
		api = apiOfHeader(r)
	}
	switch {
	case r.Method == http.MethodHead:
		w.WriteHeader(http.StatusOK) // some clients look whether anything is there
	case !e.isAuthorized(r):
		e.reject(w, r, api, http.StatusUnauthorized, "the API key is not that of this attempt: use ANTHROPIC_API_KEY or OPENAI_API_KEY of the environment")
	case isCall && r.Method == http.MethodPost:
		e.serveCall(w, r, api)
	case r.URL.Path == countTokensPath && r.Method == http.MethodPost:
		e.serveTokenCount(w, r)
	case r.URL.Path == modelsPath || isModelPath(r.URL.Path):
		e.serveModels(w, r, api)
	case isCall && strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		e.reject(w, r, api, http.StatusUpgradeRequired, "calls over WebSocket are not served: use POST") // Codex then does so at once
	case isCall || r.URL.Path == countTokensPath:
		e.reject(w, r, api, http.StatusMethodNotAllowed, "the method must be POST")
	default:
		e.reject(w, r, api, http.StatusNotFound, cutPath(r.URL.Path)+" is not served: there are /v1/messages, /v1/messages/count_tokens, /v1/chat/completions, /v1/responses and /v1/models")
	}
}

// cutPath returns as much of the path of a request as is kept.
func cutPath(path string) string {
	const maxBytes = 200
	if len(path) > maxBytes {
		return strings.ToValidUTF8(path[:maxBytes], "") + "…"
	}
	return path
}

// reject answers a request that is no call of a model with an error in the format of api. The vendors'
// SDKs do not repeat it.
func (e *Endpoint) reject(w http.ResponseWriter, r *http.Request, api wire.API, status int, text string) {
	e.cfg.Agent.OnEvent(Event{Kind: CallRejected, Request: &Request{API: api, Path: cutPath(r.URL.Path)}, Reply: &Reply{Status: status, Error: text}})
	w.Header().Set("X-Should-Retry", "false")
	wire.WriteError(w, api, status, model.ErrorTypeOfStatus(status), text)
}

// Paths beside those of wire.API.
const (
	countTokensPath = "/v1/messages/count_tokens" //nolint:gosec // no credentials
	modelsPath      = "/v1/models"
)

// isModelPath reports whether a path, which is not escaped, names a model. The path is forwarded with the vendor's
// key: it must not lead elsewhere.
func isModelPath(path string) bool {
	id, found := strings.CutPrefix(path, modelsPath+"/")
	return found && id != "" && id != "." && id != ".." && !strings.ContainsAny(id, `/\`)
}

// apiOfHeader returns the API whose client has probably sent a request to no path of an API.
func apiOfHeader(r *http.Request) wire.API {
	if r.Header.Get("Anthropic-Version") != "" || r.Header.Get("X-Api-Key") != "" {
		return wire.Messages
	}
	return wire.Chat
}

// isAuthorized reports whether a request has the endpoint's token.
func (e *Endpoint) isAuthorized(r *http.Request) bool {
	for _, key := range []string{r.Header.Get("X-Api-Key"), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")} {
		if subtle.ConstantTimeCompare([]byte(key), []byte(e.cfg.Token)) == 1 {
			return true
		}
	}
	return false
}

// idleTimeoutOf returns how long a call may stay without traffic.
func (e *Endpoint) idleTimeoutOf(envelope wire.Envelope) time.Duration {
	if !envelope.IsStreamed && e.cfg.IdleTimeout == 0 {
		return max(wholeReplyTimeout, endpoint.DefaultIdleTimeout)
	}
	return e.cfg.IdleTimeout
}
