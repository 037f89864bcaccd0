package attempt

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/testcases/grading"
)

// historyMessage is one message of the agent's conversation. Only the fields that the watcher needs
// are decoded, so that an unexpected type of any other field, such as a number as the timestamp,
// loses nothing.
type historyMessage struct {
	role    string // user or assistant
	content json.RawMessage
	blocks  []contentBlock // of the content; nil if it is a text
	raw     json.RawMessage
}

// contentBlock has the fields of a message's content block that the watcher uses.
type contentBlock struct {
	kind  string // "tool_use", "text" and others
	name  string // of a tool
	input json.RawMessage
}

// submission is the agent's submitted answer: the input of the tool submit_response, or the
// structured_output of an older agent.
type submission struct {
	summary    string
	nextStatus string          // empty if it is no text
	questions  json.RawMessage // text or a list
	raw        json.RawMessage // all of it, as the agent has sent it
}

// agentResult is the message by which older agents submit, and in which the answer is graded.
type agentResult struct {
	Type   string          `json:"type"`
	Output json.RawMessage `json:"structured_output"`
}

// parseHistoryUpdate returns the message in the body of an agent_history_updated; nil if it has
// none, or one in another form than Anthropic's. The error says what of it cannot be read; then
// the message has the rest.
func parseHistoryUpdate(body []byte) (*historyMessage, error) {
	var update struct {
		Entry json.RawMessage `json:"entry"`
	}
	if err := json.Unmarshal(body, &update); err != nil || isNull(update.Entry) {
		return nil, err
	}
	var entry struct {
		Type    json.RawMessage `json:"type"`
		Role    json.RawMessage `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(update.Entry, &entry); err != nil {
		return nil, fmt.Errorf("entry: want an object, found %s", excerptOf(update.Entry))
	}
	if kind, err := textIn(entry.Type, "entry.type"); err != nil || kind != "" && kind != protocol.HistoryEntryTypeAnthropicMessage {
		return nil, err
	}
	role, err := textIn(entry.Role, "entry.role")
	if err == nil && role == "" {
		err = errors.New("entry.role is missing")
	}
	if err != nil {
		return nil, err
	}
	blocks, err := parseContent(entry.Content)
	return &historyMessage{role: role, content: entry.Content, blocks: blocks, raw: update.Entry}, err
}

// maxContentBlocks is how many content blocks of a message are read. In memory a block may take a
// hundred times as much as in the message.
const maxContentBlocks = 10_000

// splitContent returns the content blocks of a message as JSON, at most maxContentBlocks. It fails if
// the content is no list, and if it has more blocks, which are left out.
func splitContent(content json.RawMessage) (blocks []json.RawMessage, err error) {
	if kind := bytes.TrimLeft(content, " \t\r\n"); len(kind) == 0 || kind[0] != '[' {
		return nil, errNoList
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	for decoder.More() {
		if len(blocks) == maxContentBlocks {
			return blocks, fmt.Errorf("entry.content: more than %d blocks: the rest is not read", maxContentBlocks)
		}
		var block json.RawMessage
		if err := decoder.Decode(&block); err != nil {
			return blocks, err
		}
		blocks = append(blocks, block)
	}
	return blocks, nil
}

// errNoList is the error of splitContent about a content that is no list.
var errNoList = errors.New("no list")

// parseContent returns the content blocks of a message; nil if the content is a text. The error
// says which part cannot be read; the blocks have the rest.
func parseContent(content json.RawMessage) (blocks []contentBlock, problem error) {
	list, problem := splitContent(content)
	if errors.Is(problem, errNoList) {
		_, err := textIn(content, "entry.content")
		if err != nil {
			err = fmt.Errorf("entry.content: want a text or a list of blocks, found %s", excerptOf(content))
		}
		return nil, err
	}
	for i, item := range list {
		var fields struct {
			Type  json.RawMessage `json:"type"`
			Name  json.RawMessage `json:"name"`
			Input json.RawMessage `json:"input"`
		}
		where := fmt.Sprintf("entry.content[%d]", i)
		if json.Unmarshal(item, &fields) != nil {
			problem = errors.Join(problem, fmt.Errorf("%s: want an object, found %s", where, excerptOf(item)))
			continue
		}
		kind, kindErr := textIn(fields.Type, where+".type")
		name, nameErr := textIn(fields.Name, where+".name")
		problem = errors.Join(problem, kindErr, nameErr)
		blocks = append(blocks, contentBlock{kind: kind, name: name, input: fields.Input})
	}
	return blocks, problem
}

// splitToolUses returns the submissions among the content blocks of a message, the inputs of its
// uses of the submission tool, and how many other uses of tools it has. The error says which
// submission cannot be read.
func splitToolUses(blocks []contentBlock) (submissions []submission, others int, problem error) {
	for _, b := range blocks {
		if b.kind != "tool_use" {
			continue
		}
		if !grading.IsSubmissionTool(b.name) {
			others++
			continue
		}
		s, err := parseSubmission(b.input)
		if err != nil {
			others++
			problem = errors.Join(problem, fmt.Errorf("the input of %s: %w", b.name, err))
			continue
		}
		submissions = append(submissions, s)
	}
	return submissions, others, problem
}

// parseSubmission parses the JSON of a submission. It fails if that is no object or its summary is
// no text.
func parseSubmission(raw json.RawMessage) (submission, error) {
	var fields struct {
		Summary    json.RawMessage `json:"summary"`
		NextStatus json.RawMessage `json:"next_status"`
		Questions  json.RawMessage `json:"questions"`
	}
	if json.Unmarshal(raw, &fields) != nil || isNull(raw) {
		return submission{}, fmt.Errorf("want an object, found %s", excerptOf(raw))
	}
	summary, err := textIn(fields.Summary, "summary")
	if err != nil {
		return submission{}, err
	}
	nextStatus, _ := textIn(fields.NextStatus, "next_status") // the marker in the summary decides, whatever this is
	return submission{summary: summary, nextStatus: nextStatus, questions: fields.Questions, raw: raw}, nil
}

// marshalAsResult returns the JSON of the agent_result with this submission.
func (s submission) marshalAsResult() json.RawMessage {
	return marshalMessage(agentResult{Type: protocol.TypeAgentResult, Output: s.raw})
}

// isMarked reports whether the submission has the completion marker.
func (s submission) isMarked() bool { return strings.Contains(s.summary, CompletionMarker) }

// isQuestion reports whether the agent asks a person something with this submission instead of
// giving an answer.
func (s submission) isQuestion() bool {
	switch string(bytes.TrimSpace(s.questions)) {
	case "", "null", `""`, "[]":
		return s.nextStatus == protocol.AgentAwaitingUser
	default:
		return true
	}
}

// maxReportedTokens and maxReportedCost, in dollars, are the largest numbers that are believed, so that sums do not
// overflow.
const (
	maxReportedTokens = 1e15
	maxReportedCost   = 1e9
)

// parseUsage parses an agent_usage_update. It fails if a number is negative or not plausible.
func parseUsage(body []byte) (usage protocol.UsageUpdate, err error) {
	if err := json.Unmarshal(body, &usage); err != nil {
		return usage, err
	}
	for _, tokens := range []int64{usage.InputTokens, usage.OutputTokens, usage.CacheReadInputTokens, usage.CacheCreationInputTokens} {
		if tokens < 0 || tokens > maxReportedTokens {
			return usage, fmt.Errorf("%d tokens: want a number from 0 to %.0e", tokens, maxReportedTokens)
		}
	}
	if usage.CostUSD != nil && (*usage.CostUSD < 0 || *usage.CostUSD > maxReportedCost) {
		return usage, fmt.Errorf("cost_usd %v: want a number from 0 to %.0e", *usage.CostUSD, maxReportedCost)
	}
	return usage, nil
}

// textIn returns a JSON string; "" if raw is absent or null. The error names the place where.
func textIn(raw json.RawMessage, where string) (string, error) {
	var text string
	if isNull(raw) {
		return "", nil
	}
	if json.Unmarshal(raw, &text) != nil {
		return "", fmt.Errorf("%s: want a text, found %s", where, excerptOf(raw))
	}
	return text, nil
}

func isNull(raw json.RawMessage) bool {
	text := bytes.TrimSpace(raw)
	return len(text) == 0 || string(text) == "null"
}

// excerptOf returns the beginning of a JSON text for an error.
func excerptOf(raw json.RawMessage) string {
	const maxBytes = 60
	if len(raw) <= maxBytes {
		return strings.ToValidUTF8(string(raw), "")
	}
	return strings.ToValidUTF8(string(raw[:maxBytes]), "") + "…"
}

// marshalMessage returns a message that was parsed from JSON as JSON.
func marshalMessage(message any) json.RawMessage {
	raw, err := protocol.Marshal(message)
	if err != nil {
		return nil // cannot happen
	}
	return raw
}

// EntryTypeUnreadable is the type of the trace entry which says that a part of a frame of the agent
// could not be read and why. It is on the hop "session" and has seq, the number of the frame's
// entry, and problem.
const EntryTypeUnreadable = "unreadable"

// noteUnreadable records that a part of the agent's last frame could not be read. It does nothing
// if problem is nil.
func (w *completionWatcher) noteUnreadable(problem error) {
	if problem == nil {
		return
	}
	frame, text := w.agentReports.lastFrame, strings.ReplaceAll(problem.Error(), "\n", "; ")
	w.agentReports.unreadable = fmt.Sprintf("%s (entry %d of the trace): %s", cmp.Or(frame.kind, "a frame"), frame.seq, text)
	body := marshalMessage(map[string]any{"type": EntryTypeUnreadable, "seq": frame.seq, "problem": text})
	w.journal.Append(trace.Entry{Hop: trace.HopSession, Envelope: protocol.Envelope{Type: EntryTypeUnreadable}, Body: body})
}
