package wire

import "net/http"

// WriteError sends an error response in the format of the API. errorType "" is the type
// that the status implies. Other headers are the caller's.
func WriteError(w http.ResponseWriter, api API, status int, errorType, message string) {}

// ErrorBody returns the body of an error response of the API. errorType "" is the type
// that the status implies.
func ErrorBody(api API, status int, errorType, message string) []byte { return nil }

// WriteModelList sends the list of the models with these ids, as /v1/models of the provider
// does: anthropic or openai.
func WriteModelList(w http.ResponseWriter, provider string, ids []string) {}
