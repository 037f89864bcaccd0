package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/internal/protocol"
	"assay/internal/subprocess"
)

// situation is one thing that can happen to an agent, played to a new process of it.
type situation struct {
	name    string
	section string // see Finding
	rule    string // what an agent must do that does not pass
	what    string // what is unusual, for judge; may be empty
	needs   string // another situation: if that fails, this one is not tried; empty: none

	isLive       bool // in a live session: without eval_mode
	startsItself bool // run begins after the ready message; otherwise after agent_status ready
	isTolerable  bool // the server spares agents this situation: a failure is a warning

	// prepare, if set, changes what the server does. It is called before the agent is started.
	prepare func(p *server)

	run func(ctx context.Context, p *server) Finding
}

// Names of the situations that others need.
const (
	handshake = "handshake"
	query     = "query"
)

// isNeeded reports whether other situations need this one, so that it is tried before them.
func (s situation) isNeeded() bool { return s.name == handshake || s.name == query }

// Sections of docs/protocol.md: how their headings begin.
const (
	sectionFraming    = "Framing"
	sectionStarting   = "Starting and stopping"
	sectionAgents     = "Agents"
	sectionActions    = "Actions"
	sectionEvaluation = "An evaluation"
)

// situations returns all situations in the order in which they are reported.
func situations() []situation {
	return slices.Concat(startSituations(), messageSituations(), answerSituations(), kernelSituations(), querySituations(), endSituations())
}

func pass(format string, args ...any) Finding {
	return Finding{Status: StatusPass, Detail: fmt.Sprintf(format, args...)}
}

func skip(format string, args ...any) Finding {
	return Finding{Status: StatusSkip, Detail: fmt.Sprintf(format, args...)}
}

func warn(format string, args ...any) Finding {
	return Finding{Status: StatusWarn, Detail: fmt.Sprintf(format, args...)}
}

func fail(format string, args ...any) Finding {
	return Finding{Status: StatusFail, Detail: fmt.Sprintf(format, args...)}
}

// exitCode reports whether err says that the agent's process has exited by itself, and with which status.
func exitCode(err error) (exited bool, code int) {
	died, ok := errors.AsType[*subprocess.ExitError](err)
	if !ok || died.Exit.Signal != "" || died.Exit.StatusUnknown {
		return false, 0
	}
	return true, died.Exit.Code
}

// isSilent reports whether err says that nothing has come in time.
func isSilent(err error) bool {
	_, ok := errors.AsType[*silentError](err)
	return ok
}

// failure returns the finding for a wait that has ended with err. For an agent that is silent it closes the
// connection, and says what the agent sent and printed last.
func (p *server) failure(err error) Finding {
	if !isSilent(err) {
		return connectionFailure(err)
	}
	why := p.describeSilence()
	text := fmt.Sprintf("%v; %v", err, why)
	if printed := strings.TrimSpace(p.agent.LastOutput()); printed != "" {
		text += "; it printed last: " + printed
	}
	f := connectionFailure(why)
	f.Detail = text
	return f
}

// connectionFailure returns the finding for an error of the agent's process or its connection. One of the framing
// has the section about that.
func connectionFailure(err error) Finding {
	f := fail("%v", err)
	_, isLength := errors.AsType[*protocol.FrameLengthError](err)
	if _, isCut := errors.AsType[*protocol.CutFrameError](err); isCut || isLength {
		f.Section, f.Remedy = sectionFraming, "send a length that is right in front of each message, and nothing else"
	}
	return f
}

// startFailure returns the finding for an agent that has not become ready because of err.
func startFailure(err error) Finding {
	f := connectionFailure(err)
	if _, hasDied := errors.AsType[*subprocess.ExitError](err); hasDied {
		f.Remedy = "repair what ends the program before it is ready"
	}
	return f
}

// cutFrameTimeout is how long the reader may take to notice that the connection was closed.
const cutFrameTimeout = time.Second

// describeSilence closes the connection to an agent that is silent and returns what it has sent last: a part of a
// frame, as a CutFrameError, or the last message, which may be an action that it waits for.
func (p *server) describeSilence() error {
	_ = p.agent.Close(protocol.CloseNormal, "")
	if cut, ok := errors.AsType[*protocol.CutFrameError](p.log.awaitEnd(context.Background(), cutFrameTimeout)); ok {
		return fmt.Errorf("it has sent %w", cut)
	}
	frames := p.log.from(0)
	switch last := frames[len(frames)-1]; {
	case last.malformed != nil:
		return fmt.Errorf("its last message is malformed: %w", last.malformed)
	case last.Type != protocol.TypeAgentAction:
		return errors.New("its last message was " + strings.TrimSpace(last.Type+" "+last.Status))
	case rawTxID(last.body) == nil:
		problem, _ := protocol.ProblemWithTxID(last.body)
		return fmt.Errorf("its last message was %s: %s", last.Action, problem)
	default:
		return fmt.Errorf("its last message was %s (tx_id %s)", last.Action, rawTxID(last.body))
	}
}

// newInit returns the init message for an evaluation or a live session.
func newInit(evalMode bool) protocol.AgentInit {
	init := protocol.AgentInit{Type: protocol.TypeInit, SessionID: 1, EvalMode: evalMode, Language: "python"}
	if evalMode {
		init.Limits = json.RawMessage(`{"wall_s":600,"idle_s":300,"cell_s":300,"turns":100,"actions":1000,"tokens":0,"cost_usd":0,"disk_bytes":2147483648,"trace_bytes":1073741824}`)
	}
	return init
}

// task is the text of the queries, in the form of an evaluation's.
const task = `How much is 6 times 7? Compute it in a cell of the notebook that prints the result. Answer {"result": <number>}.

Work in the live notebook that your tools give you. Your working folder holds the files listed below; they do not matter for the task.

When you have finished, call submit_response with next_status "done". Its summary must contain your answer as one JSON object between <EVAL_ANSWER> and </EVAL_ANSWER>, raw, without a code fence, and must end with [EVAL_COMPLETE]. Write that marker nowhere else, and do not submit while a cell is still running.`

// requestID is the id of a situation's first query, secondRequestID that of its second.
const (
	requestID       = "check-1"
	secondRequestID = "check-2"
)

// newQuery returns a query with a file in the working folder.
func newQuery(workdir, text, id string) protocol.AgentQuery {
	files, _ := json.Marshal([]map[string]string{{"type": "File", "path": dataFile, "id": "rows", "local_path": filepath.Join(workdir, dataFile)}}) //nolint:errchkjson // strings
	return protocol.AgentQuery{Type: protocol.TypeAgentQuery, Query: text, RequestID: id, ContextualNodeData: files}
}

// initialize sends the agent an init and waits until it says that it is ready for a query, which an agent that does not
// read the init may have done before. It returns how long that took.
func (p *server) initialize(ctx context.Context, init protocol.AgentInit) (took time.Duration, err error) {
	sentAt := time.Now()
	p.send(init)
	f, err := p.log.awaitFrame(ctx, 0, p.cfg.Agent.ReadyTimeout, "no agent_status ready after init", isInitAnswer)
	if err == nil && f.Type == protocol.TypeAgentError {
		err = errors.New("it has answered init with a fatal error: " + readTurn([]frame{f}).fatalErrors[0])
	}
	return max(0, f.at.Sub(sentAt)), err
}

func isReadyStatus(f frame) bool {
	return f.Type == protocol.TypeAgentStatus && f.Status == protocol.AgentReady
}

// isInitAnswer reports whether a frame answers an init: the agent is ready, or has a fatal error.
func isInitAnswer(f frame) bool {
	return isReadyStatus(f) || f.Type == protocol.TypeAgentError && len(readTurn([]frame{f}).fatalErrors) > 0
}

// judge returns the finding about a query in an unusual situation: err must be nil, and the agent must have
// answered as it does in the situation query.
func (p *server) judge(t turn, err error) Finding {
	switch {
	case err != nil:
		return p.failure(err)
	case len(t.fatalErrors) > 0:
		return fail("it %s", t.describe())
	case !t.hasAnswer(p.situation.isLive) && p.baseline.hasAnswer(p.situation.isLive):
		return fail("it %s; in the situation %s it %s", t.describe(), query, p.baseline.describe())
	default:
		return pass("%s", strings.TrimPrefix(p.situation.what+"; it "+t.describe(), "; "))
	}
}
