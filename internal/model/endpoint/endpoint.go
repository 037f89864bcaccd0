// Package endpoint has what the clients of HTTP APIs of models share: the
// configuration, an HTTP client that gives up when nothing comes, and the errors of
// calls that fail.
package endpoint

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"assay/internal/model"
)

// Config says where a model API is and how to call it: the key, the base URL and the
// idle timeout.
type Config struct {
	APIKey  string
	BaseURL string // "" is the vendor's own

	// IdleTimeout is how long a call may stay without traffic before it ends with an
	// [IdleError]. 0 is [DefaultIdleTimeout]; below 0 means no limit.
	IdleTimeout time.Duration

	Transport http.RoundTripper // nil is http.DefaultTransport
}

// TurnHeader is the HTTP header that carries [model.Request.Turn] to a scripted server. It is
// sent only to a configured base URL, never to a vendor's default one.
const TurnHeader = "X-Assay-Turn"

const (
	// MaxLineBytes is the longest line of a streamed answer that is read, in bytes.
	MaxLineBytes = 16 << 20

	// MaxExcerptBytes is how many bytes of an answer an error quotes at most.
	MaxExcerptBytes = 4 << 10

	// MaxAnswerBytes is how much of an answer is read at most, in bytes.
	MaxAnswerBytes = 64 << 20
)

// ErrAnswerTooLong is the error for a response, or a line of it, that is longer than
// any reply of a model. Calling again does not help.
var ErrAnswerTooLong = fmt.Errorf("the answer is longer than %d bytes, or a line of it than %d", MaxAnswerBytes, MaxLineBytes)

// ErrNotEventStream is the error for a response that is not an event stream, so the
// server at this URL is not the API. Calling again does not help.
var ErrNotEventStream = errors.New("the answer is no stream of events")

// NewNotEventStreamError returns an [ErrNotEventStream] that names the response's HTTP
// status and media type ("" if it has none) and quotes its beginning.
func NewNotEventStreamError(status int, mediaType, begin string) error {
	return fmt.Errorf("%w but %d %s: %s", ErrNotEventStream, status, cmp.Or(mediaType, "of no type"), TextExcerpt(CollapseSpace(begin)))
}

// ParseBaseURL parses an http or https URL. It returns an error for another scheme or a
// missing host; the error does not quote the text, which may hold a password.
func ParseBaseURL(text string) (*url.URL, error) {
	base, err := url.Parse(text)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("its base URL must begin with http:// or https:// and name a host")
	}
	return base, nil
}

// FormatProviderError returns err as one line that begins with the provider's name. It
// shortens long texts of an [model.APIError].
func FormatProviderError(provider string, err error) error {
	if refused, ok := errors.AsType[*model.APIError](err); ok {
		refused.Type, refused.Message = shortenToExcerpt(refused.Type), shortenToExcerpt(refused.Message)
		return refused
	}
	if idle, ok := errors.AsType[*IdleError](err); ok {
		err = idle // without the URL of the request, which err has in front of it
	}
	return fmt.Errorf("%s: %w", provider, err)
}

// shortenToExcerpt cuts a text after MaxExcerptBytes (4 KiB) and then appends an
// ellipsis.
func shortenToExcerpt(text string) string {
	if len(text) <= MaxExcerptBytes {
		return text
	}
	return strings.ToValidUTF8(text[:MaxExcerptBytes], "") + "…"
}

// WrapUnreachable converts err, with which a call failed before the headers of a
// response came. It returns err unchanged if it is a [model.ErrCutStream] or not an error of
// the HTTP transport, and otherwise err wrapped in [model.ErrUnreachable].
func WrapUnreachable(err error) error {
	if _, failed := errors.AsType[*url.Error](err); errors.Is(err, model.ErrCutStream) || !failed {
		return err
	}
	return fmt.Errorf("%w: %w", model.ErrUnreachable, err)
}

// WrapCutStream converts err, with which a call failed after the headers of the
// response had come. It returns err unchanged if it says why the response is no reply
// (an APIError, ErrCutStream, ErrAnswerTooLong or ErrNotEventStream), and otherwise err
// wrapped in [model.ErrCutStream].
func WrapCutStream(err error) error {
	if _, refused := errors.AsType[*model.APIError](err); refused {
		return err
	}
	for _, known := range []error{model.ErrCutStream, ErrAnswerTooLong, ErrNotEventStream} {
		if errors.Is(err, known) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", model.ErrCutStream, err)
}

// maxRetryAfter is the longest delay that [ParseRetryAfter] returns: 24 h.
const maxRetryAfter = 24 * time.Hour

// ParseRetryAfter returns how long an API asks to wait before the next call, at most a
// day: from the header Retry-After-Ms in milliseconds, or from Retry-After in seconds
// or as a date. It returns 0 if the headers are absent or cannot be parsed.
func ParseRetryAfter(header http.Header) time.Duration {
	if wait, ok := parseRetryDelay(header.Get("Retry-After-Ms"), time.Millisecond); ok {
		return wait
	}
	value := header.Get("Retry-After")
	if wait, ok := parseRetryDelay(value, time.Second); ok {
		return wait
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(0, time.Until(at)), maxRetryAfter)
	}
	return 0
}

func parseRetryDelay(text string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(n >= 0) {
		return 0, false
	}
	return time.Duration(min(n*float64(unit), float64(maxRetryAfter))), true
}

// ClampTokenCount limits a token count to the range from 0 to 2^40. Servers report the
// counts; limited, their sums neither overflow nor decrease.
func ClampTokenCount(n int64) int64 {
	const most = 1 << 40
	return min(max(0, n), most)
}

// TextExcerpt returns the first 400 characters of a text, followed by an ellipsis if it
// is longer. It is for quoting in errors.
func TextExcerpt(text string) string {
	const most = 400
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most]) + "…"
}

// CollapseSpace returns a text in one line: each run of white space becomes one space.
func CollapseSpace(text string) string { return strings.Join(strings.Fields(text), " ") }
