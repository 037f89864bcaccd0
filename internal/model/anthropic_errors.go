package model

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
)

// providerError makes one clear line of an error of a provider's client.
func providerError(provider string, err error) error {
	if refused, ok := errors.AsType[*APIError](err); ok {
		refused.Type, refused.Message = brief(refused.Type), brief(refused.Message)
		return refused
	}
	if silence, ok := errors.AsType[*silenceError](err); ok {
		err = silence // without the request that it ended
	}
	return fmt.Errorf("%s: %w", provider, err)
}

// brief is the beginning of an API's words, which may be of any length.
func brief(text string) string {
	if len(text) <= maxExcerpt {
		return text
	}
	return strings.ToValidUTF8(text[:maxExcerpt], "") + "…"
}

// checkAnswer looks at the head of an answer, and at what kept it from coming.
// Without an error there is a stream of events to read.
func checkAnswer(answer *http.Response, err error) error {
	api, refused := errors.AsType[*anthropic.Error](err)
	switch {
	case refused:
		return refusal(api)
	case answer != nil && answer.StatusCode >= http.StatusBadRequest: // whose body broke off
		return statusRefusal(answer, err)
	case answer != nil && err != nil:
		return broken(err)
	case err != nil:
		return unanswered(err)
	default:
		return checkStream(answer)
	}
}

// unanswered is the error of a call to which nothing came back.
func unanswered(err error) error {
	if errors.Is(err, ErrCutStream) || !unsent(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

// unsent reports whether a request failed on its way.
func unsent(err error) bool {
	_, ok := errors.AsType[*url.Error](err)
	return ok
}

// broken is the error of an answer that failed after its head had come. Whatever
// failed, there was no whole reply.
func broken(err error) error {
	api, refused := errors.AsType[*anthropic.Error](err)
	switch {
	case refused:
		return refusal(api)
	case errors.Is(err, ErrCutStream), errors.Is(err, errTooLong):
		return err
	default:
		return fmt.Errorf("%w: %w", ErrCutStream, err)
	}
}

// errNotStream says that an answer is no reply: whatever is at that URL, it is
// not the Messages API, and asking again does not change that.
var errNotStream = errors.New("the answer is no stream of events")

// checkStream looks whether an answer can be a reply.
func checkStream(answer *http.Response) error {
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")) // "" when it cannot be read
	if kind == "text/event-stream" {
		return nil
	}
	begin, err := io.ReadAll(io.LimitReader(answer.Body, maxExcerpt))
	if err != nil {
		return broken(err)
	}
	return notStream(answer.StatusCode, kind, string(begin))
}

func notStream(status int, kind, begin string) error {
	return fmt.Errorf("%w but %d %s: %s", errNotStream, status, cmp.Or(kind, "of no type"), excerpt(oneLine(begin)))
}

// refusal reads an error of the API. One that came in the middle of a stream
// has the status that its type stands for.
func refusal(api *anthropic.Error) *APIError {
	out := &APIError{Provider: providerAnthropic, Status: api.StatusCode, Type: string(api.Type())}
	out.Message = errorMessage(api.RawJSON())
	if out.Status < http.StatusBadRequest {
		out.Status = streamedStatus(out.Type)
	}
	if out.Type == "" {
		out.Type = errorType(out.Status)
	}
	if api.Response != nil {
		out.RetryAfter = retryAfter(api.Response.Header)
	}
	return out
}

// statusRefusal is a refusal of which only the head came whole.
func statusRefusal(answer *http.Response, err error) *APIError {
	return &APIError{
		Provider: providerAnthropic, Status: answer.StatusCode, Type: errorType(answer.StatusCode),
		Message: fmt.Sprintf("its text broke off: %v", err), RetryAfter: retryAfter(answer.Header),
	}
}

// maxRetryAfter is the longest wait that an API may ask for.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads how long an API asks to wait: milliseconds, seconds, or a
// date. What cannot be read is 0.
func retryAfter(header http.Header) time.Duration {
	if wait, ok := parseWait(header.Get("Retry-After-Ms"), time.Millisecond); ok {
		return wait
	}
	value := header.Get("Retry-After")
	if wait, ok := parseWait(value, time.Second); ok {
		return wait
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(0, time.Until(at)), maxRetryAfter)
	}
	return 0
}

func parseWait(text string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(n >= 0) {
		return 0, false
	}
	return time.Duration(min(n*float64(unit), float64(maxRetryAfter))), true
}
