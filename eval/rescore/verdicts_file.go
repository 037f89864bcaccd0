package rescore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"assay/eval/runs"
	"assay/internal/redact"
)

// verdictsFile is the file, in a run's subfolder rescores, to which [RegradeRun] writes its
// lines.
type verdictsFile struct {
	path       string
	file       *os.File
	redactor   *redact.Redactor
	judgeCalls *judgeCallsFile
}

// createVerdictsFile creates a new file in the subfolder rescores of the run folder dir, named
// after the current time. Nothing that redactor finds is written. It fails if the folder or the file
// cannot be created.
func createVerdictsFile(dir string, redactor *redact.Redactor) (*verdictsFile, error) {
	folder := filepath.Join(dir, "rescores")
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return nil, fmt.Errorf("rescores: %w", err)
	}
	now := time.Now().UTC().Format("20060102T150405Z")
	for n := 1; ; n++ { // several may be created in one second
		name := now
		if n > 1 {
			name = fmt.Sprintf("%s-%d", now, n)
		}
		path := filepath.Join(folder, name+".jsonl")
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("rescores: %w", err)
		}
		return &verdictsFile{
			path: path, file: file, redactor: redactor,
			judgeCalls: &judgeCallsFile{path: filepath.Join(folder, name+"-judge.jsonl")},
		}, nil
	}
}

// writeLine appends line, encoded as one line of JSON, to the file. It fails if the file cannot
// be written.
func (f *verdictsFile) writeLine(line any) error {
	if err := runs.EncodeLine(f.redactor.NewJSONWriter(f.file), line); err != nil {
		return fmt.Errorf("rescores: %w", err)
	}
	return nil
}

// close syncs and closes the file and the one with the judges' calls. It fails if either may be
// incomplete on disk.
func (f *verdictsFile) close() error {
	return errors.Join(f.file.Sync(), f.file.Close(), f.judgeCalls.close())
}

// judgeCallsFile is a file that records calls of models by graders. It is created with the
// first call. It is safe for concurrent use.
type judgeCallsFile struct {
	path string

	mu   sync.Mutex
	file *os.File
}

// Write appends one recorded call, a line, to the file. It implements [io.Writer]. It fails if
// the file cannot be created or written.
func (c *judgeCallsFile) Write(line []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		file, err := os.OpenFile(c.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return 0, err
		}
		c.file = file
	}
	return c.file.Write(line)
}

// close syncs and closes the file with the judges' calls, if it was created.
func (c *judgeCallsFile) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		return nil
	}
	return errors.Join(c.file.Sync(), c.file.Close())
}
