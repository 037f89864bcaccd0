// Package openai is the client of OpenAI's Chat Completions API, and of servers that
// offer the same API.
//
// It is written by hand, without the vendor's SDK. The SDK adds 19 MB to the program, a
// minute to its build, and time to the start of every command. The client must work
// with any base URL: compatible servers differ from the vendor in many ways, such as
// errors of other shapes, tool calls without ids or indexes, and answers that are not
// streamed. And it must see each piece of a stream as it arrives, for callers and for
// the idle timeout.
package openai

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"assay/internal/model"
	"assay/internal/model/endpoint"
	"assay/internal/model/wire"
)

// providerName is the name that begins the text of every error of the OpenAI client.
const providerName = "openai"

const (
	vendorHost    = "api.openai.com"
	vendorBaseURL = "https://" + vendorHost + "/v1"
)

// Client calls a model through the Chat Completions API of OpenAI or of a compatible
// server. Replies are streamed; a reply in one piece is accepted too. Reasoning that a
// server shows becomes a thinking block without a signature, which is for people to
// read and is never sent back to a model.
type Client struct {
	id, key  string
	endpoint string // URL of requests
	isVendor bool   // the endpoint is OpenAI's own
	http     *http.Client
}

// New returns a client for the model with this id. OpenAI itself requires an API key; a
// server at another base URL does not. /v1 is added to a base URL without a path. It
// reads no environment variables. A missing key and a malformed base URL are errors. It
// does not use the network.
func New(id string, cfg endpoint.Config) (*Client, error) {
	base, err := ParseBaseURL(cfg.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("the model openai/%s: %w", id, err)
	}
	vendor := base.Hostname() == vendorHost
	if vendor && cfg.APIKey == "" {
		return nil, fmt.Errorf("the model openai/%s needs an API key: set OPENAI_API_KEY, or the base URL of a server that needs none", id)
	}
	return &Client{
		id: id, key: cfg.APIKey, endpoint: base.JoinPath("chat", "completions").String(), isVendor: vendor,
		http: endpoint.NewHTTPClient(cmp.Or(cfg.Transport, http.DefaultTransport), cfg.IdleTimeout),
	}, nil
}

// IsThirdParty reports whether the model's name begins with openai/ but baseURL is a
// server other than OpenAI's. Prices and context sizes of [model.FindModelCard] do not hold
// then. (For anthropic/ models a base URL is a gateway to Anthropic.)
func IsThirdParty(name, baseURL string) bool {
	base, err := ParseBaseURL(baseURL)
	return model.ProviderOf(name) == providerName && err == nil && base.Hostname() != vendorHost
}

// ParseBaseURL parses a base URL; "" means OpenAI's own. It adds /v1 to a URL without a
// path. A malformed URL is an error.
func ParseBaseURL(base string) (*url.URL, error) {
	if base == "" {
		base = vendorBaseURL
	}
	u, err := endpoint.ParseBaseURL(base)
	if err == nil && strings.Trim(u.Path, "/") == "" {
		u.Path = "/v1"
	}
	return u, err
}

// Complete sends one request to the Chat Completions API and reads the reply to its
// end. It returns the cause of ctx if ctx ends, and otherwise errors that begin with
// "openai".
func (c *Client) Complete(ctx context.Context, req model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	body, err := encodeRequest(req, c.id, c.isVendor)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	reply := wire.NewChatReply(onDelta, req.Messages)
	err = c.sendAndReadReply(ctx, body, req.Turn, reply)
	switch {
	case err == nil:
		reply.Stop()
		return reply.Response(), nil
	case ctx.Err() != nil:
		return reply.Arrived(), context.Cause(ctx)
	default:
		return reply.Arrived(), endpoint.FormatProviderError(providerName, err)
	}
}

// sendAndReadReply sends the body of one request and adds the chunks of the answer to
// reply. A reply without a finish_reason is an ErrCutStream; an HTTP error status is an
// APIError.
func (c *Client) sendAndReadReply(ctx context.Context, body []byte, turn int, reply *wire.ChatReply) error {
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	post.Header.Set("Content-Type", "application/json")
	post.Header.Set("Accept", "text/event-stream")
	if c.key != "" {
		post.Header.Set("Authorization", "Bearer "+c.key)
	}
	if turn > 0 && !c.isVendor {
		post.Header.Set(endpoint.TurnHeader, strconv.Itoa(turn))
	}
	answer, err := c.http.Do(post)
	if err != nil {
		return endpoint.WrapUnreachable(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return apiErrorOfResponse(answer)
	}
	if err := readResponseBody(answer.Body, reply.AddChunk); err != nil {
		return endpoint.WrapCutStream(err)
	}
	if !reply.IsComplete() {
		return model.ErrCutStream
	}
	return nil
}

// apiErrorOfResponse returns the APIError for a response with an HTTP error status.
func apiErrorOfResponse(answer *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(answer.Body, endpoint.MaxLineBytes)) // a part of the body is good enough
	err := wire.DecodeError(wire.Chat, answer.StatusCode, text)
	err.RetryAfter = endpoint.ParseRetryAfter(answer.Header)
	return err
}
