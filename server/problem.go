package server

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"syscall"

	"assay/eval/runs"
	"assay/internal/protocol"
)

// The codes of problems; docs/api.md lists them, and those of files, which are
// the words of the status.
const (
	codeBadParameter   = "bad_parameter"      // 400
	codeUnauthorized   = "unauthorized"       // 401
	codeForbidden      = "forbidden"          // 403
	codeConflict       = "conflict"           // 409
	codeNotReady       = "not_ready"          // 503
	codeNotFound       = "not_found"          // 404
	codeNoSuchEndpoint = "no_such_endpoint"   // 404
	codeMethod         = "method_not_allowed" // 405
	codeTooLong        = "too_long"           // 422
	codeUnreadable     = "unreadable"         // 500
	codeGone           = "gone"               // 502
)

// problem answers that something is wrong, the same way everywhere: code is for
// programs, text for people. It is nothing to be saved as a file.
func problem(w http.ResponseWriter, status int, code, text string) {
	w.Header().Del("Content-Disposition")
	answerJSON(w, status, struct {
		Code string `json:"code"`
		Text string `json:"text"`
	}{code, text})
}

// answerJSON answers with a value. What fails after it has been written as JSON
// is the connection, of which nobody can be told.
func answerJSON(w http.ResponseWriter, status int, value any) {
	body, err := protocol.Marshal(value)
	if err != nil {
		problem(w, http.StatusInternalServerError, codeUnreadable, err.Error())
		return
	}
	apiHeader(w, "application/json").WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) //nolint:gosec // it is JSON, and nosniff keeps it that
}

// apiHeader sets what every answer of the API has beside its status, and returns w.
func apiHeader(w http.ResponseWriter, contentType string) http.ResponseWriter {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	return w
}

// endpoint routes a path, a pattern without method, by method; GET answers HEAD
// too. Any other method is a problem.
func endpoint(mux *http.ServeMux, path string, methods map[string]http.HandlerFunc) {
	for method, handler := range methods {
		mux.HandleFunc(method+" "+path, handler)
	}
	allowed := strings.Join(slices.Sorted(maps.Keys(methods)), ", ")
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allowed)
		problem(w, http.StatusMethodNotAllowed, codeMethod, fmt.Sprintf("%s is not for %s, but for %s", r.URL.Path, r.Method, allowed))
	})
}

// handlerFunc answers a request, or has answered nothing and returns why.
type handlerFunc func(w http.ResponseWriter, r *http.Request) error

// answering makes errors problems; what cannot be read is logged too.
func answering(log *slog.Logger, handler handlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := handler(w, r)
		var bad *parameterError
		switch {
		case err == nil || r.Context().Err() != nil: // nobody is there any more
		case errors.As(err, &bad):
			problem(w, http.StatusBadRequest, codeBadParameter, err.Error())
		case errors.Is(err, runs.ErrNotFound), errors.Is(err, syscall.ENAMETOOLONG):
			problem(w, http.StatusNotFound, codeNotFound, err.Error())
		case errors.Is(err, errTooLong):
			problem(w, http.StatusUnprocessableEntity, codeTooLong, err.Error())
		default:
			log.Warn("what was asked for cannot be read", "path", r.URL.Path, "error", err)
			problem(w, http.StatusInternalServerError, codeUnreadable, err.Error())
		}
	}
}

// unknownEndpoints makes what no other pattern below /api is for a problem.
func unknownEndpoints(mux *http.ServeMux) {
	unknown := func(w http.ResponseWriter, r *http.Request) {
		problem(w, http.StatusNotFound, codeNoSuchEndpoint, fmt.Sprintf("there is no %s", r.URL.Path))
	}
	mux.HandleFunc("/api", unknown)
	mux.HandleFunc("/api/", unknown)
}
