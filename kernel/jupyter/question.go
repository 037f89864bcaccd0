package jupyter

import (
	"encoding/json"
	"io"
	"time"
)

// questionLimit is how long the kernel may take for a question, whose answer can
// run what the user has written.
const questionLimit = 2 * time.Second

// question asks the kernel about one global, or, without a key, about all.
type question struct {
	ask    asked
	key    string
	answer func(told facts, problem string)
	stderr io.Writer

	found json.RawMessage
}

// facts is what the kernel tells.
type facts struct {
	Summary   json.RawMessage `json:"summary"`
	Truncated bool            `json:"truncated"`
	Info      json.RawMessage `json:"info"`
}

func isQuestion(w work) bool {
	_, ok := w.(*question)
	return ok
}

// request is for nothing where the kernel, started anew, cannot tell any more.
func (q *question) request(l language) executeRequest {
	if l.about == nil {
		return executeRequest{Silent: true}
	}
	return l.about(q.key)
}

func (*question) limit() time.Duration { return questionLimit }

func (q *question) text(_ string, text []byte) {
	_, _ = q.stderr.Write(text) // there is nobody to tell
}

func (q *question) output(m message) {
	var b bundle
	if json.Unmarshal(m.content, &b) == nil && b.Data["application/json"] != nil {
		q.found = b.Data["application/json"]
	}
}

func (q *question) end(r reply, stopped bool) {
	if told := r.Expressions[answerName].Data["application/json"]; told != nil {
		q.found = told
	}
	var told facts
	switch {
	case stopped:
		q.answer(told, "the kernel took too long to look at its globals")
	case json.Unmarshal(q.found, &told) != nil:
		q.answer(told, "the kernel could not look at its globals: "+newFailure(r.EName, r.EValue, nil).line())
	default:
		q.answer(told, "")
	}
}

// refuse cannot happen: nobody stops a question that waits.
func (q *question) refuse() { q.answer(facts{}, "stopped before it was asked") }
