// Package traceview finds the trace that a user names, in a file or in a live session,
// and prints its messages.
package traceview

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/cmd/assay/internal/exit"
	"assay/eval/runs"
	"assay/internal/client"
	"assay/internal/trace"
	"assay/internal/trace/flow"
)

// maxListedAttempts is the number of attempts that the error about an ambiguous name
// lists.
const maxListedAttempts = 3

// Target is a trace: a file, or a live session of a server.
type Target struct {
	name string // as errors call it
	path string // of the file; "" for a live session

	client        *client.Client
	sessionID     string
	hasServerSent bool // the server has sent a line, so it has accepted us
}

// FindTarget resolves name: a trace file, the folder of an attempt, the folder of a run
// with one attempt, RUN#CASE, or the address of a server, with ?session=ID for another
// session than defaultSession. token is the server's. Its errors carry an exit status.
func FindTarget(ctx context.Context, name, token, defaultSession string) (*Target, error) {
	if strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://") {
		return findSession(name, token, defaultSession)
	}
	path, err := findTraceFile(ctx, name)
	if err != nil {
		return nil, WithExitStatus(err)
	}
	return &Target{name: path, path: path}, nil
}

func findSession(address, token, defaultSession string) (*Target, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, exit.UsageError(err)
	}
	c, err := client.New(address, token)
	if err != nil {
		return nil, exit.UsageError(err)
	}
	sessionID := parsed.Query().Get("session")
	if sessionID == "" {
		sessionID = defaultSession
	}
	return &Target{name: address, client: c, sessionID: sessionID}, nil
}

// findTraceFile returns the path of the trace file that name stands for.
func findTraceFile(ctx context.Context, name string) (string, error) {
	info, err := os.Stat(name)
	if run, caseID, ok := cutLast(name, "#"); ok && errors.Is(err, fs.ErrNotExist) {
		return onlyAttemptTrace(ctx, run, caseID)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", exit.UsageError(fmt.Errorf("%s: no such file: want a trace, the folder of an attempt or a run, RUN#CASE, or the address of a server", name))
	}
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return name, nil
	}
	path := filepath.Join(name, "trace.jsonl")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return onlyAttemptTrace(ctx, name, "")
}

// cutLast cuts text around the last sep.
func cutLast(text, sep string) (before, after string, found bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}

// onlyAttemptTrace returns the trace file of the only attempt in the run folder dir, or
// of the only attempt at caseID unless that is "". It fails if there is not exactly one.
func onlyAttemptTrace(ctx context.Context, dir, caseID string) (string, error) {
	names, err := attemptFolders(ctx, dir, caseID)
	if err != nil {
		return "", err
	}
	slices.Sort(names)
	wanted := dir
	if caseID != "" {
		wanted += "#" + caseID
	}
	var folders []string
	for _, name := range names {
		folders = append(folders, filepath.Join(dir, "attempts", name))
	}
	switch {
	case len(folders) == 1:
		return filepath.Join(folders[0], "trace.jsonl"), nil
	case len(folders) == 0:
		return "", exit.UsageError(fmt.Errorf("%s: there is no such attempt", wanted))
	}
	list := strings.Join(folders[:min(len(folders), maxListedAttempts)], ", ")
	if len(folders) > maxListedAttempts {
		list += ", …"
	}
	return "", exit.UsageError(fmt.Errorf("%s: %d attempts: name one, as RUN#CASE or by its folder: %s", wanted, len(folders), list))
}

// attemptFolders returns the names of the attempt folders in the run folder dir, of all
// cases or only of caseID: first attempts that have ended, then running ones.
func attemptFolders(ctx context.Context, dir, caseID string) ([]string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	run, err := runs.NewStore(filepath.Dir(abs)).Open(filepath.Base(abs))
	if errors.Is(err, runs.ErrNotFound) {
		return nil, exit.UsageError(fmt.Errorf("%s: no trace.jsonl and no run.json: name a trace, or the folder of an attempt or of a run", dir))
	}
	if err != nil {
		return nil, err
	}
	defer run.Close()
	names, err := endedAttemptFolders(ctx, run, caseID)
	if err != nil {
		return nil, err
	}
	unfinished, err := run.UnfinishedAttempts(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range unfinished {
		if attempt, err := run.UnfinishedAttempt(name); err == nil && (caseID == "" || attempt.CaseSlug == caseID) {
			names = append(names, name)
		}
	}
	return names, nil
}

// endedAttemptFolders returns the folder names of the attempts in attempts.jsonl, of all cases
// or only of caseID.
func endedAttemptFolders(ctx context.Context, run *runs.Run, caseID string) (names []string, err error) {
	lines, err := run.AttemptLines()
	if errors.Is(err, runs.ErrNotFound) {
		return nil, nil // no attempt has ended yet
	}
	if err != nil {
		return nil, err
	}
	defer lines.Close()
	for line, err := range lines.LinesFrom(ctx, 1) {
		if err != nil {
			return nil, err
		}
		var attempt struct {
			CaseID string `json:"case_id"`
		}
		name := runs.AttemptFolderName(line.Text)
		if err := json.Unmarshal(line.Text, &attempt); err != nil {
			return nil, fmt.Errorf("attempts.jsonl: line %d: %w", line.Number, err)
		}
		if name != "" && (caseID == "" || attempt.CaseID == caseID) {
			names = append(names, name)
		}
	}
	return names, nil
}

// Open opens the lines that the trace has now.
func (t *Target) Open(ctx context.Context) (flow.LineSource, error) {
	if t.path != "" {
		return trace.OpenTail(t.path, nil)
	}
	var session struct {
		Seq int64 `json:"seq"`
	}
	if err := t.client.GetJSON(ctx, "api/sessions/"+url.PathEscape(t.sessionID), &session); err != nil {
		return nil, err
	}
	lines, err := t.Follow(ctx)
	if err != nil {
		return nil, err
	}
	return &limitedLines{LineSource: lines, left: session.Seq + 1}, nil
}

// Follow opens the lines that the trace has now and those that are added later.
func (t *Target) Follow(ctx context.Context) (flow.LineSource, error) {
	if t.path != "" {
		return trace.OpenTail(t.path, trace.PollFileSize(t.path))
	}
	watch, err := t.client.WatchTrace(ctx, t.sessionID, 1)
	if err != nil {
		return nil, err
	}
	return &sessionLines{TraceWatch: watch, target: t}, nil
}

// sessionLines are the lines of a live session. The first line shows that the server has
// accepted us: later errors are not about the token or the session's name.
type sessionLines struct {
	*client.TraceWatch
	target *Target
}

// Next returns the next line.
func (l *sessionLines) Next(ctx context.Context) ([]byte, error) {
	line, err := l.TraceWatch.Next(ctx)
	l.target.hasServerSent = l.target.hasServerSent || err == nil
	return line, err
}

// limitedLines ends after a number of lines: the header of a session and the entries that
// it had at the start.
type limitedLines struct {
	flow.LineSource
	left int64
}

// Next returns the next line, or io.EOF after the last one.
func (l *limitedLines) Next(ctx context.Context) ([]byte, error) {
	if l.left <= 0 {
		return nil, io.EOF
	}
	l.left--
	return l.LineSource.Next(ctx)
}

// ExplainError adds the name of the target, and what the user can do, to an error of
// reading it.
func (t *Target) ExplainError(err error) error {
	var refusal *client.ResponseError
	switch {
	case errors.As(err, &refusal) && !t.hasServerSent && !refusal.IsServerFault():
		return exit.UsageError(fmt.Errorf("%s: %w (the token is --token-file or ASSAY_TOKEN, the session ?session=ID in the address)", t.name, err))
	case errors.As(err, &refusal), errors.Is(err, trace.ErrNotTrace):
		return fmt.Errorf("%s: %w", t.name, err)
	case errors.Is(err, client.ErrUnreachable) && !t.hasServerSent:
		return fmt.Errorf("%w (assay serve serves sessions)", err)
	default:
		return err
	}
}

// WithExitStatus gives err an exit status if it has none: of bad usage if it is about a
// file that does not exist or is no trace, otherwise of a failed environment.
func WithExitStatus(err error) error {
	var status *exit.Error
	switch {
	case errors.As(err, &status):
		return err
	case errors.Is(err, trace.ErrNotTrace), errors.Is(err, fs.ErrNotExist):
		return exit.UsageError(err)
	default:
		return exit.BrokenError(err)
	}
}
