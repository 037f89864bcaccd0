// Package openai is the client of OpenAI's two APIs, Responses and Chat Completions, and of
// servers that offer one of them.
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

// Client calls a model through the Responses or the Chat Completions API of OpenAI or of a
// compatible server. Replies are streamed; a reply in one piece is accepted too. Reasoning
// becomes thinking blocks. What OpenAI encrypts of it in Responses is the block's signature,
// which a later request sends back to the model. All other reasoning is for people to read
// and is never sent back.
type Client struct {
	id, key  string
	api      wire.API
	endpoint string // URL of requests
	isOpenAI bool   // the API is OpenAI's own
	http     *http.Client
}

// Config says where the API is, how to call it and which API it is. The zero value is
// OpenAI's Responses API, without a key.
type Config struct {
	endpoint.Config

	API wire.API // Responses or Chat; "" is [DefaultAPI] of the base URL

	// IsOpenAI says that OpenAI's own API is behind the server at BaseURL. It is true for
	// OpenAI's own base URL.
	IsOpenAI bool
}

// New returns a client for the model with this id. OpenAI itself requires an API key; a
// server at another base URL does not. /v1 is added to a base URL without a path. It
// reads no environment variables. A missing key and a malformed base URL are errors. It
// does not use the network.
func New(id string, cfg Config) (*Client, error) {
	base, err := ParseBaseURL(cfg.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("the model openai/%s: %w", id, err)
	}
	vendor := base.Hostname() == vendorHost
	if vendor && cfg.APIKey == "" {
		return nil, fmt.Errorf("the model openai/%s needs an API key: set OPENAI_API_KEY, or the base URL of a server that needs none", id)
	}
	c := &Client{
		id: id, key: cfg.APIKey, api: cmp.Or(cfg.API, DefaultAPI(cfg.BaseURL)), isOpenAI: vendor || cfg.IsOpenAI,
		http: endpoint.NewHTTPClient(cmp.Or(cfg.Transport, http.DefaultTransport), cfg.IdleTimeout),
	}
	c.endpoint = base.JoinPath(strings.TrimPrefix(c.api.Path(), "/v1")).String()
	return c, nil
}

// ParseAPI parses the name of an API of OpenAI: responses or chat.
func ParseAPI(name string) (wire.API, error) {
	switch api := wire.API(name); api {
	case wire.Responses, wire.Chat:
		return api, nil
	default:
		return "", fmt.Errorf("the API must be responses or chat, not %q", name)
	}
}

// DefaultAPI returns the API that is used at a base URL unless another is chosen: Responses
// at OpenAI's own, and Chat Completions elsewhere, because it is all that most compatible
// servers know.
func DefaultAPI(baseURL string) wire.API {
	if base, err := ParseBaseURL(baseURL); err == nil && base.Hostname() == vendorHost {
		return wire.Responses
	}
	return wire.Chat
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

// replyBuilder builds a reply of one of the APIs.
type replyBuilder interface {
	AddEvent(data []byte) error // adds the data of an event
	AddWhole(body []byte) error // adds a reply that is not streamed
	IsDone() bool               // nothing that comes after this matters
	Stop()                      // reports the ends of the blocks
	Response() *model.Response
}

// Complete sends one request to the API and reads the reply to its end. It returns the cause
// of ctx if ctx ends, and otherwise errors that begin with "openai".
func (c *Client) Complete(ctx context.Context, req model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	body, reply, err := c.encodeRequest(req, onDelta)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	err = c.sendAndReadReply(ctx, body, req.Turn, reply)
	switch {
	case err == nil:
		reply.Stop()
		return reply.Response(), nil
	case ctx.Err() != nil:
		return reply.Response().IfAny(), context.Cause(ctx)
	default:
		return reply.Response().IfAny(), endpoint.FormatProviderError(providerName, err)
	}
}

// encodeRequest returns the JSON body of a request, and an empty reply to it.
func (c *Client) encodeRequest(req model.Request, onDelta func(model.Delta)) ([]byte, replyBuilder, error) {
	if c.api == wire.Responses {
		body, err := encodeResponsesRequest(req, c.id)
		return body, wire.NewResponsesReply(onDelta), err
	}
	body, err := encodeChatRequest(req, c.id, c.isOpenAI)
	return body, wire.NewChatReply(onDelta, req.Messages), err
}

// sendAndReadReply sends the body of one request and adds the events of the answer to
// reply. A reply that does not say why it ended is an ErrCutStream; an HTTP error status is
// an APIError.
func (c *Client) sendAndReadReply(ctx context.Context, body []byte, turn int, reply replyBuilder) error {
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	post.Header.Set("Content-Type", "application/json")
	post.Header.Set("Accept", "text/event-stream")
	if c.key != "" {
		post.Header.Set("Authorization", "Bearer "+c.key)
	}
	if turn > 0 && !c.isOpenAI {
		post.Header.Set(endpoint.TurnHeader, strconv.Itoa(turn))
	}
	answer, err := c.http.Do(post)
	if err != nil {
		return endpoint.WrapUnreachable(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return c.apiErrorOfResponse(answer)
	}
	if err := readResponseBody(answer.Body, reply); err != nil {
		return endpoint.WrapCutStream(err)
	}
	if reply.Response().StopReason == "" {
		return model.ErrCutStream
	}
	return nil
}

// apiErrorOfResponse returns the APIError for a response with an HTTP error status.
func (c *Client) apiErrorOfResponse(answer *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(answer.Body, endpoint.MaxLineBytes)) // a part of the body is good enough
	err := wire.DecodeError(c.api, answer.StatusCode, text)
	err.RetryAfter = endpoint.ParseRetryAfter(answer.Header)
	return err
}
