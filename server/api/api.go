// Package api serves stored runs, attempts, files, cases and traces as read-only
// HTTP endpoints below /api. The types with JSON tags are its responses;
// docs/api.md describes them for users.
//
// The endpoints of a trace are the same for an attempt and for a live session.
// Package server adds those of sessions with [Handlers.RegisterTrace].
package api

import (
	"bytes"
	"log/slog"
	"net/http"

	"assay/eval/runs"
	"assay/internal/trace"
	"assay/server/endpoint"
)

// Handlers are the HTTP handlers of the API. They are safe for concurrent use.
type Handlers struct {
	runs   *runs.Store // nil if no runs are served
	traces traceCache
	log    *slog.Logger
}

// New returns handlers for the runs in store (nil if no runs are served). log gets
// a warning for each request that fails because a file cannot be read; nil
// discards.
func New(store *runs.Store, log *slog.Logger) *Handlers {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Handlers{runs: store, log: log}
}

// RegisterRuns adds the endpoints at and below /api/runs to mux, or none if there
// is no store of runs.
func (h *Handlers) RegisterRuns(mux *http.ServeMux) {
	if h.runs == nil {
		return
	}
	const attempts = "/api/runs/{run}/attempts"
	h.registerGet(mux, "/api/runs", h.listRuns)
	h.registerGet(mux, "/api/runs/{run}", h.withRun(getRun))
	h.registerGet(mux, attempts, h.withRun(listAttempts))
	h.registerGet(mux, attempts+"/{attempt}", h.withRun(getAttempt))
	h.RegisterTrace(mux, attempts+"/{attempt}", h.openAttemptTrace)
	for path, name := range map[string]string{
		"state": "state.json", "notebook": "notebook.ipynb", "conversation": "conversation.jsonl", "stderr": "stderr.txt",
	} {
		h.registerGet(mux, attempts+"/{attempt}/"+path, h.withRun(newNamedFileHandler(name)))
	}
	h.registerGet(mux, attempts+"/{attempt}/files/{name}", h.withRun(getAttachment))
}

func (h *Handlers) registerGet(mux *http.ServeMux, path string, handler endpoint.HandlerFunc) {
	endpoint.Register(mux, http.MethodGet, path, endpoint.Handler(h.log, handler))
}

// TraceFile is an open trace file. Line 0 is its header; the number of any other
// line is the seq of its entry. Close it after use.
type TraceFile struct {
	*runs.LineFile
	IsComplete bool // the trace has ended: nothing will be appended
}

// TraceOpener opens the trace that the path of a request names. The error wraps
// [runs.ErrNotFound] if there is none.
type TraceOpener func(r *http.Request) (TraceFile, error)

// RegisterTrace adds the endpoints /trace, /flow, /stats, /request and /at below base, a ServeMux
// path without a method, to mux. Each request opens its trace with open.
func (h *Handlers) RegisterTrace(mux *http.ServeMux, base string, open TraceOpener) {
	for name, serve := range map[string]func(http.ResponseWriter, *http.Request, TraceFile) error{
		"trace": serveTraceEntries, "flow": h.serveFlow, "stats": h.serveStatistics, "request": serveModelRequest, "at": h.serveNotebookAt,
	} {
		h.registerGet(mux, base+"/"+name, func(w http.ResponseWriter, r *http.Request) error {
			file, err := open(r)
			if err != nil {
				return err
			}
			defer file.Close()
			return serve(w, r, file)
		})
	}
}

// openAttemptTrace is the TraceOpener for the attempt that the path names.
func (h *Handlers) openAttemptTrace(r *http.Request) (file TraceFile, err error) {
	run, err := h.runs.Open(r.PathValue("run"))
	if err != nil {
		return file, err
	}
	defer run.Close()
	attempt := r.PathValue("attempt")
	// Ended must be asked before the file is opened: then a complete file is whole.
	if file.IsComplete, err = run.HasAttemptEnded(r.Context(), attempt); err != nil {
		return file, err
	}
	file.LineFile, err = run.OpenTrace(attempt)
	return file, err
}

// header parses the header of the trace. It returns nil if the file has no line
// yet because the trace is only beginning, and an error if the file is no trace.
func (f TraceFile) header(r *http.Request) (*trace.Header, error) {
	for line, err := range f.LinesFrom(r.Context(), 0) {
		if err != nil {
			return nil, err
		}
		header, err := trace.ParseHeader(bytes.Clone(line.Text))
		return &header, err
	}
	return nil, nil //nolint:nilnil // a trace without a header yet is no error
}
