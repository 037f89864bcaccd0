// Package openai is the client of OpenAI's Chat Completions API, and of servers that
// offer the same API.
//
// It is written by hand, without the vendor's SDK, for three reasons. The SDK adds 19 MB
// to the program and a minute to its build, and it makes every command start later. It
// must work with any base URL: compatible servers differ from the vendor in many ways,
// such as errors of other shapes, tool calls without ids or indexes, and answers that
// are not streamed. And it reads streams, so that a caller sees the pieces of a reply
// and silence can be told from slowness, with the same limits as package anthropic.
package openai

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"assay/internal/model"
	"assay/internal/model/endpoint"
)

// provider begins the text of this client's errors.
const provider = "openai"

const (
	vendorHost    = "api.openai.com"
	vendorBaseURL = "https://" + vendorHost + "/v1"
)

// Client is a model behind the Chat Completions API, of Client or of any server
// that has the same. Replies are streamed; one that comes in one piece is taken
// too. Reasoning that an endpoint shows is in the reply as thinking without a
// signature, which is for people to read: it is sent to no model again.
type Client struct {
	id, key  string
	endpoint string // where requests go
	isVendor bool   // it is Client's own
	http     *http.Client
}

// New returns the model with that id. Client itself needs a key; a server
// at another base URL is asked without, if there is none. To a base URL without
// a path /v1 is added. The environment is not read.
func New(id string, cfg endpoint.Config) (*Client, error) {
	base, err := parseBaseURL(cfg.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("the model openai/%s: %w", id, err)
	}
	vendor := base.Hostname() == vendorHost
	if vendor && cfg.APIKey == "" {
		return nil, fmt.Errorf("the model openai/%s needs an API key: set OPENAI_API_KEY, or the base URL of a server that needs none", id)
	}
	return &Client{
		id: id, key: cfg.APIKey, endpoint: base.JoinPath("chat", "completions").String(), isVendor: vendor,
		http: endpoint.NewHTTPClient(http.DefaultTransport, cfg.IdleTimeout),
	}, nil
}

// IsThirdParty reports whether a model is named like one of Client but served by
// somebody else, at a base URL. Its price and context are then not what the name
// says. (Behind a base URL for anthropic/ there is a gateway to Anthropic.)
func IsThirdParty(name, baseURL string) bool {
	base, err := parseBaseURL(baseURL)
	return model.Provider(name) == provider && err == nil && base.Hostname() != vendorHost
}

// parseBaseURL is the base URL, Client's own when none is given.
func parseBaseURL(base string) (*url.URL, error) {
	if base == "" {
		base = vendorBaseURL
	}
	u, err := endpoint.ParseBaseURL(base)
	if err == nil && strings.Trim(u.Path, "/") == "" {
		u.Path = "/v1"
	}
	return u, err
}

// Complete sends one request and reads the stream to its end.
func (o *Client) Complete(ctx context.Context, req model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	body, err := encodeRequest(req, o.id, o.isVendor)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	reading := newResponseBuilder(onDelta, req.Messages)
	err = o.exchange(ctx, body, req.Turn, reading)
	switch {
	case err == nil:
		return reading.finish(), nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	default:
		return nil, endpoint.ProviderError(provider, err)
	}
}

// exchange sends a body and reads the answer.
func (o *Client) exchange(ctx context.Context, body []byte, turn int, reading *responseBuilder) error {
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, o.endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	post.Header.Set("Content-Type", "application/json")
	post.Header.Set("Accept", "text/event-stream")
	if o.key != "" {
		post.Header.Set("Authorization", "Bearer "+o.key)
	}
	if turn > 0 && !o.isVendor {
		post.Header.Set(endpoint.TurnHeader, strconv.Itoa(turn))
	}
	answer, err := o.http.Do(post)
	if err != nil {
		return endpoint.NoAnswerError(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return statusRefusal(answer)
	}
	if err := readAnswer(answer.Body, reading.add); err != nil {
		return endpoint.BrokenAnswerError(err)
	}
	if reading.stopReason == "" {
		return model.ErrCutStream
	}
	return nil
}
