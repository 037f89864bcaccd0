package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"sync"

	"github.com/spf13/pflag"

	"assay/eval/attempt"
	"assay/eval/batch"
	"assay/eval/runs"
	"assay/server"
)

// uiFlags are those by which a run can be watched while it goes on.
type uiFlags struct {
	addr, token string
}

func (f *uiFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.addr, "ui", "", "show the run while it goes on at this loopback `address`; --ui alone is localhost:8765")
	flags.Lookup("ui").NoOptDefVal = "localhost:8765"
	flags.StringVar(&f.token, "token", "", "access `token` for --ui; not used with EVAL_SANDBOX=1")
}

// config is the server's, which can be asked what is wrong with it.
func (f *uiFlags) config(p *process) server.Config {
	mode, _ := p.getenv("EVAL_SANDBOX")
	return server.Config{EvalSandbox: mode == "1", Token: f.token, Version: version, Log: p.log()}
}

func (f *uiFlags) check(p *process) error {
	if f.addr == "" {
		return nil
	}
	if err := f.config(p).Validate(); err != nil {
		return fmt.Errorf("--ui: %w", err)
	}
	return nil
}

// ui shows the attempts of a run, to whoever looks and can do no more than that.
// Without --ui it only makes them. It is a batch.Observer in front of another, so
// that a verdict is shown when it is on disk.
type ui struct {
	batch.Observer

	web  *server.Server // nil: nothing is shown
	end  context.CancelFunc
	over chan error // the server's end

	mu    sync.Mutex
	shows map[string]*server.AttemptPublisher // of attempts without a verdict, by the names of their folders
}

// startUI serves what the flags ask for; dir is the folder of the run, beside
// which others may lie. Whoever called it must stop it.
func (p *process) startUI(ctx context.Context, f *uiFlags, dir string) (*ui, error) {
	if f.addr == "" {
		return &ui{}, nil
	}
	cfg := f.config(p)
	cfg.RunsDir = filepath.Dir(dir)
	web, err := server.New(cfg)
	if err != nil {
		return nil, usage(err)
	}
	ln, err := listen(ctx, "--ui", f.addr, false, "")
	if err != nil {
		return nil, err
	}
	_, _ = fmt.Fprintf(p.err, "shown at http://%s/runs/%s while it goes on\n", ln.Addr(), url.PathEscape(filepath.Base(dir)))
	return serveUI(ctx, web, ln), nil
}

func serveUI(ctx context.Context, web *server.Server, ln net.Listener) *ui {
	ctx, end := context.WithCancel(context.WithoutCancel(ctx)) // it is shown how an interrupted run ends
	u := &ui{web: web, end: end, over: make(chan error, 1), shows: map[string]*server.AttemptPublisher{}}
	go func() { u.over <- web.Run(ctx, ln) }()
	return u
}

// try makes an attempt, and shows it under the name of its folder.
func (u *ui) try(ctx context.Context, cfg attempt.Config, work attempt.Job) runs.Attempt {
	if u.web != nil {
		name := filepath.Base(work.Dir)
		show := u.web.PublishAttempts(name)
		u.mu.Lock()
		u.shows[name] = show
		u.mu.Unlock()
		show.AttemptStarting(attempting(cfg, work))
		cfg.OnTrace, cfg.OnSession, cfg.OnTaskSent, cfg.ReadOnlyConsoles = show.OnTrace, show.OnSession, show.OnTaskSent, true
		cfg.ChildLineSink = show.ChildLineSink
	}
	return attempt.Run(ctx, cfg, work)
}

// LineWritten shows a verdict.
func (u *ui) LineWritten(line any) {
	u.Observer.LineWritten(line)
	a, ok := line.(runs.Attempt)
	if !ok {
		return
	}
	name := filepath.Base(filepath.Dir(a.Trace))
	u.mu.Lock()
	show := u.shows[name]
	delete(u.shows, name)
	u.mu.Unlock()
	if show != nil {
		show.AttemptEnded(a)
		show.Close()
	}
}

// stop ends the server, when all attempts have ended.
func (u *ui) stop() error {
	if u.web == nil {
		return nil
	}
	for _, show := range u.shows { // their lines could not be written
		show.Close()
	}
	u.end()
	if err := <-u.over; err != nil {
		return fmt.Errorf("--ui: %w", err)
	}
	return nil
}

// listen listens at an address, on loopback unless more is allowed. flag is its
// name, and instead what else may be done.
func listen(ctx context.Context, flag, addr string, remote bool, instead string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, usage(fmt.Errorf("%s: %w", flag, err))
	}
	if ip := net.ParseIP(host); !remote && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, usage(fmt.Errorf("%s %s: want an address on loopback, such as localhost:8765%s", flag, addr, instead))
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, broken(fmt.Errorf("%s: %w", flag, err))
	}
	return ln, nil
}
