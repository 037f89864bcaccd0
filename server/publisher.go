package server

import (
	"encoding/json"
	"fmt"
	"time"

	"assay/eval/runs"
	"assay/eval/session"
	"assay/internal/protocol"
	"assay/internal/trace"
)

// AttemptPublisher shows attempts to consoles and watchers of one session id while
// they are made. For each attempt, call AttemptStarting, make the attempt with
// OnTrace, OnSession, OnTaskSent and ChildLineSink in its attempt.Config, and call
// AttemptEnded. It is not safe for concurrent use.
type AttemptPublisher struct {
	host      *sessionHost
	recording *trace.Recording // of the session that starts or runs
	instance  *sessionInstance // of that session; nil: it has not started
}

// AttemptInfo describes an attempt in progress.
type AttemptInfo struct {
	CaseID   string      `json:"case_id"`
	Task     string      `json:"task"`
	Files    []string    `json:"files,omitempty"` // of the case, as paths in the working folder
	Epoch    int         `json:"epoch"`           // from 1
	Limits   runs.Limits `json:"limits"`
	TaskSent time.Time   `json:"started,omitzero"` // when the agent got its task; absent: it has not yet
}

// SessionID returns the id of the sessions.
func (p *AttemptPublisher) SessionID() string { return p.host.id }

// AttemptStarting announces the next attempt.
func (p *AttemptPublisher) AttemptStarting(attempt AttemptInfo) {
	p.host.updateAndNotify(func() { p.host.attempt = &attempt })
}

// OnTrace announces the trace of a session that is about to start. The session
// before, if any, is shown as ended.
func (p *AttemptPublisher) OnTrace(recording *trace.Recording) {
	if p.instance != nil {
		p.host.endInstance(p.instance, nil)
	}
	p.recording, p.instance = recording, nil
	p.host.setState(HostStarting)
	p.host.server.countAndLogJournal(recording.Journal, false) // the attempt logs its flow itself
	if p.host.external {
		return
	}
	if err := p.host.linkTrace(recording); err != nil {
		p.host.server.log.Warn("cannot restore the notebook of this attempt later", "session", p.host.id, "error", err)
	}
}

// ChildLineSink returns the function that gets the lines that the kernel or agent of
// the next session prints.
func (p *AttemptPublisher) ChildLineSink(child string) func(line []byte) {
	return p.host.output.lineSink(child)
}

// OnSession connects consoles to a session that has started, whose trace OnTrace
// announced.
func (p *AttemptPublisher) OnSession(live *session.Session) {
	p.instance = p.host.addInstance(live, p.recording)
}

// OnTaskSent records when the agent of the attempt got its task. After the attempt
// has ended it does nothing.
func (p *AttemptPublisher) OnTaskSent(at time.Time) {
	p.host.updateAndNotify(func() {
		if p.host.attempt != nil {
			attempt := *p.host.attempt // a copy: API requests read the old value without the lock
			attempt.TaskSent = at.UTC()
			p.host.attempt = &attempt
		}
	})
}

// AttemptEnded shows consoles the result of an attempt. Call it when its session has
// ended and its line has been written to attempts.jsonl.
func (p *AttemptPublisher) AttemptEnded(result runs.Attempt) {
	p.clearAttempt()
	if p.instance == nil { // the session could not start
		p.instance = p.host.addInstance(nil, p.recording)
	}
	p.host.endInstance(p.instance, marshalEvalResult(result))
}

// Close ends the publication. If PublishAttempts made the publisher, it also closes
// the consoles and frees the id.
func (p *AttemptPublisher) Close() {
	p.clearAttempt()
	if p.instance != nil {
		p.host.endInstance(p.instance, nil)
	}
	if p.host.external {
		p.host.close("the session has ended")
		p.host.server.removeSessionHost(p.host)
	}
}

func (p *AttemptPublisher) clearAttempt() { p.host.updateAndNotify(func() { p.host.attempt = nil }) }

// EvalResultMessage tells consoles at /agent how an attempt has ended. Its fields are
// those of [runs.Attempt].
type EvalResultMessage struct {
	Type          string            `json:"type"` // eval_result
	CaseID        string            `json:"case_id"`
	Outcome       runs.Outcome      `json:"outcome"`
	OutcomeDetail string            `json:"outcome_detail"`
	Passed        *bool             `json:"passed"`
	Score         *float64          `json:"score"`
	Graders       []json.RawMessage `json:"graders"`
	Answer        json.RawMessage   `json:"answer"`
	DurationMS    int64             `json:"duration_ms"`
}

// marshalEvalResult returns the EvalResultMessage of an attempt.
func marshalEvalResult(a runs.Attempt) []byte {
	body, err := json.Marshal(EvalResultMessage{
		Type: protocol.TypeEvalResult, CaseID: a.CaseID, Outcome: a.Outcome, OutcomeDetail: a.Detail,
		Passed: a.Passed, Score: a.Score, Graders: a.Graders, Answer: a.Answer, DurationMS: a.DurationMS,
	})
	if err != nil { // cannot happen: graders and answer were written as JSON before
		return fmt.Appendf(nil, `{"type":%q,"case_id":%q,"outcome":%q,"passed":null}`, protocol.TypeEvalResult, a.CaseID, a.Outcome)
	}
	return body
}
