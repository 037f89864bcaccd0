package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"github.com/spf13/pflag"

	"assay/cmd/assay/internal/exit"
	"assay/eval/attempt"
	"assay/eval/batch"
	"assay/eval/runs"
	"assay/server"
)

// uiFlags are the flags of the server that shows a run while it goes on.
type uiFlags struct {
	addr  string
	token tokenFlag
}

func (f *uiFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.addr, "ui", "", "show the run while it goes on at this loopback `address`; --ui alone is localhost:8765")
	flags.Lookup("ui").NoOptDefVal = "localhost:8765"
	f.token.add(flags, "that the page of --ui asks for (without any, a random one is in the printed address)")
}

// check rejects invalid flags.
func (f *uiFlags) check(p *cli) error {
	if f.addr == "" {
		return nil
	}
	_, err := f.token.read(p)
	return err
}

// access returns the token of the server, and what the address of the page ends with. If the user
// has given no token, both have a random one, which is only in this program's output. With
// EVAL_SANDBOX=1 the page needs none.
func (f *uiFlags) access(p *cli) (isEvalSandbox bool, token, addressEnd string, err error) {
	mode, _ := p.getenv("EVAL_SANDBOX")
	token, err = f.token.read(p)
	if err == nil && mode != "1" && token == "" {
		token = newRandomToken()
		addressEnd = "#token=" + token
	}
	return mode == "1", token, addressEnd, err
}

// runUIServer runs the attempts of a run. With --ui it also shows them on a read-only server. It
// is a [batch.Observer] in front of another one, so that a verdict is shown when it is on
// disk.
type runUIServer struct {
	batch.Observer

	server      *server.Server // nil without --ui
	isShared    bool           // with a person at work: every console may work
	stopServe   context.CancelFunc
	serveResult chan error // the result of the server's Run

	// personPublisher shows all attempts of a person, one after the other, in the default session. nil: each
	// attempt has another session, which can only be watched.
	personPublisher *server.AttemptPublisher

	mu         sync.Mutex
	publishers map[string]*server.AttemptPublisher // of attempts without a verdict, by the name of their folder
}

// startUI starts the server of the flags. runDir is the folder of the run; the server
// also shows other runs beside it. The caller must stop the result.
func (h *kernelAndAgentHost) startUI(ctx context.Context, f *uiFlags, runDir string) (*runUIServer, error) {
	if f.addr == "" {
		return &runUIServer{}, nil
	}
	isEvalSandbox, token, addressEnd, err := f.access(h.p)
	if err != nil {
		return nil, exit.UsageError(err)
	}
	cfg := server.Config{EvalSandbox: isEvalSandbox, Token: token, Person: h.person, RunsDir: filepath.Dir(runDir), Version: version, Log: h.p.newLogger()}
	web, err := server.New(cfg)
	if err != nil {
		return nil, exit.UsageError(err)
	}
	listeners, err := listen(ctx, "--ui", f.addr, false, "")
	if err != nil {
		return nil, err
	}
	_, _ = fmt.Fprintf(h.p.stderr, "shown at http://%s/runs/%s%s while it goes on\n", listeners[0].Addr(), url.PathEscape(filepath.Base(runDir)), addressEnd)
	u := serveUI(ctx, web, h.guard(listeners))
	if h.person != "" {
		u.isShared, u.personPublisher = isEvalSandbox, web.PublishAttempts(server.DefaultSessionID)
		_, _ = fmt.Fprintf(h.p.stderr, "%s works on the cases at http://%s/%s\n", h.person, listeners[0].Addr(), addressEnd)
	}
	return u, nil
}

// serveUI serves until stop, not until ctx ends: the page shows how an interrupted run
// ends.
func serveUI(ctx context.Context, web *server.Server, listeners []net.Listener) *runUIServer {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	u := &runUIServer{server: web, stopServe: cancel, serveResult: make(chan error, 1), publishers: map[string]*server.AttemptPublisher{}}
	go func() { u.serveResult <- web.Run(ctx, listeners...) }()
	return u
}

// runAttempt runs an attempt, and shows it under the name of its folder or, to the person who works on it, as
// the default session.
func (u *runUIServer) runAttempt(ctx context.Context, cfg attempt.Config, job attempt.Job) runs.Attempt {
	if u.server != nil {
		publisher := u.personPublisher
		if publisher == nil {
			publisher, cfg.ReadOnlyConsoles = u.publish(filepath.Base(job.Dir)), true
		}
		publisher.AttemptStarting(attemptInfo(cfg, job))
		cfg.OnTrace, cfg.OnSession, cfg.OnTaskSent, cfg.SharedConsoles = publisher.OnTrace, publisher.OnSession, publisher.OnTaskSent, u.isShared
		cfg.ChildLineSink = publisher.ChildLineSink
	}
	return attempt.Run(ctx, cfg, job)
}

// publish returns a publisher that shows an attempt under this name.
func (u *runUIServer) publish(name string) *server.AttemptPublisher {
	publisher := u.server.PublishAttempts(name)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.publishers[name] = publisher
	return publisher
}

// LineWritten passes a line of attempts.jsonl on, and shows the verdict of an attempt.
func (u *runUIServer) LineWritten(line any) {
	u.Observer.LineWritten(line)
	ended, ok := line.(runs.Attempt)
	if !ok {
		return
	}
	if u.personPublisher != nil {
		u.personPublisher.AttemptEnded(ended)
		return
	}
	name := filepath.Base(filepath.Dir(ended.Trace))
	u.mu.Lock()
	publisher := u.publishers[name]
	delete(u.publishers, name)
	u.mu.Unlock()
	if publisher != nil {
		publisher.AttemptEnded(ended)
		publisher.Close()
	}
}

// stop ends the server. It is called when all attempts have ended.
func (u *runUIServer) stop() error {
	if u.server == nil {
		return nil
	}
	if u.personPublisher != nil {
		u.personPublisher.Close()
	}
	for _, publisher := range u.publishers { // the lines of these attempts could not be written
		publisher.Close()
	}
	u.stopServe()
	if err := <-u.serveResult; err != nil {
		return fmt.Errorf("--ui: %w", err)
	}
	return nil
}

// listen listens at addr, on loopback unless allowRemote is set. For localhost it returns a second
// listener, on IPv6, if the machine has that. Errors name the flag with the address, and end with the
// text alternative. They carry an exit status.
func listen(ctx context.Context, flag, addr string, allowRemote bool, alternative string) ([]net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, exit.UsageError(fmt.Errorf("%s: %w", flag, err))
	}
	if ip := net.ParseIP(host); !allowRemote && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, exit.UsageError(fmt.Errorf("%s %s: want an address on loopback, such as localhost:8765%s", flag, addr, alternative))
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, exit.BrokenError(listenError(flag, err))
	}
	first, ok := ln.Addr().(*net.TCPAddr)
	if host != "localhost" || !ok || first.IP.To4() == nil {
		return []net.Listener{ln}, nil
	}
	second, err := (&net.ListenConfig{}).Listen(ctx, "tcp6", net.JoinHostPort("::1", strconv.Itoa(first.Port)))
	switch {
	case err == nil:
		return []net.Listener{ln, second}, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, exit.BrokenError(errors.Join(listenError(flag, err), ln.Close()))
	default:
		return []net.Listener{ln}, nil // without IPv6
	}
}

// listenError returns the error of an address, which a flag names, at which nothing can listen.
func listenError(flag string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s: %w: choose another port with %[1]s=localhost:PORT, where 0 is any that is free", flag, err)
	}
	return fmt.Errorf("%s: %w", flag, err)
}

// closeAll closes listeners that nothing serves.
func closeAll(listeners []net.Listener) error {
	var err error
	for _, ln := range listeners {
		err = errors.Join(err, ln.Close())
	}
	return err
}
