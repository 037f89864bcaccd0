package server

import (
	"net/http"
	"path"
	"strings"
	"time"

	"assay/eval/runs"
)

// shown serves a file of an attempt that has an endpoint of its own.
func (a *runsAPI) shown(name string) func(http.ResponseWriter, *http.Request, *runs.Run) error {
	return func(w http.ResponseWriter, r *http.Request, run *runs.Run) error {
		return serveFile(w, r, run, name)
	}
}

// attached is GET /api/runs/{run}/attempts/{attempt}/files/{name}: any file of
// an attempt, to be saved.
func (a *runsAPI) attached(w http.ResponseWriter, r *http.Request, run *runs.Run) error {
	w.Header().Set("Content-Disposition", "attachment")
	return serveFile(w, r, run, r.PathValue("name"))
}

// serveFile answers with a file, or the ranges of it that are asked for. It
// gives no date: a file that grows may change twice in a second.
func serveFile(w http.ResponseWriter, r *http.Request, run *runs.Run, name string) error {
	if q := readParameters(r); q.err != nil {
		return q.err
	}
	file, err := run.OpenFile(r.PathValue("attempt"), name)
	if err != nil {
		return err
	}
	defer file.Close()
	http.ServeContent(&problemWriter{ResponseWriter: apiHeader(w, contentType(name))}, r, "", time.Time{}, file)
	return nil
}

// contentType is what a file of an attempt is said to be: nothing that a browser
// would run, whatever is in it.
func contentType(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".json", ".ipynb":
		return "application/json"
	case ".jsonl", ".txt", ".log":
		return "text/plain; charset=utf-8"
	default:
		return "application/octet-stream"
	}
}

// problemWriter makes problems of the errors of http.ServeContent.
type problemWriter struct {
	http.ResponseWriter
	refused bool
}

// WriteHeader passes on what is no error.
func (w *problemWriter) WriteHeader(status int) {
	if status < http.StatusBadRequest {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	w.refused = true
	text := strings.ToLower(http.StatusText(status))
	code := strings.ReplaceAll(text, " ", "_")
	problem(w.ResponseWriter, status, code, strings.TrimSpace(text+" "+w.Header().Get("Content-Range")))
}

// Write passes on what is no text of an error.
func (w *problemWriter) Write(p []byte) (int, error) {
	if w.refused {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}
