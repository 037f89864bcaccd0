package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
	"time"
)

// maxInfoBytes bounds run.json, in bytes.
const maxInfoBytes = 16 << 20

// Run is the folder of a run, open for reading. It is safe for concurrent use.
// Whoever opened it must Close it; what was opened in it stays open.
type Run struct {
	Name    string                     // of its folder
	Started time.Time                  // as run.json has it
	RawInfo map[string]json.RawMessage // run.json

	store *Store
	root  *os.Root
}

// Open opens a run. Where there is none the error wraps ErrNotFound.
func (s *Store) Open(name string) (*Run, error) {
	if !isFileName(name) {
		return nil, fmt.Errorf("run %q: %w", name, ErrNotFound)
	}
	all, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, notFoundError("run", name, err)
	}
	defer all.Close()
	root, err := all.OpenRoot(name)
	if err != nil {
		return nil, notFoundError("run", name, err)
	}
	run := &Run{Name: name, store: s, root: root}
	if err := run.readInfo(); err != nil {
		return nil, errors.Join(notFoundError("run", name, err), root.Close())
	}
	return run, nil
}

// notFoundError says of what is not there that it was not found, and of all else why
// it cannot be read.
func notFoundError(what, name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("%s %q: %w", what, name, ErrNotFound)
	}
	return fmt.Errorf("%s %q: %w", what, name, err)
}

func (r *Run) readInfo() error {
	file, _, err := r.openRegular("run.json")
	if err != nil {
		return err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxInfoBytes))
	if err != nil {
		return err
	}
	var info Info
	if err = json.Unmarshal(text, &info); err == nil {
		err = json.Unmarshal(text, &r.RawInfo)
	}
	if err != nil {
		return fmt.Errorf("run.json: %w", err)
	}
	if info.Type != "run" || info.Version != FormatVersion {
		return fmt.Errorf("run.json: not a run of version %d", FormatVersion)
	}
	r.Started = info.Started
	return nil
}

// openRegular opens a plain file below the run's folder. Anything else, a pipe
// that would have to be waited for included, was not found.
func (r *Run) openRegular(name string) (*os.File, fs.FileInfo, error) {
	file, err := r.root.OpenFile(name, readOnlyNonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	return requireRegular(file)
}

func (r *Run) openLineFile(name string) (*LineFile, error) {
	file, info, err := r.openRegular(name)
	if err != nil {
		return nil, err
	}
	return r.store.lineFiles.withIndex(path.Join(r.Name, name), name, file, info)
}

// AttemptLines opens attempts.jsonl. Line 0 is the header.
func (r *Run) AttemptLines() (*LineFile, error) {
	lines, err := r.openLineFile("attempts.jsonl")
	if err != nil {
		return nil, notFoundError("file", "attempts.jsonl", err)
	}
	return lines, nil
}

// OpenTrace opens an attempt's trace. Line 0 is the header, and the number of any
// other its seq.
func (r *Run) OpenTrace(attempt string) (*LineFile, error) {
	if !isFileName(attempt) {
		return nil, fmt.Errorf("attempt %q: %w", attempt, ErrNotFound)
	}
	lines, err := r.openLineFile(path.Join("attempts", attempt, "trace.jsonl"))
	if err != nil {
		return nil, notFoundError("trace of attempt", attempt, err)
	}
	return lines, nil
}

// TraceSize is how large an attempt's trace is, in bytes.
func (r *Run) TraceSize(attempt string) (int64, error) {
	if !isFileName(attempt) {
		return 0, fmt.Errorf("attempt %q: %w", attempt, ErrNotFound)
	}
	info, err := r.root.Stat(path.Join("attempts", attempt, "trace.jsonl"))
	if err != nil {
		return 0, notFoundError("trace of attempt", attempt, err)
	}
	return info.Size(), nil
}

// OpenFile opens a plain file directly in an attempt's folder. The caller closes it.
func (r *Run) OpenFile(attempt, name string) (*os.File, error) {
	if !isFileName(attempt) || !isFileName(name) {
		return nil, fmt.Errorf("file %q of attempt %q: %w", name, attempt, ErrNotFound)
	}
	file, _, err := r.openRegular(path.Join("attempts", attempt, name))
	if err != nil {
		return nil, notFoundError("file", path.Join(attempt, name), err)
	}
	return file, nil
}

// Close closes the folder.
func (r *Run) Close() error { return r.root.Close() }
