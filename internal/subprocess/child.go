// Package child runs subprocesses that speak the wire protocol on a socket:
// kernels and agents. A [Supervisor] starts them; a [Process] is one of them.
//
// A child has a process group of its own, and where cgroup v2 is writable a
// cgroup too. When it ends, however it ends, everything left in them is killed.
// That holds even when the server is killed with SIGKILL: a helper process,
// which does nothing but wait for the server's end of a pipe to close, then
// kills what it was told of. See [RunCleanupHelper].
package subprocess

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Config is what a [Supervisor] may be told. The zero value works, but for the
// Helper.
type Config struct {
	// Helper is the command that runs [RunCleanupHelper] on its standard input. Required.
	CleanupHelper []string

	// Door is the command that calls fence.Exec with the arguments that follow
	// it. Required where a [Spec] has a Fence.
	Launcher []string

	// Log gets one warning when something cannot be enforced, and the end of
	// each child at debug level; nil discards.
	Log *slog.Logger
}

// Supervisor starts children and sees to it that none outlives the server. It
// is safe for concurrent use. Whoever made it must Close it, after the last
// child was stopped.
type Supervisor struct {
	log     *slog.Logger
	door    []string
	cgroups *cgroups // nil where cgroup v2 cannot be written
	tempDir string

	helper *exec.Cmd

	mu     sync.Mutex
	told   io.WriteCloser // the helper's standard input
	untold bool           // the helper is gone, and this was said
}

// NewSupervisor starts the helper and makes the server's temporary folder.
func NewSupervisor(cfg Config) (*Supervisor, error) {
	if len(cfg.CleanupHelper) == 0 {
		return nil, errors.New("supervisor: no helper command")
	}
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	root, err := filepath.Abs(os.TempDir()) // children work in other folders
	if err != nil {
		return nil, fmt.Errorf("find the temporary folder: %w", err)
	}
	dir, err := os.MkdirTemp(root, "assay-")
	if err != nil {
		return nil, fmt.Errorf("make the temporary folder: %w", err)
	}
	groups, err := newCgroups()
	if err != nil {
		log.Info("cgroup v2 cannot be used: a process that leaves its group outlives its session", "error", err)
	}
	s := &Supervisor{log: log, door: cfg.Launcher, cgroups: groups, tempDir: dir}
	// What we were started with, such as a shell's descriptors, is no child's. A
	// system older than Linux 5.11 refuses, and they see it.
	_ = unix.CloseRange(firstExtra, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	if err := s.startHelper(cfg.CleanupHelper); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

func (s *Supervisor) startHelper(command []string) error {
	in, out, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make the helper's pipe: %w", err)
	}
	defer in.Close()
	s.helper = exec.Command(command[0], command[1:]...) //nolint:noctx // it must outlive every context
	s.helper.Stdin = in
	// A session of its own, so that Ctrl-C in the terminal does not reach it.
	s.helper.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := s.helper.Start(); err != nil {
		return errors.Join(fmt.Errorf("start the helper: %w", err), out.Close())
	}
	s.told = out
	s.tell("dir", s.tempDir)
	if s.cgroups != nil {
		s.tell("cgroup", s.cgroups.root)
	}
	return nil
}

// MkdirTemp makes a folder like os.MkdirTemp, and tells the helper of it, so that
// it goes with a server that is killed. RemoveAll removes it.
func (s *Supervisor) MkdirTemp(dir, pattern string) (string, error) {
	path, err := os.MkdirTemp(dir, pattern)
	if err == nil {
		s.tell("dir", path)
	}
	return path, err
}

// RemoveAll removes a folder that MkdirTemp made.
func (s *Supervisor) RemoveAll(path string) error {
	err := os.RemoveAll(path)
	if err == nil {
		s.tell("nodir", path)
	}
	return err
}

// TempDir is a private folder that is removed with everything in it on Close,
// or by the helper when the server is killed.
func (s *Supervisor) TempDir() string { return s.tempDir }

// Enforceable tells which promises about children hold on this machine:
// "process_group" and "cgroup_kill".
func (s *Supervisor) Enforceable() map[string]bool {
	return map[string]bool{"process_group": true, "cgroup_kill": s.cgroups.usable()}
}

// Close ends the helper and removes the temporary folder. Children that still
// run are killed by the helper.
func (s *Supervisor) Close() error {
	s.mu.Lock()
	err := s.told.Close()
	s.mu.Unlock()
	if werr := s.helper.Wait(); werr != nil {
		err = errors.Join(err, fmt.Errorf("the helper: %w", werr))
	}
	return errors.Join(err, s.remove())
}

func (s *Supervisor) remove() error {
	return errors.Join(os.RemoveAll(s.tempDir), s.cgroups.remove())
}

// tell writes one line to the helper: what, and the thing itself.
func (s *Supervisor) tell(what string, thing any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := fmt.Fprintf(s.told, "%s %v\n", what, thing); err != nil && !s.untold {
		s.untold = true
		s.log.Warn("the helper is gone: if this server is killed, its children may stay", "error", err)
	}
}
