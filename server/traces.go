package server

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"

	"assay/eval/runs"
	"assay/internal/trace"
)

// tracesAPI answers what is asked about a trace, of a session or of an attempt
// alike. It is safe for concurrent use.
type tracesAPI struct {
	log       *slog.Logger
	histories histories
}

// newTracesAPI returns it. log gets a warning for each file that cannot be read;
// nil discards.
func newTracesAPI(log *slog.Logger) *tracesAPI {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &tracesAPI{log: log}
}

// traceFile is a trace that somebody asks about. Line 0 is the header, and the
// number of any other its seq. Whoever opened it must Close it.
type traceFile struct {
	*runs.LineFile
	complete bool // nothing will be added to it
}

// traceOpener opens the trace that a request's path names. Where there is none
// the error wraps runs.ErrNotFound.
type traceOpener func(r *http.Request) (traceFile, error)

// register routes what there is below a session or an attempt.
func (a *tracesAPI) register(mux *http.ServeMux, base string, open traceOpener) {
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request, traceFile) error{
		"trace": a.trace, "flow": a.flow, "at": a.at,
	} {
		get := func(w http.ResponseWriter, r *http.Request) error {
			file, err := open(r)
			if err != nil {
				return err
			}
			defer file.Close()
			return answer(w, r, file)
		}
		endpoint(mux, base+"/"+name, map[string]http.HandlerFunc{http.MethodGet: answering(a.log, get)})
	}
}

// openTrace opens the trace of the attempt that a request's path names.
func (a *runsAPI) openTrace(r *http.Request) (file traceFile, err error) {
	run, err := a.store.Open(r.PathValue("run"))
	if err != nil {
		return file, err
	}
	defer run.Close()
	attempt := r.PathValue("attempt")
	if file.complete, err = run.HasAttemptEnded(r.Context(), attempt); err != nil { // asked first: the file is whole then
		return file, err
	}
	file.LineFile, err = run.OpenTrace(attempt)
	return file, err
}

// openTrace opens the trace of the session that a request's path names.
func (s *Server) openTrace(r *http.Request) (file traceFile, err error) {
	id := r.PathValue("id")
	recording, path := s.traceOf(id)
	if path == "" {
		return file, fmt.Errorf("a trace of the session %s: %w", strconv.Quote(id), runs.ErrNotFound)
	}
	file.complete = recording == nil || recording.Ended()
	file.LineFile, err = s.files.Open(path)
	return file, err
}

// traceOf is the trace of a session: of the one behind an id, else the newest of
// those that are left of it, which nobody makes any more: nil. Without a path
// there is none.
func (s *Server) traceOf(id string) (recording *trace.Recording, path string) {
	if sl := s.known(id); sl != nil {
		if recording := sl.trace(); recording != nil {
			return recording, recording.Path
		}
	}
	if paths := storedTraces(s.cfg.Out)[id]; paths != nil {
		return nil, paths[len(paths)-1]
	}
	return nil, ""
}

// header reads a trace's header; nil: the trace begins just now and has none. A
// file that is no trace is an error.
func (f traceFile) header(r *http.Request) (*trace.Header, error) {
	for line, err := range f.LinesFrom(r.Context(), 0) {
		if err != nil {
			return nil, err
		}
		header, err := trace.ParseHeader(bytes.Clone(line.Text))
		return &header, err
	}
	return nil, nil //nolint:nilnil // there is none, which is no error
}
