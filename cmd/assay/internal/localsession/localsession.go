// Package localsession runs a session inside this process, without a server. The session
// shares the notebook with nobody: the caller is its only console.
package localsession

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"assay/cmd/assay/internal/exit"
	"assay/eval/session"
	"assay/internal/redact"
	"assay/internal/subprocess"
	"assay/internal/trace"
)

// traceFileName is the name of the trace in its folder.
const traceFileName = "trace.jsonl"

// Session is a session with its trace. Close ends it.
type Session struct {
	*session.Session
	TracePath string

	recording *trace.Recording
	output    *os.File // stderr.txt: the output of kernel and agent
}

// Start starts a session, and returns when its kernel and its agent are ready. It writes
// trace.jsonl and stderr.txt into the folder outDir, or if that is "" into a folder that
// supervisor removes; secrets that redactor finds are replaced in both. It sets cfg.Journal and cfg.ChildOutput. Its errors carry an exit
// status if outDir is to blame; after an error nothing is left running.
func Start(ctx context.Context, supervisor *subprocess.Supervisor, cfg session.Config, outDir string, redactor *redact.Redactor) (*Session, error) {
	s := &Session{}
	err := s.startRecording(supervisor, cfg.ID, outDir, redactor)
	if err == nil {
		cfg.Journal, cfg.ChildOutput, cfg.Redactor = s.recording.Journal, s.output, redactor
		s.Session, err = session.Start(ctx, supervisor, cfg)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close("it could not start"))
	}
	return s, nil
}

// startRecording creates the folder with the trace and stderr.txt.
func (s *Session) startRecording(supervisor *subprocess.Supervisor, id, outDir string, redactor *redact.Redactor) (err error) {
	dir := outDir
	if dir == "" {
		dir = filepath.Join(supervisor.TempDir(), id)
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return exit.UsageError(fmt.Errorf("--out: %w", err))
	}
	s.TracePath = filepath.Join(dir, traceFileName)
	s.recording, err = trace.NewRecording(trace.NewJournal(id), s.TracePath, redactor)
	if errors.Is(err, fs.ErrExist) {
		return exit.UsageError(fmt.Errorf("--out %s: the folder already has a trace", outDir))
	}
	if err != nil {
		return err
	}
	s.output, err = os.OpenFile(filepath.Join(dir, "stderr.txt"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	return err
}

// Close ends the session and everything it has started, and closes the trace. cause is
// recorded in the trace as the reason.
func (s *Session) Close(cause string) error {
	var errs []error
	if s.Session != nil {
		errs = append(errs, s.End(context.Background(), cause))
	}
	if s.recording != nil {
		errs = append(errs, s.recording.Close())
	}
	if s.output != nil {
		errs = append(errs, s.output.Close())
	}
	return errors.Join(errs...)
}
