package jupyter

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"assay/internal/protocol"
)

// globalsTimeout is how long the kernel may take to describe its globals, for which it may run
// the user's code, such as a __repr__.
const globalsTimeout = 2 * time.Second

// globalsTask asks the kernel to describe the global variable named key, or all of them if key
// is empty, and passes the description to answer.
type globalsTask struct {
	request serverRequest
	key     string
	answer  func(found globalsDescription, problem string)
	stderr  io.Writer // gets what the user's code prints meanwhile

	answerJSON json.RawMessage
}

// globalsDescription is what the kernel returns about its globals: a summary of all of them,
// or info about one.
type globalsDescription struct {
	Summary   json.RawMessage `json:"summary"`
	Truncated bool            `json:"truncated"`
	Info      json.RawMessage `json:"info"`
}

// isGlobalsTask reports whether t asks the kernel about its globals.
func isGlobalsTask(t task) bool {
	_, ok := t.(*globalsTask)
	return ok
}

// newExecuteRequest returns the request to describe the globals. It is empty if the kernel was
// restarted meanwhile and can no longer describe them.
func (q *globalsTask) newExecuteRequest(l languageSupport) executeRequest {
	if l.globalsRequest == nil {
		return executeRequest{Silent: true}
	}
	return l.globalsRequest(q.key)
}

// timeLimit returns globalsTimeout.
func (*globalsTask) timeLimit() time.Duration { return globalsTimeout }

// handlePrintedText writes text that the user's code prints meanwhile to stderr.
func (q *globalsTask) handlePrintedText(_ string, text []byte) {
	_, _ = q.stderr.Write(text) // there is no other place for an error
}

// handleOutput keeps the description if an output contains it as application/json.
func (q *globalsTask) handleOutput(m message) {
	var b mimeBundle
	if json.Unmarshal(m.content, &b) == nil && b.Data["application/json"] != nil {
		q.answerJSON = b.Data["application/json"]
	}
}

// finish passes the kernel's description to answer, or the problem if it took too long or
// failed.
func (q *globalsTask) finish(r executeReply, wasStopped bool) {
	if value := r.Expressions[answerExpressionKey].Data["application/json"]; value != nil {
		q.answerJSON = value
	}
	var found globalsDescription
	switch {
	case wasStopped:
		q.answer(found, "the kernel took too long to describe its globals")
	case json.Unmarshal(q.answerJSON, &found) != nil:
		q.answer(found, "the kernel could not describe its globals: "+newRaisedError(r.EName, r.EValue, nil).summaryLine())
	default:
		q.answer(found, "")
	}
}

// answerNotRun reports that the kernel was not asked. It is never called, because nothing
// stops a queued question about globals.
func (q *globalsTask) answerNotRun() { q.answer(globalsDescription{}, "stopped before it was asked") }

// answerGlobalsSummary queues a question to the kernel and answers the request with a summary
// of all globals. The answer may come only after the running cell has ended. If the kernel
// cannot describe its globals, the summary is empty and a note says why. answer builds the
// message from its type and fields.
func (a *adapter) answerGlobalsSummary(request serverRequest, answer func(string, messageFields) messageFields) {
	reply := func(found globalsDescription, problem string) {
		with := messageFields{"summary": found.Summary, "truncated": found.Truncated}
		if problem != "" || len(found.Summary) == 0 {
			with = messageFields{"summary": json.RawMessage("{}"), "truncated": false, "note": problem}
		}
		a.server.send(answer(protocol.TypeGlobalsSummary, with))
	}
	if !a.canDescribeGlobals {
		reply(globalsDescription{}, "the globals of this kernel's language cannot be described")
		return
	}
	a.queueTask(&globalsTask{request: request, answer: reply, stderr: a.cfg.Stderr})
}

// answerGlobalInfo queues a question to the kernel and answers the request with a description
// of the global named request.Key, or an error if there is none or the kernel cannot describe
// it. The answer may come only after the running cell has ended. It returns an error if the
// key is empty.
func (a *adapter) answerGlobalInfo(request serverRequest) error {
	if request.Key == "" {
		return errors.New("get_global_info: key is missing or empty")
	}
	reply := func(found globalsDescription, problem string) {
		with := messageFields{"status": protocol.StatusSuccess, "info": found.Info}
		if problem == "" && len(found.Info) == 0 {
			problem = fmt.Sprintf("there is no global %q", request.Key)
		}
		if problem != "" {
			with = messageFields{"status": protocol.StatusError, "error": problem}
		}
		a.server.send(request.newAnswer("get_global_info_response", with))
	}
	if !a.canDescribeGlobals {
		reply(globalsDescription{}, "the globals of this kernel's language cannot be described")
		return nil
	}
	a.queueTask(&globalsTask{request: request, key: request.Key, answer: reply, stderr: a.cfg.Stderr})
	return nil
}

// answerAgentAction answers an agent_action, the older form of the requests for a summary of
// globals or of reactivity. It returns an error for any other action.
func (a *adapter) answerAgentAction(request serverRequest) error {
	answer := func(_ string, with messageFields) messageFields {
		answer := request.newAnswer(protocol.TypeActionResponse, with)
		answer["tx_id"], answer["status"] = request.TxID, protocol.StatusSuccess
		return answer
	}
	switch request.Action {
	case "request_globals_summary":
		a.answerGlobalsSummary(request, answer)
	case "request_reactivity_summary":
		a.server.send(answer("", emptyReactivitySummary()))
	default:
		return fmt.Errorf("agent_action: a kernel does not know the action %q", request.Action)
	}
	return nil
}

// emptyReactivitySummary returns the fields of a reactivity summary in which no cell depends on
// another.
func emptyReactivitySummary() messageFields {
	return messageFields{
		"summary":         "## Reactive Dependencies\n\n### Signals\n\n### Code Cell Dependencies\n",
		"cell_reactivity": map[string]any{},
	}
}
