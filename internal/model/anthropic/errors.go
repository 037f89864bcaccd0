package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"assay/internal/model"
	"assay/internal/model/endpoint"
)

// checkAnswer returns nil if the answer is a stream of events. Else it returns what
// the answer says, or err as the reason for which it did not come (answer is nil)
// or broke off.
func checkAnswer(answer *http.Response, err error) error {
	api, refused := errors.AsType[*sdk.Error](err)
	switch {
	case refused:
		return newRefusal(api)
	case answer != nil && answer.StatusCode >= http.StatusBadRequest: // its body broke off
		return newIncompleteRefusal(answer, err)
	case answer != nil && err != nil:
		return brokenMessage(err)
	case err != nil:
		return endpoint.NoAnswerError(err)
	default:
		return checkStream(answer)
	}
}

// brokenMessage returns the error of an answer that failed with err after its head
// had come: the API's refusal, or a [BrokenAnswer].
func brokenMessage(err error) error {
	if api, refused := errors.AsType[*sdk.Error](err); refused {
		return newRefusal(api)
	}
	return endpoint.BrokenAnswerError(err)
}

// checkStream returns an [ErrNotStream] unless the answer is a stream of events.
func checkStream(answer *http.Response) error {
	mediaType, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")) // "" if malformed
	if mediaType == "text/event-stream" {
		return nil
	}
	begin, err := io.ReadAll(io.LimitReader(answer.Body, endpoint.MaxExcerptBytes))
	if err != nil {
		return brokenMessage(err)
	}
	return endpoint.NotStreamError(answer.StatusCode, mediaType, string(begin))
}

// newRefusal converts an error of the SDK. An error in the middle of a stream gets
// the HTTP status of its type, since the stream itself had status 200.
func newRefusal(api *sdk.Error) *model.APIError {
	out := &model.APIError{Provider: provider, Status: api.StatusCode, Type: string(api.Type())}
	out.Message = errorMessage(api.RawJSON())
	if out.Status < http.StatusBadRequest {
		out.Status = model.ErrorStatus(out.Type)
	}
	if out.Type == "" {
		out.Type = model.ErrorType(out.Status)
	}
	if api.Response != nil {
		out.RetryAfter = endpoint.RetryAfter(api.Response.Header)
	}
	return out
}

// newIncompleteRefusal returns a refusal whose body broke off with err.
func newIncompleteRefusal(answer *http.Response, err error) *model.APIError {
	return &model.APIError{
		Provider: provider, Status: answer.StatusCode, Type: model.ErrorType(answer.StatusCode),
		Message: fmt.Sprintf("its text broke off: %v", err), RetryAfter: endpoint.RetryAfter(answer.Header),
	}
}

// errorMessage returns the message in the body of an API's error, or the beginning
// of the body if it has none.
func errorMessage(body string) string {
	var parsed model.ErrorBody
	if err := json.Unmarshal([]byte(body), &parsed); err == nil && parsed.Error.Message != "" {
		return parsed.Error.Message
	}
	return endpoint.Excerpt(body)
}
