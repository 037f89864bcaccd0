package model

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// providerOpenAI begins the text of this client's errors.
const providerOpenAI = "openai"

const (
	openAIHost = "api.openai.com"
	openAIBase = "https://" + openAIHost + "/v1"
)

// OpenAI is a model behind the Chat Completions API, of OpenAI or of any server
// that has the same. Replies are streamed; one that comes in one piece is taken
// too. Reasoning that an endpoint shows is in the reply as thinking without a
// signature, which is for people to read: it is sent to no model again.
type OpenAI struct {
	id, key  string
	endpoint string // where requests go
	vendor   bool   // it is OpenAI's own
	http     *http.Client
}

// NewOpenAI returns the model with that id. OpenAI itself needs a key; a server
// at another base URL is asked without, if there is none. To a base URL without
// a path /v1 is added. The environment is not read.
func NewOpenAI(id string, opts Options) (*OpenAI, error) {
	base, err := openAIURL(opts.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("the model openai/%s: %w", id, err)
	}
	vendor := base.Hostname() == openAIHost
	if vendor && opts.APIKey == "" {
		return nil, fmt.Errorf("the model openai/%s needs an API key: set OPENAI_API_KEY, or the base URL of a server that needs none", id)
	}
	return &OpenAI{
		id: id, key: opts.APIKey, endpoint: base.JoinPath("chat", "completions").String(), vendor: vendor,
		http: &http.Client{Transport: listen(http.DefaultTransport, opts.Idle), CheckRedirect: notFollowed},
	}, nil
}

// Foreign reports whether a model is named like one of OpenAI but served by
// somebody else, at a base URL. Its price and context are then not what the name
// says. (Behind a base URL for anthropic/ there is a gateway to Anthropic.)
func Foreign(name, baseURL string) bool {
	base, err := openAIURL(baseURL)
	return Provider(name) == providerOpenAI && err == nil && base.Hostname() != openAIHost
}

// openAIURL is the base URL, OpenAI's own when none is given.
func openAIURL(base string) (*url.URL, error) {
	if base == "" {
		base = openAIBase
	}
	u, err := parseBase(base)
	if err == nil && strings.Trim(u.Path, "/") == "" {
		u.Path = "/v1"
	}
	return u, err
}

// Complete sends one request and reads the stream to its end.
func (o *OpenAI) Complete(ctx context.Context, req Request, onDelta func(Delta)) (*Response, error) {
	body, err := req.chat(o.id, o.vendor)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	reading := newChatReading(onDelta, req.Messages)
	err = o.exchange(ctx, body, req.Turn, reading)
	switch {
	case err == nil:
		return reading.response(), nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	default:
		return nil, providerError(providerOpenAI, err)
	}
}

// exchange sends a body and reads the answer.
func (o *OpenAI) exchange(ctx context.Context, body []byte, turn int, reading *chatReading) error {
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, o.endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	post.Header.Set("Content-Type", "application/json")
	post.Header.Set("Accept", "text/event-stream")
	if o.key != "" {
		post.Header.Set("Authorization", "Bearer "+o.key)
	}
	if turn > 0 && !o.vendor {
		post.Header.Set(turnHeader, strconv.Itoa(turn))
	}
	answer, err := o.http.Do(post)
	if err != nil {
		return unanswered(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return chatRefused(answer)
	}
	if err := readChat(answer.Body, reading.take); err != nil {
		return chatBroken(err)
	}
	if reading.stop == "" {
		return ErrCutStream
	}
	return nil
}
