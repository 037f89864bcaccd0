package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"assay/internal/protocol"
)

// The files of a store.
const (
	stateFile     = "consciousness.json"
	monologueFile = "monologue.md"
)

// store is the folder in which ticks keep what lasts. A nil one keeps nothing.
// Processes may share a folder: no file is ever half written; of the state that of
// the last one stays.
type store struct {
	dir        string
	repository *repository // nil: nothing is committed
	excuse     error       // why not, nil where there is no git
}

// openStore makes the folder if it is missing, and reads the state in it. A state
// that cannot be read is an error. An empty dir is no store.
func openStore(dir string) (*store, *mind, error) {
	m := newMind()
	if dir == "" {
		return nil, m, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("open the state: %w", err)
	}
	s := &store{dir: dir}
	text, err := os.ReadFile(s.path(stateFile))
	if err == nil {
		err = json.Unmarshal(text, m)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("load the state: %s: %w", s.path(stateFile), err)
	}
	s.repository, s.excuse = openRepository(dir)
	return s, m, nil
}

func (s *store) path(name string) string { return filepath.Join(s.dir, name) }

// write appends a line to the monologue, in one write.
func (s *store) write(line string) error {
	if s == nil {
		return nil
	}
	file, err := os.OpenFile(s.path(monologueFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(line + "\n")
	return errors.Join(err, file.Close())
}

// save replaces the state: who reads it finds the old one or the new one, whole.
func (s *store) save(m *mind) error {
	if s == nil {
		return nil
	}
	text, err := protocol.Marshal(m)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(s.dir, "."+stateFile+"-*")
	if err != nil {
		return err
	}
	_, err = file.Write(append(pretty(text), '\n'))
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), s.path(stateFile))
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// commit commits what is kept, if there is git.
func (s *store) commit(ctx context.Context, message string, at time.Time) error {
	switch {
	case s == nil:
		return nil
	case s.repository == nil:
		return s.excuse
	}
	return s.repository.commit(ctx, message, at)
}
