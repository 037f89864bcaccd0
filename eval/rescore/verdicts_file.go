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
)

// verdictsFile is the file that verdicts are written to.
type verdictsFile struct {
	path       string
	file       *os.File
	judgeCalls *judgeCallsFile
}

// createVerdictsFile makes a new file in the folder rescores of a run, named for the
// time.
func createVerdictsFile(dir string) (*verdictsFile, error) {
	folder := filepath.Join(dir, "rescores")
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return nil, fmt.Errorf("rescores: %w", err)
	}
	now := time.Now().UTC().Format("20060102T150405Z")
	for n := 1; ; n++ { // several may be made in one second
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
		return &verdictsFile{path: path, file: file, judgeCalls: &judgeCallsFile{path: filepath.Join(folder, name+"-judge.jsonl")}}, nil
	}
}

func (r *verdictsFile) writeLine(line any) error {
	if err := runs.EncodeLine(r.file, line); err != nil {
		return fmt.Errorf("rescores: %w", err)
	}
	return nil
}

// close closes the files when they are on disk.
func (r *verdictsFile) close() error {
	return errors.Join(r.file.Sync(), r.file.Close(), r.judgeCalls.close())
}

// judgeCallsFile is the file of the model calls that judges made, which is there once they
// have made one. It is safe for concurrent use.
type judgeCallsFile struct {
	path string

	mu   sync.Mutex
	file *os.File
}

// Write writes a line.
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

func (c *judgeCallsFile) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		return nil
	}
	return errors.Join(c.file.Sync(), c.file.Close())
}
