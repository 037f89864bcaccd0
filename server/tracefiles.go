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

// The traces of sessions are files <id>@<time>.trace.jsonl in Config.TraceDir. No id
// contains @, and the names of one id sort by time.
const (
	traceTimeLayout = "20060102-150405.000000"
	traceFileSuffix = ".trace.jsonl"
)

// newTracePath returns the path of a new trace of this host.
func (h *sessionHost) newTracePath() string {
	return filepath.Join(h.server.cfg.TraceDir, h.id+"@"+time.Now().UTC().Format(traceTimeLayout)+traceFileSuffix)
}

// startTrace creates the trace file of the host's next session, and its folder, and returns
// the recording that writes the file, which the caller must close. It fails if the folder or
// the file cannot be created.
func (h *sessionHost) startTrace() (*trace.Recording, error) {
	if err := os.MkdirAll(h.server.cfg.TraceDir, 0o750); err != nil { //nolint:gosec // the folder is from the command line
		return nil, fmt.Errorf("folder for traces: %w", err)
	}
	recording, err := trace.NewRecording(trace.NewJournal(h.id), h.newTracePath(), h.server.cfg.Redactor)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	h.server.countAndLogJournal(recording.Journal, true)
	return recording, nil
}

// linkTrace adds a link to an attempt's trace to the host's traces, so that the next
// session can restore its notebook. It does nothing without Config.TraceDir.
func (h *sessionHost) linkTrace(recording *trace.Recording) error {
	dir := h.server.cfg.TraceDir
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
	return os.Symlink(path, h.newTracePath())
}

// storedNotebook returns the notebook of the newest trace of this id that has one,
// or nil.
func (h *sessionHost) storedNotebook(ctx context.Context) (*notebook.State, error) {
	paths := storedTracePaths(h.server.cfg.TraceDir)[h.id]
	for _, path := range slices.Backward(paths) {
		state, err := session.NotebookFromTrace(ctx, path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if state != nil {
			return state, nil
		}
	}
	return nil, nil //nolint:nilnil // that there is none is no error
}

// storedTracePaths returns the paths of the traces in a folder by session id, oldest
// first. It returns none if the folder cannot be read, as before the first session.
func storedTracePaths(dir string) map[string][]string {
	byID := map[string][]string{}
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return byID
	}
	for _, entry := range entries {
		id, _, ok := strings.Cut(entry.Name(), "@")
		if ok && isSessionID(id) && strings.HasSuffix(entry.Name(), traceFileSuffix) {
			byID[id] = append(byID[id], filepath.Join(dir, entry.Name()))
		}
	}
	return byID
}

// newestTracePath returns the path of the newest trace of a session id, "" if there is
// none. recording is nil if the trace was made before the server started, or by
// another host.
func (s *Server) newestTracePath(id string) (recording *trace.Recording, path string) {
	if host := s.sessionHostByID(id); host != nil {
		if recording := host.newestRecording(); recording != nil {
			return recording, recording.Path
		}
	}
	if paths := storedTracePaths(s.cfg.TraceDir)[id]; paths != nil {
		return nil, paths[len(paths)-1]
	}
	return nil, ""
}

// openTraceFile is the [api.TraceOpener] that opens the newest trace of the session whose id
// is in the path of r. The error wraps [runs.ErrNotFound] if the session has no trace.
func (s *Server) openTraceFile(r *http.Request) (file api.TraceFile, err error) {
	id := r.PathValue("id")
	recording, path := s.newestTracePath(id)
	if path == "" {
		return file, fmt.Errorf("a trace of the session %s: %w", strconv.Quote(id), runs.ErrNotFound)
	}
	file.IsComplete = recording == nil || recording.IsClosed()
	file.LineFile, err = s.traces.Open(path)
	return file, err
}
