package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"
)

// providerAnthropic begins the text of this client's errors.
const providerAnthropic = "anthropic"

// Anthropic is a model of the Messages API. Replies are streamed.
type Anthropic struct {
	id       string
	messages anthropic.MessageService
}

// NewAnthropic returns the model with that id. It needs a key, whether the API
// behind the base URL looks at it or not. The environment is not read.
func NewAnthropic(id string, opts Options) (*Anthropic, error) {
	if opts.APIKey == "" {
		return nil, fmt.Errorf("the model anthropic/%s needs an API key: set ANTHROPIC_API_KEY", id)
	}
	settings := []option.RequestOption{
		option.WithEnvironmentProduction(),
		option.WithAPIKey(opts.APIKey),
		option.WithMaxRetries(0), // whoever retries must see that it does
		option.WithHTTPClient(&http.Client{}),
	}
	if opts.BaseURL != "" {
		settings = append(settings, option.WithBaseURL(opts.BaseURL))
	}
	return &Anthropic{id: id, messages: anthropic.NewMessageService(settings...)}, nil
}

// Complete sends one request and reads the stream to its end.
func (a *Anthropic) Complete(ctx context.Context, req Request, onDelta func(Delta)) (*Response, error) {
	body, err := req.body(a.id)
	if err != nil {
		return nil, err
	}
	var params anthropic.MessageNewParams
	param.SetJSON(body, &params)
	stream := a.messages.NewStreaming(ctx, params)
	defer stream.Close()

	reading := newReading(onDelta)
	for stream.Next() {
		if err := reading.event(stream.Current()); err != nil {
			return nil, fmt.Errorf("%s: %w", providerAnthropic, err)
		}
	}
	if err := stream.Err(); err != nil {
		return nil, anthropicError(ctx, err, reading.started)
	}
	if !reading.stopped {
		return nil, anthropicError(ctx, ErrCutStream, true)
	}
	return reading.response(), nil
}

// anthropicError makes one clear line of an error. What broke after something
// of the reply had come is a cut stream.
func anthropicError(ctx context.Context, err error, started bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var api *anthropic.Error
	switch {
	case errors.As(err, &api):
		return refusal(api)
	case errors.Is(err, ErrCutStream):
		return fmt.Errorf("%s: %w", providerAnthropic, err)
	case started || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s: %w: %w", providerAnthropic, ErrCutStream, err)
	case unsent(err):
		return fmt.Errorf("%s: %w: %w", providerAnthropic, ErrUnreachable, err)
	default:
		return fmt.Errorf("%s: %w", providerAnthropic, err)
	}
}

// unsent reports whether a request failed on its way.
func unsent(err error) bool {
	_, ok := errors.AsType[*url.Error](err)
	return ok
}

// refusal reads an error of the API. One that came in the middle of a stream
// has the status that its type stands for.
func refusal(api *anthropic.Error) *APIError {
	out := &APIError{Provider: providerAnthropic, Status: api.StatusCode, Type: string(api.Type())}
	out.Message = errorMessage(api.RawJSON())
	if out.Status < http.StatusBadRequest {
		out.Status = errorStatus(out.Type)
	}
	if out.Type == "" {
		out.Type = errorType(out.Status)
	}
	if api.Response != nil {
		out.RetryAfter = retryAfter(api.Response.Header)
	}
	return out
}

func retryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	if n, err := strconv.ParseFloat(value, 64); err == nil && n >= 0 {
		return seconds(n)
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
