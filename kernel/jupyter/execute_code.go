package jupyter

import (
	"encoding/json"
	"fmt"
	"time"

	"assay/internal/protocol"
)

const (
	// maxStreamBytes is how many bytes of stdout, and of stderr, of an execute_code are kept.
	maxStreamBytes = 4 << 20

	// maxResultBytes is how many bytes of the result of an execute_code are kept.
	maxResultBytes = 1 << 20
)

// executeCodeTask is an execute_code request: it runs code without a cell and sends text,
// result and error in one answer.
type executeCodeTask struct {
	server  *serverWriter
	request serverRequest
	code    string

	valueIsDisplayData bool // the value comes as display_data, not as execute_result
	stdout, stderr     boundedText
	result             *string
	raised             *raisedError
}

// newExecuteRequest returns the request to run the code.
func (c *executeCodeTask) newExecuteRequest(l languageSupport) executeRequest {
	c.valueIsDisplayData = l.valueIsDisplayData
	return executeRequest{Code: c.code}
}

// timeLimit returns 0: the code has no limit here, because the server stops code that it no
// longer waits for.
func (*executeCodeTask) timeLimit() time.Duration { return 0 }

// handlePrintedText keeps text that the code printed, for the answer.
func (s *executeCodeTask) handlePrintedText(stream string, text []byte) {
	if stream == protocol.Stderr {
		s.stderr.add(text)
	} else {
		s.stdout.add(text)
	}
}

// handleOutput keeps the value of the last expression or the error, for the answer. Other outputs
// are dropped, since the answer has no field for them.
func (c *executeCodeTask) handleOutput(m message) {
	fields := parseLenientObject(m.content)
	switch {
	case m.kind == "error":
		c.raised = newRaisedError(fields.stringField("ename"), fields.stringField("evalue"), fields.stringListField("traceback"))
	case m.kind == "execute_result", m.kind == "display_data" && c.valueIsDisplayData:
		var b mimeBundle
		_ = json.Unmarshal(m.content, &b) // missing fields are empty
		text := truncateMiddle(b.plainText(), maxResultBytes)
		c.result = &text
	}
}

// finish sends the answer. Its status is interrupted if the run was stopped or the kernel
// aborted it, otherwise error or ok.
func (c *executeCodeTask) finish(r executeReply, wasStopped bool) {
	if c.raised == nil && r.Status != "ok" && (r.EName != "" || r.EValue != "") {
		c.raised = newRaisedError(r.EName, r.EValue, r.Traceback)
	}
	status := protocol.StatusOK
	switch {
	case wasStopped, r.Status != "ok" && c.raised == nil:
		status = protocol.StatusInterrupted
	case c.raised != nil:
		status = protocol.StatusError
	}
	c.sendAnswer(status)
}

// answerNotRun answers that the code was interrupted, because it was stopped before it ran.
func (c *executeCodeTask) answerNotRun() { c.sendAnswer(protocol.StatusInterrupted) }

// sendAnswer sends the execute_code_response with this status and what was collected so far.
func (c *executeCodeTask) sendAnswer(status string) {
	response := protocol.ExecuteCodeResponse{
		Type: protocol.TypeExecuteCodeResponse, AgentTxID: c.request.agentTxID(), Status: status,
		Result: c.result, Stdout: c.stdout.String(), Stderr: c.stderr.String(),
	}
	if f := c.raised; f != nil {
		f.truncate(maxErrorBytes)
		response.Exception, response.EName, response.Error = f.tracebackText(), f.name, f.value
	}
	c.server.send(response)
}

// boundedText collects text and keeps only its beginning and its end, at most maxStreamBytes
// in all.
type boundedText struct {
	head, tail   []byte
	droppedBytes int
}

// add appends text and drops the middle if there is too much.
func (b *boundedText) add(text []byte) {
	const half = maxStreamBytes / 2
	room := min(half-len(b.head), len(text))
	b.head, text = append(b.head, text[:room]...), text[room:]
	b.tail = append(b.tail, text...)
	if over := len(b.tail) - half; over > half { // not at each call, which would copy too often
		b.droppedBytes += over
		b.tail = append(b.tail[:0], b.tail[over:]...)
	}
}

// String returns the text, with a line in the middle that says how many bytes were dropped, if
// any were. Nothing may be added after this call.
func (b *boundedText) String() string {
	const half = maxStreamBytes / 2
	over := max(0, len(b.tail)-half)
	if b.droppedBytes += over; b.droppedBytes == 0 {
		return string(b.head) + string(b.tail)
	}
	b.tail = b.tail[over:]
	return fmt.Sprintf("%s\n[… %d bytes …]\n%s", b.head, b.droppedBytes, b.tail)
}
