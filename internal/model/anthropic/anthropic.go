// Package anthropic is the client of Anthropic's Messages API.
package anthropic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"assay/internal/model"
	"assay/internal/model/endpoint"
)

// providerName begins the text of this client's errors.
const providerName = "anthropic"

// Client is a model behind Anthropic's Messages API. Replies are streamed.
type Client struct {
	id       string
	messages sdk.MessageService
	ownURL   bool // a base URL was given: a scripted server may be there
}

// New returns the model with that id. An API key is required, even if the
// server at the base URL ignores it. Environment variables are not read. A missing
// or unsendable key and a malformed base URL are errors; the network is not used.
func New(id string, cfg endpoint.Config) (*Client, error) {
	return newClient(id, cfg, http.DefaultTransport)
}

func newClient(id string, cfg endpoint.Config, transport http.RoundTripper) (*Client, error) {
	if cfg.APIKey == "" {
		return nil, fmt.Errorf("the model anthropic/%s needs an API key: set ANTHROPIC_API_KEY", id)
	}
	if err := checkSendable(cfg); err != nil {
		return nil, fmt.Errorf("the model anthropic/%s: %w", id, err)
	}
	settings := []option.RequestOption{
		option.WithEnvironmentProduction(),
		option.WithAPIKey(cfg.APIKey),
		option.WithMaxRetries(0), // callers retry, and report that they do
		option.WithHTTPClient(endpoint.NewHTTPClient(transport, cfg.IdleTimeout)),
	}
	if cfg.BaseURL != "" {
		settings = append(settings, option.WithBaseURL(cfg.BaseURL))
	}
	return &Client{id: id, messages: sdk.NewMessageService(settings...), ownURL: cfg.BaseURL != ""}, nil
}

// checkSendable returns an error if every request would fail before it is sent.
func checkSendable(cfg endpoint.Config) error {
	if strings.ContainsFunc(cfg.APIKey, unicode.IsControl) {
		return errors.New("its API key has a line break or another control character")
	}
	if cfg.BaseURL == "" {
		return nil
	}
	_, err := endpoint.ParseBaseURL(cfg.BaseURL)
	return err
}

// Complete sends one request and reads the stream until the reply is whole.
func (a *Client) Complete(ctx context.Context, req model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	body, err := req.Encode(a.id)
	if err != nil {
		return nil, err
	}
	turn := 0
	if a.ownURL {
		turn = req.Turn
	}
	reply, err := a.sendAndReadReply(ctx, body, turn, onDelta)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, endpoint.FormatProviderError(providerName, err)
	}
	return reply, nil
}

// drainTimeout is how long the client waits for the end of the stream after the
// reply is whole. If the end comes in time, the next call reuses the connection.
const drainTimeout = time.Second

// sendAndReadReply sends a body and reads the answer. Nothing that comes, or fails to come,
// after message_stop changes the result.
func (a *Client) sendAndReadReply(ctx context.Context, body []byte, turn int, onDelta func(model.Delta)) (*model.Response, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var answer *http.Response
	options := append(turnHeaderOption(turn), option.WithRequestBody("application/json", addStreamFlag(body)), option.WithResponseInto(&answer))
	stream := a.messages.NewStreaming(ctx, sdk.MessageNewParams{}, options...)
	defer stream.Close()
	if err := responseError(answer, stream.Err()); err != nil {
		return nil, err
	}
	response := newResponseBuilder(onDelta)
	for !response.stopped && stream.Next() {
		if err := response.addEvent(stream.Current()); err != nil {
			return nil, brokenStreamError(err)
		}
	}
	switch err := stream.Err(); {
	case response.stopped:
		defer time.AfterFunc(drainTimeout, cancel).Stop()
		_, _ = io.Copy(io.Discard, answer.Body)
		return response.buildResponse(), nil
	case err != nil:
		return nil, brokenStreamError(err)
	default:
		return nil, model.ErrCutStream
	}
}

// addStreamFlag adds "stream":true to the body, at its beginning. The SDK adds it as
// well, but finds it faster there than at the end of a long conversation.
func addStreamFlag(body []byte) []byte {
	const begins = `{"stream":true,`
	return append([]byte(begins), body[1:]...)
}

// turnHeaderOption returns the header [TurnHeader], or no option if turn is 0.
func turnHeaderOption(turn int) []option.RequestOption {
	if turn == 0 {
		return nil
	}
	return []option.RequestOption{option.WithHeader(endpoint.TurnHeader, strconv.Itoa(turn))}
}
