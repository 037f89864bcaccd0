// Package agent starts agents: programs that speak the wire protocol on the socket
// whose descriptor number is their last argument. The built-in agent, in agent/builtin,
// is started like any other; agent/python is an SDK for agents in Python.
//
// An agent that exits, breaks the framing, or sends no ready message in time is
// reported as an error by [Start] or Read. Its goroutines are those of package
// subprocess, and one that calls ModelServer.Serve; [Agent.Stop] waits for it.
package agent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/internal/sandbox"
	"assay/internal/subprocess"
)

// DefaultReadyTimeout is how long an agent may take until it sends its ready message.
const DefaultReadyTimeout = 30 * time.Second

// Config configures [Start]: the agent's command, its working folder and environment, its
// sandbox and its limits.
type Config struct {
	Command []string // required; the number of the socket's descriptor is appended
	Workdir string   // working folder
	Session string   // id of the session
	Environ []string // the server's environment

	// Sandbox, if set, confines the agent to its Workdir, the paths of its rules, and its private
	// folder.
	Sandbox *sandbox.Template

	// PrivateRoot, if set, is a folder in which the agent gets a folder that no other agent and no
	// kernel may use: see [PrivateDir]. Start makes it and Stop removes it. ASSAY_AGENT_DIR has its
	// path. HOME and TMPDIR of a confined agent are in it.
	PrivateRoot string

	// ReadPaths are more files and folders that a confined agent may read.
	ReadPaths []string

	// HomeSeed, if set, is a folder whose content is copied to HOME of a confined agent.
	HomeSeed string

	// PassVariables names variables that the agent gets although they begin with ASSAY_.
	PassVariables []string

	// ModelServer, if set, serves the agent's calls of models, at an address that only the agent can reach, whatever
	// the network of its Sandbox.
	ModelServer ModelServer

	// MaxFrameBytes is the largest frame that may be read. 0: the protocol's default.
	MaxFrameBytes int64

	// ReadyTimeout bounds the wait for the ready message. 0: DefaultReadyTimeout.
	ReadyTimeout time.Duration

	// WrapSocket, if set, returns what frames are read from and written to; see [subprocess.Spec].
	WrapSocket func(socket io.ReadWriteCloser) io.ReadWriteCloser

	// Output, if set, gets what the agent prints; see [subprocess.Spec].
	Output func(stream string, chunk []byte)

	// OnForbidden, if set, is called when the agent tried to connect to where it may not; see
	// [subprocess.Spec].
	OnForbidden func(what string)
}

// Agent is a running agent and the [protocol.Conn] to it. The caller must Stop it. Its
// methods are those of [subprocess.Process].
type Agent struct {
	*subprocess.Process
	models           *modelService // nil: there is no ModelServer
	removePrivateDir func() error

	// ReadyFrame is the ready message as it was received.
	ReadyFrame []byte
}

// PrivateDir returns the path of the private folder of the agent of a session. It is 17 bytes longer
// than root, whatever the session's id, so that sockets can be in it.
func PrivateDir(root, session string) string {
	sum := sha256.Sum256([]byte(session))
	return filepath.Join(root, hex.EncodeToString(sum[:8]))
}

// Start starts an agent process under sup and waits for its ready message. It returns an
// error, after it has stopped the process, if the process exits, breaks the framing or sends
// no ready message within cfg.ReadyTimeout, or if ctx ends.
func Start(ctx context.Context, sup *subprocess.Supervisor, cfg Config) (*Agent, error) {
	removePrivateDir, err := makePrivateDir(sup, cfg)
	if err != nil {
		return nil, errors.Join(err, removePrivateDir())
	}
	a := &Agent{removePrivateDir: removePrivateDir}
	if err := a.start(ctx, sup, cfg); err != nil {
		return nil, errors.Join(err, a.models.stop(), removePrivateDir())
	}
	return a, nil
}

// start starts the agent process and waits for its ready message. After an error no process runs.
func (a *Agent) start(ctx context.Context, sup *subprocess.Supervisor, cfg Config) (err error) {
	template, modelAddress := cfg.Sandbox, ""
	if cfg.ModelServer != nil {
		a.models = &modelService{server: cfg.ModelServer}
		if modelAddress, template, err = a.models.prepare(ctx, template); err != nil {
			return err
		}
	}
	if cfg.PrivateRoot != "" {
		template = template.WithWritePath(PrivateDir(cfg.PrivateRoot, cfg.Session))
	}
	plan, err := template.PlanFor(cfg.Workdir, cfg.ReadPaths...)
	if err != nil {
		return err
	}
	a.Process, err = sup.Start(subprocess.Spec{
		Name: "agent", Argv: cfg.Command, Dir: cfg.Workdir, Env: agentEnvironment(cfg, modelAddress),
		MaxFrameBytes: cfg.MaxFrameBytes, Output: cfg.Output, Sandbox: plan, MaxProcesses: cfg.Sandbox.MaxProcesses(), MaxMemoryBytes: cfg.Sandbox.TotalMemoryBytes(),
		OnForbidden: cfg.OnForbidden, WrapSocket: cfg.WrapSocket,
	})
	if err != nil {
		return err
	}
	if a.models != nil {
		if err := a.models.serve(ctx, a.Process); err != nil {
			return errors.Join(err, a.Process.Stop(ctx))
		}
	}
	timeout := cfg.ReadyTimeout
	if timeout <= 0 {
		timeout = DefaultReadyTimeout
	}
	if a.ReadyFrame, err = a.AwaitReady(ctx, timeout); err != nil {
		switch {
		case ctx.Err() != nil:
		case strings.Contains(err.Error(), "No module named 'assay_agent'"):
			err = fmt.Errorf("%w; the SDK is the file agent/python/assay_agent.py of Assay: copy it beside the agent, or give its folder, as an absolute path, in PYTHONPATH", err)
		case cfg.Sandbox != nil && seemsRefused(err, cfg):
			err = fmt.Errorf("%w; the agent is confined: --agent-read lets it read more, --sandbox-agent=false ends that", err)
		}
		return errors.Join(err, a.Process.Stop(ctx))
	}
	return nil
}

// seemsRefused reports whether the last output of an agent that has not become ready shows that its sandbox refused
// something: access, a module that it may not read, or a file that its private HOME does not have.
func seemsRefused(err error, cfg Config) bool {
	text := strings.ToLower(err.Error())
	signs := []string{
		"permission denied", "permissionerror", "not permitted", "read-only file system", "eacces", "eperm", "erofs",
		"no such file or directory", "filenotfounderror", "enoent", // what is in folders of cases and runs does not exist
		"no module named", "cannot find module", "cannot find package",
	}
	if cfg.PrivateRoot != "" {
		signs = append(signs, strings.ToLower(PrivateDir(cfg.PrivateRoot, cfg.Session)))
	}
	return slices.ContainsFunc(signs, func(sign string) bool { return strings.Contains(text, sign) })
}

// Stop stops the agent as [subprocess.Process.Stop] does, ends the serving of its models and removes its private
// folder.
func (a *Agent) Stop(ctx context.Context) error {
	return errors.Join(a.Process.Stop(ctx), a.models.stop(), a.removePrivateDir())
}

// makePrivateDir makes the private folder of the agent, if it has one, and returns a function that
// removes it once, since the folder of the session's next agent has the same path. That function must
// be called after an error too. What an agent that was killed has left there is removed first.
func makePrivateDir(sup *subprocess.Supervisor, cfg Config) (remove func() error, err error) {
	if cfg.PrivateRoot == "" {
		return func() error { return nil }, nil
	}
	dir := PrivateDir(cfg.PrivateRoot, cfg.Session)
	remove = sync.OnceValue(func() error { return sup.RemoveAll(dir) })
	if err := sup.RemoveAll(dir); err != nil {
		return remove, fmt.Errorf("remove the private folder of an earlier agent: %w", err)
	}
	for _, name := range []string{homeName, tempName} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return remove, fmt.Errorf("make the agent's private folder: %w", err)
		}
	}
	if cfg.HomeSeed != "" {
		if err := os.CopyFS(filepath.Join(dir, homeName), os.DirFS(cfg.HomeSeed)); err != nil {
			return remove, fmt.Errorf("copy %s to the agent's HOME: %w", cfg.HomeSeed, err)
		}
	}
	return remove, nil
}

// Names in the private folder.
const (
	homeName = "home"
	tempName = "tmp"
)

// agentEnvironment returns the environment of an agent process: cfg.Environ without the
// variables whose name begins with ASSAY_ (except cfg.PassVariables), changed by cfg.ModelServer, which
// serves at modelAddress, AGENT_DEBUG=1, and the variables that every subprocess of a session gets. For a
// confined agent, HOME and TMPDIR are in its private folder, and Python still finds packages that were
// installed with pip --user.
func agentEnvironment(cfg Config, modelAddress string) []string {
	env := subprocess.FilterEnv(cfg.Environ, func(name string) bool {
		return !strings.HasPrefix(name, "ASSAY_") || slices.Contains(cfg.PassVariables, name)
	})
	if cfg.ModelServer != nil {
		env = cfg.ModelServer.Environ(env, modelAddress)
	}
	env = append(env, "AGENT_DEBUG=1")
	if cfg.PrivateRoot != "" {
		dir := PrivateDir(cfg.PrivateRoot, cfg.Session)
		env = append(env, "ASSAY_AGENT_DIR="+dir)
		if cfg.Sandbox != nil {
			env = withPrivateHome(env, dir)
		}
	}
	return append(env, subprocess.StandardEnvVars(cfg.Workdir, cfg.Session)...)
}

// withPrivateHome returns env with HOME and TMPDIR in the folder dir, and without the variables that
// name other folders for a user's files.
func withPrivateHome(env []string, dir string) []string {
	userBase := ""
	env = slices.DeleteFunc(env, func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		switch name {
		case "HOME":
			userBase = cmp.Or(userBase, "PYTHONUSERBASE="+filepath.Join(value, ".local"))
		case "PYTHONUSERBASE":
			userBase = entry
		}
		return strings.HasPrefix(name, "XDG_") || slices.Contains([]string{"HOME", "TMPDIR", "PYTHONUSERBASE"}, name)
	})
	if userBase != "" {
		env = append(env, userBase)
	}
	return append(env, "HOME="+filepath.Join(dir, homeName), "TMPDIR="+filepath.Join(dir, tempName))
}
