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

// errorOfResponse returns the error of a response, or nil if it is an event stream.
// answer is nil, and err says why, if no response came; err is also set if the response
// broke off. An HTTP error status becomes an APIError; a response of another media type
// becomes ErrNotEventStream.
func errorOfResponse(answer *http.Response, err error) error {
	api, refused := errors.AsType[*sdk.Error](err)
	switch {
	case refused:
		return newAPIError(api)
	case answer != nil && answer.StatusCode >= http.StatusBadRequest: // its body broke off
		return newTruncatedAPIError(answer, err)
	case answer != nil && err != nil:
		return convertStreamError(err)
	case err != nil:
		return endpoint.WrapUnreachable(err)
	default:
		return checkIsEventStream(answer)
	}
}

// convertStreamError converts err, with which a response failed after its headers had
// arrived: to an APIError if the API reported an error, otherwise as
// [endpoint.WrapCutStream] does.
func convertStreamError(err error) error {
	if api, refused := errors.AsType[*sdk.Error](err); refused {
		return newAPIError(api)
	}
	return endpoint.WrapCutStream(err)
}

// checkIsEventStream returns nil if the response's media type is text/event-stream, and
// otherwise an [endpoint.ErrNotEventStream] that quotes the beginning of the body.
func checkIsEventStream(answer *http.Response) error {
	mediaType, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")) // "" if malformed
	if mediaType == "text/event-stream" {
		return nil
	}
	begin, err := io.ReadAll(io.LimitReader(answer.Body, endpoint.MaxExcerptBytes))
	if err != nil {
		return convertStreamError(err)
	}
	return endpoint.NewNotEventStreamError(answer.StatusCode, mediaType, string(begin))
}

// newAPIError converts an error of the SDK to a model.APIError. An error in the middle
// of a stream gets the HTTP status that belongs to its type, since the stream itself
// had status 200.
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

// newTruncatedAPIError returns the APIError of an HTTP error response whose body broke
// off with err.
func newTruncatedAPIError(answer *http.Response, err error) *model.APIError {
	return &model.APIError{
		Provider: providerName, Status: answer.StatusCode, Type: model.ErrorTypeOfStatus(answer.StatusCode),
		Message: fmt.Sprintf("its text broke off: %v", err), RetryAfter: endpoint.ParseRetryAfter(answer.Header),
	}
}

// parseErrorMessage returns the message in the JSON body of an API error, or the first
// 400 characters of the body if it has none.
func parseErrorMessage(body string) string {
	var parsed model.ErrorBody
	if err := json.Unmarshal([]byte(body), &parsed); err == nil && parsed.Error.Message != "" {
		return parsed.Error.Message
	}
	return endpoint.TextExcerpt(body)
}
