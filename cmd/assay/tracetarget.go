package main

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

	"assay/eval/runs"
	"assay/internal/client"
	"assay/internal/trace"
	"assay/internal/trace/flow"
	"assay/server"
)

// traceTarget is where a trace is: in a file, or in a live session.
type traceTarget struct {
	name string // as it is called in errors
	path string // of the file; empty: it is a live session

	client  *client.Client
	session string
	begun   bool // the server has let us in
}

// findTrace understands what was asked for. Its errors have their exit status.
func findTrace(ctx context.Context, arg, token string) (*traceTarget, error) {
	if strings.HasPrefix(arg, "http://") || strings.HasPrefix(arg, "https://") {
		return liveTrace(arg, token)
	}
	path, err := traceFile(ctx, arg)
	if err != nil {
		return nil, statusOf(err)
	}
	return &traceTarget{name: path, path: path}, nil
}

func liveTrace(arg, token string) (*traceTarget, error) {
	address, err := url.Parse(arg)
	if err != nil {
		return nil, usage(err)
	}
	c, err := client.New(arg, token)
	if err != nil {
		return nil, usage(err)
	}
	session := address.Query().Get("session")
	if session == "" {
		session = server.DefaultSessionID
	}
	return &traceTarget{name: arg, client: c, session: session}, nil
}

// traceFile is the file that a path stands for: itself, an attempt's, or that of
// the only attempt of a run, or of RUN#CASE.
func traceFile(ctx context.Context, arg string) (string, error) {
	info, err := os.Stat(arg)
	if run, caseID, ok := cutLast(arg, "#"); ok && errors.Is(err, fs.ErrNotExist) {
		return attemptTrace(ctx, run, caseID)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", usage(fmt.Errorf("%s: no such file: want a trace, the folder of an attempt or a run, RUN#CASE, or the address of a server", arg))
	}
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return arg, nil
	}
	path := filepath.Join(arg, "trace.jsonl")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return attemptTrace(ctx, arg, "")
}

func cutLast(text, sep string) (before, after string, found bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}

// attemptTrace is the trace of a run's only attempt, or of its only one at a
// case.
func attemptTrace(ctx context.Context, dir, caseID string) (string, error) {
	names, err := attemptsOf(ctx, dir, caseID)
	if err != nil {
		return "", err
	}
	slices.Sort(names)
	of := dir
	if caseID != "" {
		of += "#" + caseID
	}
	var folders []string
	for _, name := range names {
		folders = append(folders, filepath.Join(dir, "attempts", name))
	}
	const most = 3
	switch {
	case len(folders) == 1:
		return filepath.Join(folders[0], "trace.jsonl"), nil
	case len(folders) == 0:
		return "", usage(fmt.Errorf("%s: there is no such attempt", of))
	case len(folders) > most:
		return "", usage(fmt.Errorf("%s: %d attempts: name one, as RUN#CASE or by its folder: %s, …", of, len(folders), strings.Join(folders[:most], ", ")))
	default:
		return "", usage(fmt.Errorf("%s: %d attempts: name one, as RUN#CASE or by its folder: %s", of, len(folders), strings.Join(folders, ", ")))
	}
}

// attemptsOf are the names of the folders of a run's attempts, at one case or at
// all: those that have ended, then those that go on.
func attemptsOf(ctx context.Context, dir, caseID string) ([]string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	run, err := runs.NewStore(filepath.Dir(abs)).Open(filepath.Base(abs))
	if errors.Is(err, runs.ErrNotFound) {
		return nil, usage(fmt.Errorf("%s: no trace.jsonl and no run.json: name a trace, or the folder of an attempt or of a run", dir))
	}
	if err != nil {
		return nil, err
	}
	defer run.Close()
	names, err := endedAttempts(ctx, run, caseID)
	if err != nil {
		return nil, err
	}
	running, err := run.UnfinishedAttempts(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range running {
		if began, err := run.UnfinishedAttempt(name); err == nil && (caseID == "" || began.CaseSlug == caseID) {
			names = append(names, name)
		}
	}
	return names, nil
}

func endedAttempts(ctx context.Context, run *runs.Run, caseID string) (names []string, err error) {
	lines, err := run.AttemptLines()
	if errors.Is(err, runs.ErrNotFound) {
		return nil, nil // it has only begun
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

// open opens what is there now.
func (t *traceTarget) open(ctx context.Context) (flow.LineSource, error) {
	if t.path != "" {
		return trace.OpenTail(t.path, nil)
	}
	var session struct {
		Seq int64 `json:"seq"`
	}
	if err := t.client.GetJSON(ctx, "api/sessions/"+url.PathEscape(t.session), &session); err != nil {
		return nil, err
	}
	src, err := t.follow(ctx)
	if err != nil {
		return nil, err
	}
	return &firstLines{LineSource: src, left: session.Seq + 1}, nil
}

// follow opens what is there and what comes.
func (t *traceTarget) follow(ctx context.Context) (flow.LineSource, error) {
	if t.path != "" {
		return trace.OpenTail(t.path, trace.PollFileSize(t.path))
	}
	watch, err := t.client.WatchTrace(ctx, t.session, 1)
	if err != nil {
		return nil, err
	}
	return &entered{TraceWatch: watch, target: t}, nil
}

// entered notes that the server has sent something: what it says from then on is
// not about the way in.
type entered struct {
	*client.TraceWatch
	target *traceTarget
}

func (e *entered) Next(ctx context.Context) ([]byte, error) {
	line, err := e.TraceWatch.Next(ctx)
	e.target.begun = e.target.begun || err == nil
	return line, err
}

// firstLines ends a source after so many lines: a session's header and the
// entries that were there.
type firstLines struct {
	flow.LineSource
	left int64
}

func (f *firstLines) Next(ctx context.Context) ([]byte, error) {
	if f.left <= 0 {
		return nil, io.EOF
	}
	f.left--
	return f.LineSource.Next(ctx)
}

// explain says of an error of this target where it was and what can be done.
func (t *traceTarget) explain(err error) error {
	var refusal *client.Error
	switch {
	case errors.As(err, &refusal) && !t.begun && !refusal.IsServerFault():
		return usage(fmt.Errorf("%s: %w (the token is --token or ASSAY_TOKEN, the session ?session=ID in the address)", t.name, err))
	case errors.As(err, &refusal), errors.Is(err, trace.ErrNotTrace):
		return fmt.Errorf("%s: %w", t.name, err)
	case errors.Is(err, client.ErrUnreachable) && !t.begun:
		return fmt.Errorf("%w (assay serve serves sessions)", err)
	default:
		return err
	}
}

// statusOf gives an error that has no exit status one: bad input, or what cannot
// be read.
func statusOf(err error) error {
	var status *statusError
	switch {
	case errors.As(err, &status):
		return err
	case errors.Is(err, trace.ErrNotTrace), errors.Is(err, fs.ErrNotExist):
		return usage(err)
	default:
		return broken(err)
	}
}
