package anthropic

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"assay/internal/model"
	"assay/internal/model/endpoint"
	"assay/internal/model/wire"
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

// newAPIError converts an error of the SDK to a model.APIError. An error in the middle of a
// stream has status 200 there.
func newAPIError(api *sdk.Error) *model.APIError {
	status := api.StatusCode
	if status == http.StatusOK {
		status = 0
	}
	out := wire.DecodeError(wire.Messages, status, []byte(api.RawJSON()))
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
