package jupyter

import (
	"encoding/json"
	"fmt"
	"time"

	"assay/internal/protocol"
)

const (
	// longestStream is how much is kept of each stream of a snippet, longestResult
	// of its result, in bytes.
	longestStream = 4 << 20
	longestResult = 1 << 20
)

// snippet is one execute_code: code that is no cell, with an answer of its own.
type snippet struct {
	out  *sender
	ask  asked
	code string

	displays       bool // the value comes as display_data
	stdout, stderr ends
	result         *string
	failure        *failure
}

func (s *snippet) request(l language) executeRequest {
	s.displays = l.displays
	return executeRequest{Code: s.code}
}

// limit is none: the server stops what it no longer waits for.
func (*snippet) limit() time.Duration { return 0 }

func (s *snippet) text(stream string, text []byte) {
	if stream == protocol.Stderr {
		s.stderr.add(text)
	} else {
		s.stdout.add(text)
	}
}

// output keeps the value and the error. What else is shown has no place in the
// answer.
func (s *snippet) output(m message) {
	fields := parseLoose(m.content)
	switch {
	case m.kind == "error":
		s.failure = newFailure(fields.text("ename"), fields.text("evalue"), fields.texts("traceback"))
	case m.kind == "execute_result", m.kind == "display_data" && s.displays:
		var b bundle
		_ = json.Unmarshal(m.content, &b) // what it lacks is empty
		text := clip(b.plain(), longestResult)
		s.result = &text
	}
}

func (s *snippet) end(r reply, stopped bool) {
	if s.failure == nil && r.Status != "ok" && (r.EName != "" || r.EValue != "") {
		s.failure = newFailure(r.EName, r.EValue, r.Traceback)
	}
	status := protocol.StatusOK
	switch {
	case stopped, r.Status != "ok" && s.failure == nil:
		status = protocol.StatusInterrupted
	case s.failure != nil:
		status = protocol.StatusError
	}
	s.answer(status)
}

func (s *snippet) refuse() { s.answer(protocol.StatusInterrupted) }

func (s *snippet) answer(status string) {
	response := protocol.ExecuteCodeResponse{
		Type: protocol.TypeExecuteCodeResponse, AgentTxID: s.ask.id(), Status: status,
		Result: s.result, Stdout: s.stdout.String(), Stderr: s.stderr.String(),
	}
	if f := s.failure; f != nil {
		f.clip(longestError)
		response.Exception, response.EName, response.Error = f.text(), f.name, f.value
	}
	s.out.send(response)
}

// ends keeps the text of a stream, of a long one its two ends.
type ends struct {
	head, tail []byte
	dropped    int
}

func (e *ends) add(text []byte) {
	const half = longestStream / 2
	room := min(half-len(e.head), len(text))
	e.head, text = append(e.head, text[:room]...), text[room:]
	e.tail = append(e.tail, text...)
	if over := len(e.tail) - half; over > half { // not at every call
		e.dropped += over
		e.tail = append(e.tail[:0], e.tail[over:]...)
	}
}

// String returns the text, with a line for what is missing.
func (e *ends) String() string {
	const half = longestStream / 2
	over := max(0, len(e.tail)-half)
	if e.dropped += over; e.dropped == 0 {
		return string(e.head) + string(e.tail)
	}
	e.tail = e.tail[over:]
	return fmt.Sprintf("%s\n[… %d bytes …]\n%s", e.head, e.dropped, e.tail)
}
