// Package endpoint holds the conventions that all HTTP endpoints of the server
// share: one method per path, checked query parameters, JSON responses, and
// errors reported as a [Problem].
package endpoint

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"syscall"

	"assay/eval/runs"
	"assay/internal/protocol"
)

// HandlerFunc handles one request. It returns an error only if it has not yet
// written any part of the response.
type HandlerFunc func(w http.ResponseWriter, r *http.Request) error

// Register routes requests for path, a ServeMux pattern without a method, to
// handler. It accepts one method only (GET includes HEAD); any other method is
// answered with status 405 and an Allow header.
func Register(mux *http.ServeMux, method, path string, handler http.HandlerFunc) {
	mux.HandleFunc(method+" "+path, handler)
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", method)
		WriteProblem(w, http.StatusMethodNotAllowed, fmt.Sprintf("%s does not accept %s, only %s", r.URL.Path, r.Method, method))
	})
}

// RegisterNotFound answers every path at or below /api for which mux has no more
// specific pattern with status 404 and the code "no_such_endpoint".
func RegisterNotFound(mux *http.ServeMux) {
	notFound := func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, http.StatusNotFound, Problem{"no_such_endpoint", "there is no " + r.URL.Path})
	}
	mux.HandleFunc("/api", notFound)
	mux.HandleFunc("/api/", notFound)
}

// Handler adapts handler to net/http. It answers an error that handler returns
// with a [Problem]:
//
//   - an error of [StatusErrorf] with the status given there
//   - an error that wraps [runs.ErrNotFound], or is ENAMETOOLONG, with 404
//   - any other error with 500, and logs it as a warning, unless the client has disconnected
func Handler(log *slog.Logger, handler HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := handler(w, r)
		var withStatus *statusError
		switch {
		case err == nil:
		case errors.As(err, &withStatus):
			WriteProblem(w, withStatus.status, err.Error())
		case errors.Is(err, runs.ErrNotFound), errors.Is(err, syscall.ENAMETOOLONG):
			WriteProblem(w, http.StatusNotFound, err.Error())
		case r.Context().Err() != nil: // the client has disconnected
		default:
			log.Warn("request failed", "path", r.URL.Path, "error", err)
			WriteProblem(w, http.StatusInternalServerError, err.Error())
		}
	}
}

// statusError is an error that is answered with a certain HTTP status.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return e.text }

// StatusErrorf returns an error that [Handler] answers with this HTTP status. It
// formats like fmt.Sprintf: %w is not supported.
func StatusErrorf(status int, format string, args ...any) error {
	return &statusError{status, fmt.Sprintf(format, args...)}
}

// Problem is the JSON body of every error response.
type Problem struct {
	// Code is for programs: "bad_parameter" (400), "too_long" (422),
	// "unreadable" (500), "gone" (502), "not_ready" (503), "no_such_endpoint" (404
	// for a path that does not exist), and otherwise the status text in lower
	// case with underscores, such as "not_found".
	Code string `json:"code"`
	Text string `json:"text"` // for people; never empty
}

// WriteProblem writes a [Problem] with the code that belongs to status, and
// removes Content-Disposition: browsers must not save an error as a file.
func WriteProblem(w http.ResponseWriter, status int, text string) {
	writeProblem(w, status, Problem{problemCode(status), text})
}

func writeProblem(w http.ResponseWriter, status int, problem Problem) {
	w.Header().Del("Content-Disposition")
	WriteJSON(w, status, problem)
}

// problemCode returns the Problem.Code of an HTTP status.
func problemCode(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "bad_parameter"
	case http.StatusUnprocessableEntity:
		return "too_long"
	case http.StatusInternalServerError:
		return "unreadable"
	case http.StatusBadGateway:
		return "gone"
	case http.StatusServiceUnavailable:
		return "not_ready"
	default:
		return strings.ReplaceAll(strings.ToLower(http.StatusText(status)), " ", "_")
	}
}

// WriteJSON writes value as the JSON response. A value that cannot be marshalled
// is answered with status 500 instead. Write errors are ignored: they mean that
// the client has disconnected.
func WriteJSON(w http.ResponseWriter, status int, value any) {
	body, err := protocol.Marshal(value)
	if err != nil {
		WriteProblem(w, http.StatusInternalServerError, err.Error())
		return
	}
	SetAPIHeaders(w, "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}

// SetAPIHeaders sets the headers that every API response has: the content type,
// nosniff and no-store.
func SetAPIHeaders(w http.ResponseWriter, contentType string) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
}
