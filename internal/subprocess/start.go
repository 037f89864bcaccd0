package subprocess

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"assay/internal/protocol"
	"assay/internal/sandbox"
)

// firstExtraFD is the number of the file descriptor that exec.Cmd.ExtraFiles[0] has in
// a subprocess.
const firstExtraFD = 3

// Spec says which subprocess to start: its command or Forker, folder, environment,
// socket, sandbox and limits.
type Spec struct {
	Name string   // "kernel" or "agent": in logs and errors
	Argv []string // the command; the number of the socket's descriptor is appended
	Env  []string // the whole environment
	Dir  string   // the working folder

	// ConnectsBack is for a program that cannot adopt an open descriptor: instead of a
	// number, the path of a Unix socket in a private folder is appended to Argv, and one
	// connection is accepted there.
	ConnectsBack bool

	// Forker, if set, starts the process; Argv, Env, Dir and Sandbox are then for it to
	// apply. Sandbox is only used for [Process.Enforced].
	Forker Forker

	// Sandbox, if set, confines the process before it executes Argv. If it has a Listener, see
	// [Process.AwaitListener]; its Socket is set by Start.
	Sandbox *sandbox.Plan

	// MaxProcesses limits the processes and threads of the subprocess and all that it
	// starts, where a cgroup can do that. 0: no limit.
	MaxProcesses int

	// RunsUntrustedCode has Linux kill this process, when memory runs out, before one without it: what its code
	// holds, such as shared memory, may belong to no process.
	RunsUntrustedCode bool

	// MaxMemoryBytes limits the memory that the subprocess and all that it starts use
	// together, where a cgroup can do that. 0: no limit.
	MaxMemoryBytes int64

	// MaxFrameBytes is the largest frame that may be read. 0: the protocol's default.
	MaxFrameBytes int64

	// WrapSocket, if set, returns what frames are read from and written to in place of the server's end of
	// the socket, which it must close with itself. [Process.SendFiles] does not use it.
	WrapSocket func(socket io.ReadWriteCloser) io.ReadWriteCloser

	// Output, if set, gets what is written to stdout and stderr, in order within each
	// stream: at most one chunk per 10 ms or 64 KiB of a stream, and no two calls at
	// once. The chunk may not be kept after the call. While a call blocks, the pipes
	// fill up.
	Output func(stream string, chunk []byte)

	// OnForbidden, if set, is called with what the process, or one that it has started, tried to
	// connect to and may not, such as the socket of another subprocess. It may be called at
	// any time until the process is stopped, and must not block.
	OnForbidden func(what string)

	// OutputAfterFrames makes Output get a chunk only after the frames that the process sent
	// before it are handled: the caller reads all frames in one goroutine, and has handled
	// one when it reads the next. Not for a program with ConnectsBack.
	OutputAfterFrames bool
}

// StandardEnvVars returns the environment variables that every subprocess gets: its
// working folder, its session's id, and settings for unbuffered output and a quiet
// start.
func StandardEnvVars(workdir, session string) []string {
	return []string{
		"LATCH_SANDBOX_ROOT=" + workdir,
		"ASSAY_SESSION=" + session,
		"PYTHONUNBUFFERED=1",
		"DD_TRACE_ENABLED=false",
	}
}

// FilterEnv returns the entries of environ ("NAME=value", as from os.Environ) for whose
// name keep returns true, without the variables that StandardEnvVars sets.
func FilterEnv(environ []string, keep func(name string) bool) []string {
	standard := StandardEnvVars("", "")
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		isStandard := slices.ContainsFunc(standard, func(s string) bool { return strings.HasPrefix(s, name+"=") })
		return isStandard || !keep(name)
	})
}

// Start starts a subprocess and returns without waiting for its first frame; see
// [Process.AwaitReady]. It fails if the command cannot be executed or forked. A limit
// that cannot be enforced is no failure; see [Process.Enforced].
func (s *Supervisor) Start(spec Spec) (*Process, error) {
	p, err := s.launch(spec)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	s.notifyCleanupHelper(noteGroupStarted, p.PID())
	s.addLive(p)
	go p.output.readBothPipes()
	go p.waitAndReap()
	return p, nil
}

func (s *Supervisor) launch(spec Spec) (*Process, error) {
	transport, err := s.newTransport(spec)
	if err != nil {
		return nil, err
	}
	out, pipes, err := newOutputReader(spec.Output)
	if err != nil {
		return nil, errors.Join(err, transport.Close())
	}
	defer pipes.Close()
	if spec.OutputAfterFrames {
		socket, err := newFrameSocket(transport.serverEnd)
		if err != nil {
			return nil, errors.Join(err, transport.Close(), out.close())
		}
		transport.serverEnd, out.awaitFrames = socket, socket.awaitHandled
	}
	wire := transport.serverEnd
	if spec.WrapSocket != nil {
		wire = spec.WrapSocket(wire)
	}
	p := &Process{
		Conn: protocol.NewStream(wire, spec.MaxFrameBytes), socket: transport.serverEnd,
		handover: transport.handover,
		name:     spec.Name, supervisor: s, output: out, onForbidden: spec.OnForbidden, enforced: enforcedWithoutCgroup(spec),
		exited: make(chan struct{}),
	}
	if err := p.spawn(spec, transport, pipes); err != nil {
		return nil, errors.Join(err, transport.Close(), out.close())
	}
	if conn, ok := transport.serverEnd.(*connectBackConn); ok {
		conn.admitOnly(p.PID())
	}
	preferForOOMKill(p.PID(), spec.RunsUntrustedCode)
	p.limitProcessCount(spec.MaxProcesses)
	p.limitMemory(spec.MaxMemoryBytes)
	return p, transport.closeSubprocessEnd()
}

// oomScoreAdjustment makes a subprocess appear to use half of the memory more than it does, when Linux
// looks for a process to kill; untrustedAdjustment makes it appear to use nearly all.
const (
	oomScoreAdjustment  = "500"
	untrustedAdjustment = "850"
)

// preferForOOMKill has Linux kill this process, or one that it starts later, rather than the server when
// memory runs out: many small processes would otherwise each seem smaller than the server.
func preferForOOMKill(pid int, runsUntrustedCode bool) {
	adjustment := oomScoreAdjustment
	if runsUntrustedCode {
		adjustment = untrustedAdjustment
	}
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte(adjustment), 0) // fails if it has ended, or cannot be traced
}

// enforcedWithoutCgroup returns what is enforced, by key, for a process of this spec
// without any cgroup.
func enforcedWithoutCgroup(spec Spec) map[string]bool {
	enforced := map[string]bool{EnforcesProcessGroup: true, EnforcesCgroupKill: false}
	if spec.MaxProcesses > 0 {
		enforced[sandbox.EnforcesProcesses] = false
	}
	if spec.MaxMemoryBytes > 0 {
		enforced[sandbox.EnforcesTotalMemory] = false
	}
	if spec.Sandbox != nil {
		maps.Copy(enforced, spec.Sandbox.Enforces)
		enforced[EnforcesNamespaceKill] = false // unless it gets a PID namespace
	}
	return enforced
}

// spawn starts the process, in a new cgroup if one can be made.
func (p *Process) spawn(spec Spec, transport transport, pipes outputPipes) error {
	folder, err := p.supervisor.cgroups.newCgroup()
	if err != nil {
		p.supervisor.hasUncontained.Store(true)
		p.supervisor.reportUnenforced(slog.LevelWarn, p.name, EnforcesCgroupKill, err)
	} else {
		defer folder.Close()
	}
	if spec.Forker != nil {
		return p.startForked(spec, transport, pipes, folder)
	}
	return p.startExecuted(spec, transport, pipes, folder)
}

// startForked has the Forker start the process, and moves it into the cgroup, if there
// is one.
func (p *Process) startForked(spec Spec, transport transport, pipes outputPipes, cgroup *os.File) error {
	var control, inner *os.File
	if spec.Sandbox != nil && spec.Sandbox.PIDNamespace {
		var err error
		if control, inner, err = sandbox.NewPIDControl(); err != nil {
			p.abandonCgroup(cgroup)
			return err
		}
		defer inner.Close()
	}
	pid, first, err := spec.Forker.Spawn(transport.subprocessEnd, pipes.stdout, pipes.stderr, inner)
	if err != nil {
		p.abandonCgroup(cgroup)
		if control != nil {
			err = errors.Join(err, control.Close())
		}
		return err
	}
	p.handle = forkedHandle{processID: pid, forker: spec.Forker}
	if control != nil {
		p.setPIDNamespace(sandbox.OpenPIDNamespace(control, pid, first, func() {
			_, _ = spec.Forker.Reap(first) // if that fails its parent has died, and init reaps it
		}))
	}
	if cgroup == nil {
		return nil
	}
	if err := moveToCgroup(cgroup.Name(), pid); err != nil {
		p.abandonCgroup(cgroup)
		p.supervisor.reportUnenforced(slog.LevelWarn, p.name, EnforcesCgroupKill, err)
		return nil
	}
	p.recordCgroup(cgroup)
	return nil
}

// startExecuted executes the process's command, in the cgroup if there is one. If that
// fails it tries once more without the cgroup: a container may forbid clone3, or the
// cgroup may accept no processes. If the second try fails too, the command itself
// cannot be executed.
func (p *Process) startExecuted(spec Spec, transport transport, pipes outputPipes, cgroup *os.File) error {
	if cgroup == nil {
		return p.startCommand(spec, transport, pipes, nil)
	}
	cgroupErr := p.startCommand(spec, transport, pipes, cgroup)
	if cgroupErr == nil {
		p.recordCgroup(cgroup)
		return nil
	}
	p.abandonCgroup(cgroup)
	if err := p.startCommand(spec, transport, pipes, nil); err != nil {
		return err
	}
	p.supervisor.reportUnenforced(slog.LevelWarn, p.name, EnforcesCgroupKill, fmt.Errorf("start in a cgroup: %w", cgroupErr))
	return nil
}

func (p *Process) startCommand(spec Spec, transport transport, pipes outputPipes, cgroup *os.File) error {
	argv := slices.Clone(spec.Argv)
	if transport.subprocessEnd == nil {
		argv = append(argv, transport.path)
	} else {
		argv = append(argv, strconv.Itoa(firstExtraFD))
	}
	attr := &syscall.SysProcAttr{Setsid: true} // with only a process group, processes of other children could enter it
	cmd := exec.Command(argv[0], argv[1:]...)  //nolint:noctx // it is stopped in steps, see Stop
	cmd.Env, cmd.Dir = spec.Env, spec.Dir
	cmd.Stdout, cmd.Stderr = pipes.stdout, pipes.stderr
	cmd.ExtraFiles, cmd.SysProcAttr = transport.inheritedFiles(), attr
	if cgroup != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(cgroup.Fd())
	}
	p.handle = childHandle{cmd}
	if spec.Sandbox == nil {
		return cmd.Start()
	}
	namespace, err := transport.launcherPlan(*spec.Sandbox).Start(cmd, p.supervisor.launcher)
	if namespace == nil || err != nil {
		return err
	}
	p.handle = clonedHandle{namespace.ProcessID}
	p.setPIDNamespace(namespace)
	_ = cmd.Wait() // the launcher has done its work
	return nil
}

// setPIDNamespace records the PID namespace of the process, and that it can kill everything in it.
func (p *Process) setPIDNamespace(namespace *sandbox.PIDNamespace) {
	p.pidNamespace = namespace
	p.setEnforced(EnforcesNamespaceKill, true)
}

// recordCgroup records that the process is in this cgroup, which can kill it.
func (p *Process) recordCgroup(folder *os.File) {
	p.cgroupDir = folder.Name()
	p.setEnforced(EnforcesCgroupKill, true)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.enforced, EnforcesNamespaceKill)
}

// abandonCgroup removes a cgroup that no process could enter. It does nothing if folder
// is nil.
func (p *Process) abandonCgroup(folder *os.File) {
	if folder == nil {
		return
	}
	if err := sandbox.RemoveCgroup(folder.Name(), time.Now().Add(cgroupRemoveTimeout)); err != nil {
		p.supervisor.log.Warn("an unused cgroup could not be removed", "subprocess", p.name, "error", err)
	}
}
