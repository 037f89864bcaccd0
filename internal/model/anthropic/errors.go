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

// responseError returns nil if the answer is a stream of events. Else it returns what
// the answer says, or err as the reason for which it did not come (answer is nil)
// or broke off.
func responseError(answer *http.Response, err error) error {
	api, refused := errors.AsType[*sdk.Error](err)
	switch {
	case refused:
		return newAPIError(api)
	case answer != nil && answer.StatusCode >= http.StatusBadRequest: // its body broke off
		return newTruncatedAPIError(answer, err)
	case answer != nil && err != nil:
		return brokenStreamError(err)
	case err != nil:
		return endpoint.WrapUnreachable(err)
	default:
		return checkIsEventStream(answer)
	}
}

// brokenStreamError returns the error of an answer that failed with err after its head
// had come: the API's refusal, or a [BrokenAnswer].
func brokenStreamError(err error) error {
	if api, refused := errors.AsType[*sdk.Error](err); refused {
		return newAPIError(api)
	}
	return endpoint.WrapCutStream(err)
}

// checkIsEventStream returns an [ErrNotStream] unless the answer is a stream of events.
func checkIsEventStream(answer *http.Response) error {
	mediaType, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")) // "" if malformed
	if mediaType == "text/event-stream" {
		return nil
	}
	begin, err := io.ReadAll(io.LimitReader(answer.Body, endpoint.MaxExcerptBytes))
	if err != nil {
		return brokenStreamError(err)
	}
	return endpoint.NewNotEventStreamError(answer.StatusCode, mediaType, string(begin))
}

// newAPIError converts an error of the SDK. An error in the middle of a stream gets
// the HTTP status of its type, since the stream itself had status 200.
func newAPIError(api *sdk.Error) *model.APIError {
	out := &model.APIError{Provider: providerName, Status: api.StatusCode, Type: string(api.Type())}
	out.Message = parseErrorMessage(api.RawJSON())
	if out.Status < http.StatusBadRequest {
		out.Status = model.StatusOfErrorType(out.Type)
	}
	if out.Type == "" {
		out.Type = model.ErrorTypeOfStatus(out.Status)
	}
	if api.Response != nil {
		out.RetryAfter = endpoint.ParseRetryAfter(api.Response.Header)
	}
	return out
}

// newTruncatedAPIError returns a refusal whose body broke off with err.
func newTruncatedAPIError(answer *http.Response, err error) *model.APIError {
	return &model.APIError{
		Provider: providerName, Status: answer.StatusCode, Type: model.ErrorTypeOfStatus(answer.StatusCode),
		Message: fmt.Sprintf("its text broke off: %v", err), RetryAfter: endpoint.ParseRetryAfter(answer.Header),
	}
}

// parseErrorMessage returns the message in the body of an API's error, or the beginning
// of the body if it has none.
func parseErrorMessage(body string) string {
	var parsed model.ErrorBody
	if err := json.Unmarshal([]byte(body), &parsed); err == nil && parsed.Error.Message != "" {
		return parsed.Error.Message
	}
	return endpoint.TextExcerpt(body)
}
