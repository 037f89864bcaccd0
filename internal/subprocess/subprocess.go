// Package subprocess runs programs that speak the wire protocol on a socket: kernels
// and agents. A [Supervisor] starts them; each one running is a [Process].
//
// # Isolation
//
// A subprocess leads a process group. Where cgroup v2 can be written it also gets a
// cgroup, and as an ordinary user its sandbox has a PID namespace. When it ends, whatever the
// reason, every process left in its group, its cgroup and its PID namespace is killed with SIGKILL. A process that has
// left the group is reached only through these. [Process.Enforced] says what was in fact set up for one
// subprocess; nothing is switched off for later ones because it failed once.
//
// # Stopping
//
// [Process.Stop] escalates:
//
//	close its socket, SIGTERM to its group ──StopGrace (2 s)──▶ SIGKILL to group and cgroup ──▶ reap
//
// It skips the rest of the grace period when its context ends or the subprocess has
// exited. Afterwards its pipes are closed and its cgroups removed.
//
// # Failures
//
//   - The subprocess dies: [Process.Read] and [Process.Write] return an [*ExitError]
//     with the exit status or signal and the last lines that it printed.
//   - It does not read: [Process.Write] blocks; the caller needs a queue and a deadline.
//   - It floods stdout or stderr: the pipes are always drained, and [Spec.Output] gets
//     chunks. Only while Output blocks do the pipes fill up.
//   - Another process keeps its pipes open after its death: they are abandoned after
//     100 ms.
//   - The server is killed with SIGKILL: subprocesses see the end of their socket, PID namespaces end, and
//     the cleanup helper kills every process group and cgroup and removes the
//     temporary folders. See [RunCleanupHelper].
//   - The cleanup helper dies, or does not read for 2 s, for instance because it was stopped:
//     another one takes its place.
//   - The kernel pool's process, which forks kernels, dies: forked kernels live on, but
//     their exit status is unknown (Exit.StatusUnknown). They are killed when they are stopped.
//
// # Goroutines
//
// Each process has four: one waits for its end, one waits for both pipes, and two read
// one pipe each. They end when the process has exited and its pipes are closed;
// [Process.Stop] waits for them.
package subprocess

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/peers"
)

// Config configures a [Supervisor]: how to start the cleanup helper, and the log.
type Config struct {
	// CleanupHelper is the command that calls [RunCleanupHelper] with its standard
	// input. Required.
	CleanupHelper []string

	// Launcher is the command that calls [sandbox.Exec] with the arguments that are
	// appended to it. Required if any [Spec] has a Sandbox.
	Launcher []string

	// MaxMemoryBytes limits what all subprocesses with a [Spec.MaxMemoryBytes] use together, so that they cannot
	// take the memory that the server needs, where a cgroup can do that. If they use more, Linux kills some of
	// them; see [MemoryKill]. 0: no limit.
	MaxMemoryBytes int64

	// Log gets a warning for each new kind of thing that could not be enforced, and
	// the end of each subprocess at debug level. nil discards.
	Log *slog.Logger
}

// Supervisor starts subprocesses and makes sure that none outlives the server. It is
// safe for concurrent use. The caller must Close it after the last subprocess was
// stopped.
type Supervisor struct {
	log      *slog.Logger
	launcher []string
	cgroups  *cgroupTree
	memory   *commonMemory
	tempDir  string
	lock     *os.File // in tempDir, so that RemoveStale of another server leaves it

	guard          *peers.Guard
	hasUncontained atomic.Bool // a subprocess was started without a cgroup

	helperCommand []string

	helperMu   sync.Mutex
	helper     *exec.Cmd
	helperPipe *os.File        // the cleanup helper's standard input
	helperGone bool            // there is none: another could not be started, or the supervisor is closed
	openNotes  map[string]bool // the lines that a new cleanup helper must get: what exists outside this process

	liveMu sync.Mutex
	live   map[*Process]bool // started and not stopped

	loggedMu       sync.Mutex
	loggedFailures map[string]bool // kinds of failure already logged by reportUnenforced
}

// NewSupervisor starts the cleanup helper and makes the server's temporary folder, and
// fails if either fails. It removes what killed servers have left; see [RemoveStale]. It also sets close-on-exec on every file descriptor above 2
// that this process was started with.
func NewSupervisor(cfg Config) (*Supervisor, error) {
	if len(cfg.CleanupHelper) == 0 {
		return nil, errors.New("supervisor: no cleanup helper command")
	}
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	root, err := filepath.Abs(os.TempDir()) // subprocesses work in other folders
	if err != nil {
		return nil, fmt.Errorf("find the temporary folder: %w", err)
	}
	if removed, err := RemoveStale(root, false); len(removed) > 0 || err != nil {
		log.Info("an earlier server was killed with its cleanup helper: what it has left is removed", "removed", removed, "error", err)
	}
	dir, err := os.MkdirTemp(root, staleNamePrefix)
	if err != nil {
		return nil, fmt.Errorf("make the temporary folder: %w", err)
	}
	lock, err := lockFolder(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s := &Supervisor{log: log, launcher: cfg.Launcher, tempDir: dir, lock: lock, helperCommand: cfg.CleanupHelper, openNotes: map[string]bool{}, live: map[*Process]bool{}, loggedFailures: map[string]bool{}}
	// Descriptors that a shell left open are not for subprocesses. Linux before 5.11
	// refuses this, and subprocesses then inherit them.
	_ = unix.CloseRange(firstExtraFD, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	if err := s.startCleanupHelper(); err != nil {
		return nil, errors.Join(err, lock.Close(), os.RemoveAll(dir))
	}
	s.notifyCleanupHelper(noteTempFolder, dir)
	s.guard = peers.ForServer(s.hasUncontained.Load)
	s.cgroups = &cgroupTree{onRootMade: func(root string) { s.notifyCleanupHelper(noteCgroupRoot, root) }}
	s.memory = &commonMemory{maxBytes: cfg.MaxMemoryBytes, cgroups: s.cgroups, onMade: func(dir string) { s.notifyCleanupHelper(noteLimitCgroup, dir) }}
	if _, err := s.cgroups.makeRootCgroup(); err != nil {
		s.reportUnenforced(slog.LevelInfo, "every subprocess", EnforcesCgroupKill, err)
	}
	return s, nil
}

// startCleanupHelper starts the cleanup helper. The caller must hold helperMu, or be alone.
func (s *Supervisor) startCleanupHelper() error {
	in, out, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make the cleanup helper's pipe: %w", err)
	}
	defer in.Close()
	helper := exec.Command(s.helperCommand[0], s.helperCommand[1:]...) //nolint:noctx // it must outlive every context
	helper.Stdin = in
	// In its own session, so that Ctrl-C in the terminal does not reach it.
	helper.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := helper.Start(); err != nil {
		return errors.Join(fmt.Errorf("start the cleanup helper: %w", err), out.Close())
	}
	s.helper, s.helperPipe = helper, out
	return nil
}

// MkdirTemp makes a folder as [os.MkdirTemp] does and registers it with the cleanup
// helper, which removes it if the server is killed. Remove it with RemoveAll.
func (s *Supervisor) MkdirTemp(dir, pattern string) (string, error) {
	path, err := os.MkdirTemp(dir, pattern)
	if err == nil {
		s.notifyCleanupHelper(noteTempFolder, path)
	}
	return path, err
}

// RemoveAll removes a folder that MkdirTemp made, or one in TempDir, with everything in it, and
// unregisters it from the cleanup helper. See removeTree.
func (s *Supervisor) RemoveAll(path string) error {
	err := removeTree(path)
	if err == nil {
		s.notifyCleanupHelper(noteRemoved, path)
	}
	return err
}

// TempDir returns the server's private temporary folder. Close removes it with all its
// contents; if the server is killed, the cleanup helper does.
func (s *Supervisor) TempDir() string { return s.tempDir }

// Close ends the cleanup helper, which kills subprocesses that still run, and removes
// the temporary folder and the server's cgroup.
func (s *Supervisor) Close() error {
	return errors.Join(s.endHelper(), removeTree(s.tempDir), s.lock.Close(), s.memory.remove(), s.cgroups.removeAll())
}

// endHelper ends the cleanup helper, if there is one, and waits until it has cleaned up. Later notes are
// ignored.
func (s *Supervisor) endHelper() error {
	s.helperMu.Lock()
	wasGone := s.helperGone
	s.helperGone = true
	s.helperMu.Unlock()
	if wasGone {
		return nil
	}
	err := s.helperPipe.Close()
	_ = s.helper.Process.Signal(syscall.SIGCONT) // it may have been stopped
	if werr := s.helper.Wait(); werr != nil {
		err = errors.Join(err, fmt.Errorf("the cleanup helper: %w", werr))
	}
	return err
}

// helperWriteTimeout is how long the cleanup helper may take to read a line.
const helperWriteTimeout = 2 * time.Second

// notifyCleanupHelper writes one line "WORD VALUE" to the cleanup helper; see
// [RunCleanupHelper]. A helper that has died, or does not read, is replaced.
func (s *Supervisor) notifyCleanupHelper(note string, value any) {
	s.helperMu.Lock()
	defer s.helperMu.Unlock()
	line := fmt.Sprintf("%s %v\n", note, value)
	if opening, isClosing := openedBy(note); isClosing {
		for _, word := range opening {
			delete(s.openNotes, fmt.Sprintf("%s %v\n", word, value))
		}
	} else {
		s.openNotes[line] = true
	}
	if s.helperGone {
		return
	}
	if err := s.writeToHelper(line); err != nil {
		s.replaceHelperLocked(err)
	}
}

// writeToHelper writes text to the cleanup helper's pipe. It fails if the helper has died or does not
// read within helperWriteTimeout.
func (s *Supervisor) writeToHelper(text string) error {
	if err := s.helperPipe.SetWriteDeadline(time.Now().Add(helperWriteTimeout)); err != nil {
		return err
	}
	_, err := s.helperPipe.WriteString(text)
	return err
}

// replaceHelperLocked kills the cleanup helper, because of err, and starts another, which gets all open notes.
// The caller must hold helperMu.
func (s *Supervisor) replaceHelperLocked(err error) {
	_ = s.helper.Process.Kill()
	_ = s.helperPipe.Close()
	_ = s.helper.Wait()
	startErr := s.startCleanupHelper()
	if startErr == nil {
		startErr = s.writeToHelper(strings.Join(slices.Sorted(maps.Keys(s.openNotes)), ""))
	}
	if s.helperGone = startErr != nil; s.helperGone {
		s.log.Warn("the cleanup helper has died: if this server is killed, its subprocesses may stay", "error", errors.Join(err, startErr))
		return
	}
	s.log.Warn("the cleanup helper had died or did not read; another one takes its place", "error", err)
}
