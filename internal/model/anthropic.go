package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

// providerAnthropic begins the text of this client's errors.
const providerAnthropic = "anthropic"

// Anthropic is a model of the Messages API. Replies are streamed.
type Anthropic struct {
	id        string
	messages  anthropic.MessageService
	elsewhere bool // it is served at a base URL, where a [Mock] may be
}

// NewAnthropic returns the model with that id. It needs a key, whether the API
// behind the base URL looks at it or not. The environment is not read.
func NewAnthropic(id string, opts Options) (*Anthropic, error) {
	return newAnthropic(id, opts, http.DefaultTransport)
}

func newAnthropic(id string, opts Options, transport http.RoundTripper) (*Anthropic, error) {
	if opts.APIKey == "" {
		return nil, fmt.Errorf("the model anthropic/%s needs an API key: set ANTHROPIC_API_KEY", id)
	}
	if err := checkSendable(opts); err != nil {
		return nil, fmt.Errorf("the model anthropic/%s: %w", id, err)
	}
	settings := []option.RequestOption{
		option.WithEnvironmentProduction(),
		option.WithAPIKey(opts.APIKey),
		option.WithMaxRetries(0), // whoever retries must see that it does
		option.WithHTTPClient(&http.Client{Transport: listen(transport, opts.Idle), CheckRedirect: notFollowed}),
	}
	if opts.BaseURL != "" {
		settings = append(settings, option.WithBaseURL(opts.BaseURL))
	}
	return &Anthropic{id: id, messages: anthropic.NewMessageService(settings...), elsewhere: opts.BaseURL != ""}, nil
}

// checkSendable finds what would make every request fail before it is sent.
func checkSendable(opts Options) error {
	if strings.ContainsFunc(opts.APIKey, unicode.IsControl) {
		return errors.New("its API key has a line break or another control character")
	}
	if opts.BaseURL == "" {
		return nil
	}
	_, err := parseBase(opts.BaseURL)
	return err
}

// parseBase reads a base URL. The error does not quote it: it may hold a password.
func parseBase(text string) (*url.URL, error) {
	base, err := url.Parse(text)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("its base URL must begin with http:// or https:// and name a host")
	}
	return base, nil
}

// Complete sends one request and reads the stream to its end.
func (a *Anthropic) Complete(ctx context.Context, req Request, onDelta func(Delta)) (*Response, error) {
	body, err := req.body(a.id)
	if err != nil {
		return nil, err
	}
	turn := 0
	if a.elsewhere {
		turn = req.Turn
	}
	reply, err := a.exchange(ctx, body, turn, onDelta)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, providerError(providerAnthropic, err)
	}
	return reply, nil
}

// farewell is how long the end of a stream may take once the reply is whole: the
// connection then serves the next call.
const farewell = time.Second

// exchange sends a body and reads the answer. What follows a whole reply, or does
// not, changes nothing.
func (a *Anthropic) exchange(ctx context.Context, body []byte, turn int, onDelta func(Delta)) (*Response, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var answer *http.Response
	options := append(turnOption(turn), option.WithRequestBody("application/json", streamed(body)), option.WithResponseInto(&answer))
	stream := a.messages.NewStreaming(ctx, anthropic.MessageNewParams{}, options...)
	defer stream.Close()
	if err := checkAnswer(answer, stream.Err()); err != nil {
		return nil, err
	}
	reading := newReading(onDelta)
	for !reading.stopped && stream.Next() {
		if err := reading.event(stream.Current()); err != nil {
			return nil, broken(err)
		}
	}
	switch err := stream.Err(); {
	case reading.stopped:
		defer time.AfterFunc(farewell, cancel).Stop()
		_, _ = io.Copy(io.Discard, answer.Body)
		return reading.response(), nil
	case err != nil:
		return nil, broken(err)
	default:
		return nil, ErrCutStream
	}
}

// streamed is a body that asks for a stream. The SDK asks for one too, and finds
// it there at once.
func streamed(body []byte) []byte {
	const begins = `{"stream":true,`
	return append([]byte(begins), body[1:]...)
}

// turnOption is the header that a [Mock] plays by, for a request with a turn.
func turnOption(turn int) []option.RequestOption {
	if turn == 0 {
		return nil
	}
	return []option.RequestOption{option.WithHeader(turnHeader, strconv.Itoa(turn))}
}
