package ticks

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

// Files of a store.
const (
	stateFile     = "consciousness.json"
	monologueFile = "monologue.md"
)

// stateStore is the folder with the state file and the monologue of an agent in ticks. A nil
// store stores nothing. Several processes may share a folder: no file is ever half written,
// and the state is that of the last process that saved one.
type stateStore struct {
	dir           string
	repository    *gitRepository // nil: nothing is committed
	repositoryErr error          // why not; nil if git is not installed
}

// openStateStore opens the store in dir, which it creates if it is missing, and reads the state.
// A state that cannot be read is an error. For an empty dir it returns a nil store and a
// new state.
func openStateStore(dir string) (*stateStore, *tickState, error) {
	state := newTickState()
	if dir == "" {
		return nil, state, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("open the state: %w", err)
	}
	s := &stateStore{dir: dir}
	text, err := os.ReadFile(s.filePath(stateFile))
	if err == nil {
		err = json.Unmarshal(text, state)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("load the state: %s: %w", s.filePath(stateFile), err)
	}
	s.repository, s.repositoryErr = openGitRepository(dir)
	return s, state, nil
}

func (s *stateStore) filePath(name string) string { return filepath.Join(s.dir, name) }

// appendMonologue appends a line to the monologue file in one write.
func (s *stateStore) appendMonologue(line string) error {
	if s == nil {
		return nil
	}
	file, err := os.OpenFile(s.filePath(monologueFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(line + "\n")
	return errors.Join(err, file.Close())
}

// save replaces the state file atomically: a reader sees the old state or the new one.
func (s *stateStore) save(state *tickState) error {
	if s == nil {
		return nil
	}
	text, err := protocol.Marshal(state)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(s.dir, "."+stateFile+"-*")
	if err != nil {
		return err
	}
	_, err = file.Write(append(indentJSON(text), '\n'))
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), s.filePath(stateFile))
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// commit commits the state file and the monologue with git. It does nothing if git is not
// installed, and returns an error if the folder cannot be a repository or git fails.
func (s *stateStore) commit(ctx context.Context, message string, at time.Time) error {
	switch {
	case s == nil:
		return nil
	case s.repository == nil:
		return s.repositoryErr
	}
	return s.repository.commit(ctx, message, at)
}
