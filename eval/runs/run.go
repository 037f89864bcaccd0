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

// maxRunJSONBytes is how many bytes of a run's run.json are read at most.
const maxRunJSONBytes = 16 << 20

// Run is the folder of a run, open for reading. Methods with the parameter attempt take the
// name of the attempt's folder. It is safe for concurrent use. The caller must Close it;
// files opened through it stay open.
type Run struct {
	Name    string                     // of the folder
	Started time.Time                  // from run.json
	RawInfo map[string]json.RawMessage // the members of run.json

	store *Store
	root  *os.Root
}

// Open opens the run whose folder has this name. It fails with ErrNotFound if there is no such
// run, and with another error if its run.json cannot be read or has another format version. The
// caller closes the Run.
func (s *Store) Open(name string) (*Run, error) {
	if !isFileName(name) {
		return nil, fmt.Errorf("run %q: %w", name, ErrNotFound)
	}
	all, err := os.OpenRoot(s.runsDir)
	if err != nil {
		return nil, wrapOpenError("run", name, err)
	}
	defer all.Close()
	root, err := all.OpenRoot(name)
	if err != nil {
		return nil, wrapOpenError("run", name, err)
	}
	run := &Run{Name: name, store: s, root: root}
	if err := run.readInfo(); err != nil {
		return nil, errors.Join(wrapOpenError("run", name, err), root.Close())
	}
	return run, nil
}

// wrapOpenError adds to err what could not be opened, such as "run", and its name. It replaces
// err by ErrNotFound if err says that it does not exist.
func wrapOpenError(what, name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("%s %q: %w", what, name, ErrNotFound)
	}
	return fmt.Errorf("%s %q: %w", what, name, err)
}

// readInfo reads the run's run.json. It fails if the file is missing, is not JSON, or has
// another format version.
func (r *Run) readInfo() error {
	file, _, err := r.openRegularFile("run.json")
	if err != nil {
		return err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxRunJSONBytes))
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

// openRegularFile opens a regular file below the run's folder and returns it with its info. It
// fails with fs.ErrNotExist for anything else, such as a pipe.
func (r *Run) openRegularFile(name string) (*os.File, fs.FileInfo, error) {
	file, err := r.root.OpenFile(name, openForReadingFlags, 0)
	if err != nil {
		return nil, nil, err
	}
	return requireRegularFile(file)
}

// openLineFile opens the JSON Lines file with this path relative to the run's folder. It fails
// with fs.ErrNotExist if there is no such regular file.
func (r *Run) openLineFile(name string) (*LineFile, error) {
	file, info, err := r.openRegularFile(name)
	if err != nil {
		return nil, err
	}
	return r.store.lineFiles.openIndexed(path.Join(r.Name, name), name, file, info)
}

// AttemptLines opens the run's attempts.jsonl. Line 0 is the header. The caller closes the
// result. It fails with ErrNotFound if the file does not exist.
func (r *Run) AttemptLines() (*LineFile, error) {
	lines, err := r.openLineFile(AttemptsFileName)
	if err != nil {
		return nil, wrapOpenError("file", AttemptsFileName, err)
	}
	return lines, nil
}

// OpenTrace opens the trace file of an attempt. Line 0 is the header; the number of any other
// line is that of its entry. The caller closes the result. It fails with ErrNotFound if there
// is no such attempt or it has no trace.
func (r *Run) OpenTrace(attempt string) (*LineFile, error) {
	if !isFileName(attempt) {
		return nil, fmt.Errorf("attempt %q: %w", attempt, ErrNotFound)
	}
	lines, err := r.openLineFile(path.Join("attempts", attempt, "trace.jsonl"))
	if err != nil {
		return nil, wrapOpenError("trace of attempt", attempt, err)
	}
	return lines, nil
}

// TraceSize returns the size of an attempt's trace file in bytes. It fails with ErrNotFound if
// there is no such attempt or it has no trace.
func (r *Run) TraceSize(attempt string) (int64, error) {
	if !isFileName(attempt) {
		return 0, fmt.Errorf("attempt %q: %w", attempt, ErrNotFound)
	}
	info, err := r.root.Stat(path.Join("attempts", attempt, "trace.jsonl"))
	if err != nil {
		return 0, wrapOpenError("trace of attempt", attempt, err)
	}
	return info.Size(), nil
}

// OpenFile opens the regular file with this name directly in an attempt's folder. The caller
// closes it. It fails with ErrNotFound if there is no such file.
func (r *Run) OpenFile(attempt, name string) (*os.File, error) {
	if !isFileName(attempt) || !isFileName(name) {
		return nil, fmt.Errorf("file %q of attempt %q: %w", name, attempt, ErrNotFound)
	}
	file, _, err := r.openRegularFile(path.Join("attempts", attempt, name))
	if err != nil {
		return nil, wrapOpenError("file", path.Join(attempt, name), err)
	}
	return file, nil
}

// Close closes the run's folder. Files that were opened through it stay open.
func (r *Run) Close() error { return r.root.Close() }
