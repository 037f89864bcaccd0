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

// scene is one session behind an id: live, or ended and still to be seen. live
// and recording are nil of an attempt that could not start.
type scene struct {
	live      *session.Session
	recording *trace.Recording

	caseID string // of the attempt whose session it is; empty: it is none's

	over    chan struct{} // closed when the session has ended and its verdict, if any, is there
	uncount func()        // takes its queues out of the metrics

	result []byte // eval_result; nil: none. Set before over is closed
	next   *scene // the one behind it; nil: it is the newest. The slot's lock guards it
}

// AttemptPublisher lets consoles and watchers see sessions as they come. It is for one
// goroutine.
type AttemptPublisher struct {
	slot      *slot
	recording *trace.Recording
	scene     *scene
}

// AttemptInfo is what consoles may know of an attempt that goes on.
type AttemptInfo struct {
	CaseID   string      `json:"case_id"`
	Task     string      `json:"task"`
	Epoch    int         `json:"epoch"` // from 1
	Limits   runs.Limits `json:"limits"`
	TaskSent time.Time   `json:"started,omitzero"` // when the agent was given its task; zero: it was not yet
}

// SessionID is that of the sessions.
func (w *AttemptPublisher) SessionID() string { return w.slot.id }

// AttemptStarting says what attempt is made from now on, until its Verdict.
func (w *AttemptPublisher) AttemptStarting(a AttemptInfo) {
	w.slot.change(func() { w.slot.going = &a })
}

// OnTaskSent says when the attempt's agent was given its task. It is for
// attempt.Config.
func (w *AttemptPublisher) OnTaskSent(at time.Time) {
	w.slot.change(func() {
		if w.slot.going != nil {
			a := *w.slot.going // who has it reads it without a lock
			a.TaskSent = at.UTC()
			w.slot.going = &a
		}
	})
}

// ended says that no attempt goes on.
func (w *AttemptPublisher) ended() { w.slot.change(func() { w.slot.going = nil }) }

// OnTrace takes in the trace of the session that is about to start. It is for
// attempt.Config.
func (w *AttemptPublisher) OnTrace(recording *trace.Recording) {
	if w.scene != nil {
		w.slot.finish(w.scene, nil)
	}
	w.recording, w.scene = recording, nil
	w.slot.enter(HostStarting)
	w.slot.server.follow(recording.Journal, true)
	if w.slot.shown {
		return
	}
	if err := w.slot.keep(recording); err != nil {
		w.slot.server.log.Warn("the notebook of this attempt will not be found again", "session", w.slot.id, "error", err)
	}
}

// ChildLineSink takes in what kernel and agent print. It is for attempt.Config.
func (w *AttemptPublisher) ChildLineSink(child string) func(line []byte) {
	return w.slot.printed.from(child)
}

// OnSession shows the session, which has started. It is for attempt.Config.
func (w *AttemptPublisher) OnSession(live *session.Session) {
	w.scene = w.slot.show(live, w.recording)
}

// AttemptEnded tells consoles how an attempt has ended, whose session is gone and
// whose line is on disk.
func (w *AttemptPublisher) AttemptEnded(a runs.Attempt) {
	w.ended()
	if w.scene == nil { // it could not start
		w.scene = w.slot.show(nil, w.recording)
	}
	w.slot.finish(w.scene, evalResult(a))
}

// Close ends the showing; consoles that are left are sent away.
func (w *AttemptPublisher) Close() {
	w.ended()
	if w.scene != nil {
		w.slot.finish(w.scene, nil)
	}
	if w.slot.shown {
		w.slot.close("the session has ended")
		w.slot.server.forget(w.slot)
	}
}

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

func evalResult(a runs.Attempt) []byte {
	body, err := json.Marshal(EvalResultMessage{protocol.TypeEvalResult, a.CaseID, a.Outcome, a.Detail, a.Passed, a.Score, a.Graders, a.Answer, a.DurationMS})
	if err != nil { // graders and answer were written as JSON before
		return fmt.Appendf(nil, `{"type":%q,"case_id":%q,"outcome":%q,"passed":null}`, protocol.TypeEvalResult, a.CaseID, a.Outcome)
	}
	return body
}
