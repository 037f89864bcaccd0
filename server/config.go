package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"assay/eval/session"
	"assay/internal/notebook"
	"assay/internal/redact"
	"assay/internal/trace"
	"assay/server/api"
)

// Config configures a [Server]. Either Token or EvalSandbox is required.
type Config struct {
	// EvalSandbox is the mode for evaluations on the user's own machine
	// (EVAL_SANDBOX=1): the token is EvalSandboxToken, only /run requires it, every
	// console may do everything, and requests must be addressed to localhost.
	EvalSandbox bool

	// Token is what every client must send. Ignored with EvalSandbox.
	Token string

	// AllowRemoteHosts accepts requests addressed to any host name, not only to
	// localhost. Ignored with EvalSandbox.
	AllowRemoteHosts bool

	// AllowedOrigins are the origins of web pages that may use this server, such as
	// "http://localhost:5173", besides those with the server's own address.
	AllowedOrigins []string

	// StartSession starts a session without a case. The server calls it when a
	// console asks for an id without a session, and ends the session. nil: only the
	// sessions of PublishAttempts can be used.
	StartSession func(ctx context.Context, options StartOptions) (*session.Session, error)

	// TraceDir is the folder for the traces of the sessions of StartSession. A new
	// session restores the notebook of the newest trace with its id. Required with
	// StartSession.
	TraceDir string

	// Redactor finds the secrets that are replaced in these traces; nil: none are.
	Redactor *redact.Redactor

	// IdleTimeout is how long a session without a case is kept while no console is
	// connected and nothing happens in it. 0: until the server stops.
	IdleTimeout time.Duration

	// PrepareCase returns what POST /api/sessions/{id}/case runs in place of the
	// session: the attempts at the case with this id in the file path, or at all
	// its cases if id is empty. nil: no cases can be attached.
	PrepareCase func(path, id string) (AttemptRunner, error)

	// ListCases returns the cases that can be attached, in the order in which they
	// are listed. Required with PrepareCase.
	ListCases func() ([]api.Case, error)

	// MCPSocketPath returns the path of the Unix socket at which the agent of a
	// session serves clients of the Model Context Protocol. nil: the agents do not.
	MCPSocketPath func(sessionID string) string

	// RunsDir is the folder of the stored runs that the API serves. Empty: none.
	RunsDir string

	// Person is the name of the person who does the work of the agents at the consoles. Empty: agents work.
	Person string

	// ConsoleRole is the role of the page at /agent unless it is opened with
	// another ?role=: RoleView, the default, or RoleHolder.
	ConsoleRole string

	// MaxFrameBytes is the size of the largest message that a console may send, in
	// bytes. 0: the protocol's default.
	MaxFrameBytes int64

	// PingInterval is the interval between two pings of a console, and how long it
	// may take to answer one. 0: 20 s.
	PingInterval time.Duration

	Version string       // of this program, for /api/config
	Log     *slog.Logger // nil discards
}

// StartOptions is what Config.StartSession needs to start a session.
type StartOptions struct {
	SessionID   string
	Journal     *trace.Journal  // of the session
	RestoreFrom *notebook.State // the notebook that the session begins with; nil: an empty one

	// ChildLineSink returns the function that gets the lines that the kernel or
	// agent prints. It is for session.Config.
	ChildLineSink func(child string) func(line []byte)
}

// AttemptRunner makes one or more attempts in place of a session without a case,
// and publishes each. It returns an error if it could not make them; how they ended
// is no error. It must return soon after ctx ends.
type AttemptRunner func(ctx context.Context, publisher *AttemptPublisher) error

// Validate returns an error, fit to be shown to the user, if the configuration has
// neither a token nor EvalSandbox, an invalid origin or an unknown role.
func (c Config) Validate() error {
	if c.Token == "" && !c.EvalSandbox {
		return errors.New("a token is needed: give --token-file, or set ASSAY_TOKEN or EVAL_SANDBOX=1")
	}
	for _, origin := range c.AllowedOrigins {
		if at, err := url.Parse(origin); err != nil || at.Scheme == "" || at.Host == "" || at.Path != "" {
			return fmt.Errorf("origin %q: want one such as http://localhost:5173", origin)
		}
	}
	if c.ConsoleRole != "" && c.ConsoleRole != RoleView && c.ConsoleRole != RoleHolder {
		return fmt.Errorf("console role %q: want %s or %s", c.ConsoleRole, RoleView, RoleHolder)
	}
	return nil
}
