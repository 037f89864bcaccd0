package jupyter

import (
	"encoding/json"
	"fmt"
	"time"

	"assay/internal/protocol"
)

const (
	// maxStreamBytes is how much of each stream of an execute_code is kept;
	// maxResultBytes how much of its result.
	maxStreamBytes = 4 << 20
	maxResultBytes = 1 << 20
)

// codeTask is an execute_code: code without a cell, whose text and result come in one
// answer.
type codeTask struct {
	server  *serverWriter
	request serverRequest
	code    string

	valueIsDisplayData bool // the value comes as display_data, not as execute_result
	stdout, stderr     boundedText
	result             *string
	raised             *raisedError
}

func (c *codeTask) executeRequest(l language) executeRequest {
	c.valueIsDisplayData = l.valueIsDisplayData
	return executeRequest{Code: c.code}
}

// timeLimit returns 0: the server stops code that it no longer waits for.
func (*codeTask) timeLimit() time.Duration { return 0 }

func (s *codeTask) addText(stream string, text []byte) {
	if stream == protocol.Stderr {
		s.stderr.add(text)
	} else {
		s.stdout.add(text)
	}
}

// addOutput keeps the value and the error. The answer has no place for other outputs.
func (c *codeTask) addOutput(m message) {
	fields := parseLooseObject(m.content)
	switch {
	case m.kind == "error":
		c.raised = newRaisedError(fields.stringField("ename"), fields.stringField("evalue"), fields.stringsField("traceback"))
	case m.kind == "execute_result", m.kind == "display_data" && c.valueIsDisplayData:
		var b mimeBundle
		_ = json.Unmarshal(m.content, &b) // missing fields are empty
		text := truncateMiddle(b.plainText(), maxResultBytes)
		c.result = &text
	}
}

func (c *codeTask) finish(r executeReply, wasStopped bool) {
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

func (c *codeTask) reject() { c.sendAnswer(protocol.StatusInterrupted) }

func (c *codeTask) sendAnswer(status string) {
	response := protocol.ExecuteCodeResponse{
		Type: protocol.TypeExecuteCodeResponse, AgentTxID: c.request.agentTxID(), Status: status,
		Result: c.result, Stdout: c.stdout.String(), Stderr: c.stderr.String(),
	}
	if f := c.raised; f != nil {
		f.truncate(maxErrorBytes)
		response.Exception, response.EName, response.Error = f.text(), f.name, f.value
	}
	c.server.send(response)
}

// boundedText keeps the beginning and the end of a text, maxStreamBytes in all.
type boundedText struct {
	head, tail   []byte
	droppedBytes int
}

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

// String returns the text, with a line in place of what was dropped. Nothing may be
// added afterwards.
func (b *boundedText) String() string {
	const half = maxStreamBytes / 2
	over := max(0, len(b.tail)-half)
	if b.droppedBytes += over; b.droppedBytes == 0 {
		return string(b.head) + string(b.tail)
	}
	b.tail = b.tail[over:]
	return fmt.Sprintf("%s\n[… %d bytes …]\n%s", b.head, b.droppedBytes, b.tail)
}
