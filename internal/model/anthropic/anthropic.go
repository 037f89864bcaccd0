// Package anthropic is the client of Anthropic's Messages API.
package anthropic

import (
	"cmp"
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
	"assay/internal/model/wire"
)

// providerName is the name that begins the text of every error of the Anthropic client.
const providerName = "anthropic"

// Client calls a model through Anthropic's Messages API. Replies are streamed.
type Client struct {
	id       string
	messages sdk.MessageService
	ownURL   bool // a base URL was given: a scripted server may be there
}

// New returns a client for the Anthropic model with this id. It requires an API key,
// even if the server at the base URL ignores it, and reads no environment variables. It
// returns an error for a missing key, a key that no header can carry, or a malformed
// base URL. It does not use the network.
func New(id string, cfg endpoint.Config) (*Client, error) {
	return newClient(id, cfg, cmp.Or(cfg.Transport, http.DefaultTransport))
}

func newClient(id string, cfg endpoint.Config, transport http.RoundTripper) (*Client, error) {
	if cfg.APIKey == "" {
		return nil, fmt.Errorf("the model anthropic/%s needs an API key: set ANTHROPIC_API_KEY", id)
	}
	if err := checkConfig(cfg); err != nil {
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

// checkConfig returns an error for a configuration with which every request would
// fail before it is sent: a control character in the API key, or a malformed base URL.
func checkConfig(cfg endpoint.Config) error {
	if strings.ContainsFunc(cfg.APIKey, unicode.IsControl) {
		return errors.New("its API key has a line break or another control character")
	}
	if cfg.BaseURL == "" {
		return nil
	}
	_, err := endpoint.ParseBaseURL(cfg.BaseURL)
	return err
}

// Complete sends one request to the Messages API and reads the streamed reply to its
// end. It returns the cause of ctx if ctx ends, and otherwise errors that begin with
// "anthropic".
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
		return reply, context.Cause(ctx)
	case err != nil:
		return reply, endpoint.FormatProviderError(providerName, err)
	}
	return reply, nil
}

// drainTimeout is how long the client waits for the end of the HTTP response after the
// reply is complete. If the end comes in time, the next call reuses the connection.
const drainTimeout = time.Second

// sendAndReadReply sends the body of one request and reads the streamed reply up to
// message_stop. What the server sends after that, or a connection that then breaks,
// does not change the result. A stream that ends earlier is an error that wraps
// ErrCutStream, with what had come.
func (a *Client) sendAndReadReply(ctx context.Context, body []byte, turn int, onDelta func(model.Delta)) (*model.Response, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var answer *http.Response
	options := append(turnHeaderOption(turn), option.WithRequestBody("application/json", addStreamFlag(body)), option.WithResponseInto(&answer))
	stream := a.messages.NewStreaming(ctx, sdk.MessageNewParams{}, options...)
	defer stream.Close()
	if err := errorOfResponse(answer, stream.Err()); err != nil {
		return nil, err
	}
	reply := wire.NewMessagesReply(onDelta)
	for !reply.IsComplete() && stream.Next() {
		if err := reply.AddEvent([]byte(stream.Current().RawJSON())); err != nil {
			return reply.Response().IfAny(), convertStreamError(err)
		}
	}
	switch err := stream.Err(); {
	case reply.IsComplete():
		defer time.AfterFunc(drainTimeout, cancel).Stop()
		_, _ = io.Copy(io.Discard, answer.Body)
		return reply.Response(), nil
	case err != nil:
		return reply.Response().IfAny(), convertStreamError(err)
	default:
		return reply.Response().IfAny(), model.ErrCutStream
	}
}

// addStreamFlag inserts "stream":true at the beginning of a JSON request body. The SDK
// adds the member as well, but finds it faster there than at the end of a long
// conversation.
func addStreamFlag(body []byte) []byte {
	const begins = `{"stream":true,`
	return append([]byte(begins), body[1:]...)
}

// turnHeaderOption returns the option that sets the header [endpoint.TurnHeader] to turn, or no
// option if turn is 0.
func turnHeaderOption(turn int) []option.RequestOption {
	if turn == 0 {
		return nil
	}
	return []option.RequestOption{option.WithHeader(endpoint.TurnHeader, strconv.Itoa(turn))}
}
