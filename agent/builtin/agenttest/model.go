package agenttest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/mockapi"
	"assay/internal/model/open"
	"assay/internal/model/script"
)

// ToolCallScriptLine returns a line of a model script that calls tools, given as name,
// input, name, input and so on.
func ToolCallScriptLine(namesAndInputs ...string) string {
	var blocks []string
	for call := range slices.Chunk(namesAndInputs, 2) {
		blocks = append(blocks, fmt.Sprintf(`{"type":"tool_use","name":%q,"input":%s}`, call[0], call[1]))
	}
	return `{"content":[` + strings.Join(blocks, ",") + `]}`
}

// SubmitScriptLine returns a line of a model script that submits an answer.
func SubmitScriptLine(answer string) string {
	return ToolCallScriptLine("submit_response", fmt.Sprintf(`{"summary":"<EVAL_ANSWER>%s</EVAL_ANSWER> [EVAL_COMPLETE]","next_status":"done"}`, answer))
}

// TextScriptLine returns a line of a model script that replies with a text.
func TextScriptLine(text string) string {
	line, _ := json.Marshal(map[string]string{"content": text}) //nolint:errchkjson // a string
	return string(line)
}

// ParseModelScript parses the lines of a script.
func ParseModelScript(tb testing.TB, lines ...string) *script.Script {
	tb.Helper()
	parsed, err := script.Parse("script.jsonl", []byte(strings.Join(lines, "\n")))
	require.NoError(tb, err)
	return parsed
}

// RequestRecorder is a model that records the requests to another one. Requests may be read
// while no call is in progress.
type RequestRecorder struct {
	model.Client
	Requests []model.Request

	mu sync.Mutex
}

// Complete records the request and passes it on.
func (r *RequestRecorder) Complete(ctx context.Context, req model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	r.mu.Lock()
	r.Requests = append(r.Requests, req)
	r.mu.Unlock()
	return r.Client.Complete(ctx, req, onDelta)
}

// NewValidatingClient returns a client of a mock API over HTTP that plays a script and validates
// every request. The test fails if the API answers 400.
func NewValidatingClient(t *testing.T, lines ...string) model.Client {
	t.Helper()
	var rejected atomic.Int64
	mock := mockapi.New(ParseModelScript(t, lines...), nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := &responseStatusRecorder{ResponseWriter: w}
		mock.ServeHTTP(recorder, r)
		if recorder.status == http.StatusBadRequest {
			rejected.Add(1)
		}
	}))
	t.Cleanup(func() {
		server.Close()
		require.Zero(t, rejected.Load(), "the API rejected requests")
	})
	client, err := open.Open("anthropic/claude-opus-4-5", open.Options{APIKey: "key", BaseURL: server.URL})
	require.NoError(t, err)
	return client
}

// responseStatusRecorder records the status of a response.
type responseStatusRecorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader records the status and passes it on.
func (w *responseStatusRecorder) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (w *responseStatusRecorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// NewModelReply returns a reply of these blocks with the stop reason that fits them.
func NewModelReply(content ...model.Block) *model.Response {
	stop := model.StopEndTurn
	if len(model.ToolUses(content)) > 0 {
		stop = model.StopToolUse
	}
	return &model.Response{Content: content, StopReason: stop}
}

// ReplyModel is a model that gives arbitrary replies, one after the other. It validates all
// requests as the mock API does.
type ReplyModel struct {
	OnCall    func(context.Context) // called during each call; nil does nothing
	LastReply *model.Response       // after all others; nil is an error

	mu         sync.Mutex
	replies    []any // *model.Response or error
	requests   []model.Request
	rejections []string
}

// NewReplyModel returns a model that gives these replies; each is a *model.Response or an
// error. The test fails if a request is invalid.
func NewReplyModel(t *testing.T, replies ...any) *ReplyModel {
	t.Helper()
	m := &ReplyModel{replies: replies}
	t.Cleanup(func() { require.Empty(t, m.RejectionReasons()) })
	return m
}

// Complete gives the next reply.
func (m *ReplyModel) Complete(ctx context.Context, req model.Request, _ func(model.Delta)) (*model.Response, error) {
	status, text := CheckRequest(req)
	if m.OnCall != nil {
		m.OnCall(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, req)
	if status != http.StatusOK {
		m.rejections = append(m.rejections, text)
	}
	if len(m.replies) == 0 {
		if m.LastReply == nil {
			return nil, errors.New("one more reply was asked for")
		}
		return m.LastReply, nil
	}
	next := m.replies[0]
	m.replies = m.replies[1:]
	reply, _ := next.(*model.Response)
	err, _ := next.(error)
	return reply, err
}

// Requests returns all requests so far.
func (m *ReplyModel) Requests() []model.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// RejectionReasons returns why requests were invalid.
func (m *ReplyModel) RejectionReasons() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.rejections)
}

// CheckTranscript returns the HTTP status and the body with which the mock API answers a
// transcript: 200 if it is valid.
func CheckTranscript(messages []model.Message) (status int, body string) {
	return CheckRequest(model.Request{Params: model.Params{MaxTokens: 9}, Messages: messages})
}

// CheckRequest returns the HTTP status and the body with which the mock API answers a model
// request: 200 if the request is valid.
func CheckRequest(req model.Request) (status int, body string) {
	req.Model = "m"
	parsed, err := script.Parse("s", []byte(strings.Repeat(`{"content":"ok"}`+"\n", len(req.Messages)+1)))
	if err != nil {
		return 0, err.Error()
	}
	sent, err := json.Marshal(req)
	if err != nil {
		return 0, err.Error()
	}
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/v1/messages", strings.NewReader(string(sent)))
	r.Header.Set("X-Api-Key", "k")
	w := httptest.NewRecorder()
	mockapi.New(parsed, nil).ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// NewGetContextCall returns a model's call of the tool get_context, without parameters.
func NewGetContextCall(id string) model.Block { return model.ToolUse(id, "get_context", []byte(`{}`)) }

// BlankImage returns an image of one color that takes little memory.
func BlankImage(width, height int) image.Image {
	return image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.Black, color.White})
}

// BlankPNG returns a PNG of one color, of that size in pixels, in base64.
func BlankPNG(t *testing.T, width, height int) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, png.Encode(&out, BlankImage(width, height)))
	return base64.StdEncoding.EncodeToString(out.Bytes())
}
