package api

import (
	"net/http"
	"path"
	"strings"
	"time"

	"assay/eval/runs"
	"assay/server/endpoint"
)

// newNamedFileHandler returns a handler for an endpoint that always serves the file of
// this name in an attempt's folder.
func newNamedFileHandler(name string) func(http.ResponseWriter, *http.Request, *runs.Run) error {
	return func(w http.ResponseWriter, r *http.Request, run *runs.Run) error {
		return serveAttemptFile(w, r, run, name)
	}
}

// getAttachment handles GET /api/runs/{run}/attempts/{attempt}/files/{name}: any
// file of an attempt, as a download.
func getAttachment(w http.ResponseWriter, r *http.Request, run *runs.Run) error {
	w.Header().Set("Content-Disposition", "attachment")
	return serveAttemptFile(w, r, run, r.PathValue("name"))
}

// serveAttemptFile serves a file of an attempt, or the ranges of it that the request asks
// for. It sends no Last-Modified: a file that grows may change twice in a second.
func serveAttemptFile(w http.ResponseWriter, r *http.Request, run *runs.Run, name string) error {
	if err := endpoint.ReadParameters(r).Err(); err != nil {
		return err
	}
	file, err := run.OpenFile(r.PathValue("attempt"), name)
	if err != nil {
		return err
	}
	defer file.Close()
	endpoint.SetAPIHeaders(w, contentTypeOfFile(name))
	http.ServeContent(&problemWriter{ResponseWriter: w}, r, "", time.Time{}, file)
	return nil
}

// contentTypeOfFile returns the content type for a file name. It is never a type that
// browsers execute, because an agent may have written the file.
func contentTypeOfFile(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".json", ".ipynb":
		return "application/json"
	case ".jsonl", ".txt", ".log":
		return "text/plain; charset=utf-8"
	default:
		return "application/octet-stream"
	}
}

// problemWriter replaces the plain-text errors of http.ServeContent with an
// [endpoint.Problem], whose text ends with the Content-Range header, if any.
type problemWriter struct {
	http.ResponseWriter
	failed bool // the response is a problem; further writes are dropped
}

// WriteHeader sends the status, or a problem if the status is an error.
func (w *problemWriter) WriteHeader(status int) {
	if status < http.StatusBadRequest {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	w.failed = true
	text := strings.ToLower(http.StatusText(status)) + " " + w.Header().Get("Content-Range")
	endpoint.WriteProblem(w.ResponseWriter, status, strings.TrimSpace(text))
}

// Write sends a part of the file, and drops the text of an error.
func (w *problemWriter) Write(p []byte) (int, error) {
	if w.failed {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}
