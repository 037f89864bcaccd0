package jupyter

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"assay/internal/protocol"
)

// globalsTimeout is how long the kernel may take to describe its globals, which can run
// the user's code.
const globalsTimeout = 2 * time.Second

// globalsTask asks the kernel to describe the global named key, or all globals if key
// is empty.
type globalsTask struct {
	request serverRequest
	key     string
	answer  func(found globalsAnswer, problem string)
	stderr  io.Writer // gets what the user's code prints meanwhile

	answerJSON json.RawMessage
}

// globalsAnswer is the kernel's description.
type globalsAnswer struct {
	Summary   json.RawMessage `json:"summary"`
	Truncated bool            `json:"truncated"`
	Info      json.RawMessage `json:"info"`
}

func isGlobalsTask(t task) bool {
	_, ok := t.(*globalsTask)
	return ok
}

// executeRequest returns an empty request if the kernel was restarted and can no longer
// describe its globals.
func (q *globalsTask) executeRequest(l language) executeRequest {
	if l.globalsRequest == nil {
		return executeRequest{Silent: true}
	}
	return l.globalsRequest(q.key)
}

func (*globalsTask) timeLimit() time.Duration { return globalsTimeout }

func (q *globalsTask) addText(_ string, text []byte) {
	_, _ = q.stderr.Write(text) // there is no other place for an error
}

func (q *globalsTask) addOutput(m message) {
	var b mimeBundle
	if json.Unmarshal(m.content, &b) == nil && b.Data["application/json"] != nil {
		q.answerJSON = b.Data["application/json"]
	}
}

func (q *globalsTask) finish(r executeReply, wasStopped bool) {
	if value := r.Expressions[answerExpression].Data["application/json"]; value != nil {
		q.answerJSON = value
	}
	var found globalsAnswer
	switch {
	case wasStopped:
		q.answer(found, "the kernel took too long to describe its globals")
	case json.Unmarshal(q.answerJSON, &found) != nil:
		q.answer(found, "the kernel could not describe its globals: "+newRaisedError(r.EName, r.EValue, nil).oneLine())
	default:
		q.answer(found, "")
	}
}

// reject is never called: nothing stops a queued question about globals.
func (q *globalsTask) reject() { q.answer(globalsAnswer{}, "stopped before it was asked") }

// sendSummary answers with a summary of the globals when the kernel has time, which may
// be only when the running cell has ended. If the kernel cannot describe them the
// summary is empty and a note says why.
func (a *adapter) sendSummary(request serverRequest, answer func(string, answerFields) answerFields) {
	reply := func(found globalsAnswer, problem string) {
		with := answerFields{"summary": found.Summary, "truncated": found.Truncated}
		if problem != "" || len(found.Summary) == 0 {
			with = answerFields{"summary": json.RawMessage("{}"), "truncated": false, "note": problem}
		}
		a.server.send(answer(protocol.TypeGlobalsSummary, with))
	}
	if !a.canDescribeGlobals {
		reply(globalsAnswer{}, "the globals of this kernel's language cannot be described")
		return
	}
	a.queueTask(&globalsTask{request: request, answer: reply, stderr: a.cfg.Stderr})
}

// sendGlobalInfo answers with a description of one global, at the same time as
// sendSummary would.
func (a *adapter) sendGlobalInfo(request serverRequest) error {
	if request.Key == "" {
		return errors.New("get_global_info: key is missing or empty")
	}
	reply := func(found globalsAnswer, problem string) {
		with := answerFields{"status": protocol.StatusSuccess, "info": found.Info}
		if problem == "" && len(found.Info) == 0 {
			problem = fmt.Sprintf("there is no global %q", request.Key)
		}
		if problem != "" {
			with = answerFields{"status": protocol.StatusError, "error": problem}
		}
		a.server.send(request.newAnswer("get_global_info_response", with))
	}
	if !a.canDescribeGlobals {
		reply(globalsAnswer{}, "the globals of this kernel's language cannot be described")
		return nil
	}
	a.queueTask(&globalsTask{request: request, key: request.Key, answer: reply, stderr: a.cfg.Stderr})
	return nil
}

// handleAction answers an agent_action, the older form of the two requests for
// summaries.
func (a *adapter) handleAction(request serverRequest) error {
	answer := func(_ string, with answerFields) answerFields {
		answer := request.newAnswer(protocol.TypeActionResponse, with)
		answer["tx_id"], answer["status"] = request.TxID, protocol.StatusSuccess
		return answer
	}
	switch request.Action {
	case "request_globals_summary":
		a.sendSummary(request, answer)
	case "request_reactivity_summary":
		a.server.send(answer("", emptyReactivity()))
	default:
		return fmt.Errorf("agent_action: a kernel does not know the action %q", request.Action)
	}
	return nil
}

// emptyReactivity returns the reactivity summary of a kernel in which no cell depends
// on another.
func emptyReactivity() answerFields {
	return answerFields{
		"summary":         "## Reactive Dependencies\n\n### Signals\n\n### Code Cell Dependencies\n",
		"cell_reactivity": map[string]any{},
	}
}
