package server

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/eval/runs"
	"assay/eval/session"
	"assay/internal/notebook"
	"assay/internal/trace"
	"assay/server/api"
)

// The traces of sessions lie in one folder, <id>@<time>.trace.jsonl each: no id
// has an @ in it, and the names of one id are in the order of their times.
const (
	traceTime   = "20060102-150405.000000"
	traceEnding = ".trace.jsonl"
)

// record begins the trace of the slot's next session.
func (sl *slot) record() (*trace.Recording, error) {
	dir := sl.server.cfg.TraceDir
	if err := os.MkdirAll(dir, 0o750); err != nil { //nolint:gosec // the folder that the server was started with
		return nil, fmt.Errorf("folder for traces: %w", err)
	}
	name := sl.id + "@" + time.Now().UTC().Format(traceTime) + traceEnding
	recording, err := trace.NewRecording(trace.NewJournal(sl.id), filepath.Join(dir, name))
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	sl.server.follow(recording.Journal, false)
	return recording, nil
}

// keep puts the trace of an attempt among the others, so that its notebook is
// found there too.
func (sl *slot) keep(recording *trace.Recording) error {
	dir := sl.server.cfg.TraceDir
	if dir == "" {
		return nil
	}
	path, err := filepath.Abs(recording.Path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	return os.Symlink(path, filepath.Join(dir, sl.id+"@"+time.Now().UTC().Format(traceTime)+traceEnding))
}

// stored is the notebook of the newest trace that has one; nil: none has.
func (sl *slot) stored(ctx context.Context) (*notebook.State, error) {
	paths := storedTraces(sl.server.cfg.TraceDir)[sl.id]
	for _, path := range slices.Backward(paths) {
		state, err := session.NotebookFromTrace(ctx, path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if state != nil {
			return state, nil
		}
	}
	return nil, nil //nolint:nilnil // there is none, which is no error
}

// storedTraces are the traces in a folder by id, oldest first.
func storedTraces(dir string) map[string][]string {
	byID := map[string][]string{}
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return byID // there is no folder yet
	}
	for _, entry := range entries {
		id, _, ok := strings.Cut(entry.Name(), "@")
		if ok && validID(id) && strings.HasSuffix(entry.Name(), traceEnding) {
			byID[id] = append(byID[id], filepath.Join(dir, entry.Name()))
		}
	}
	return byID
}

// openTrace is the [api.TraceOpener] for the session that a request's path names.
func (s *Server) openTrace(r *http.Request) (file api.TraceFile, err error) {
	id := r.PathValue("id")
	recording, path := s.traceOf(id)
	if path == "" {
		return file, fmt.Errorf("a trace of the session %s: %w", strconv.Quote(id), runs.ErrNotFound)
	}
	file.Complete = recording == nil || recording.IsClosed()
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
	if paths := storedTraces(s.cfg.TraceDir)[id]; paths != nil {
		return nil, paths[len(paths)-1]
	}
	return nil, ""
}
