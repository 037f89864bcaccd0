package check

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"assay/internal/protocol"
)

// submitTool is the name of the tool, or action, by which an agent submits.
const submitTool = "submit_response"

const (
	// finalMessageGrace is how long an agent must be silent after a message without tool use until its turn counts
	// as ended, as in an evaluation.
	finalMessageGrace = 5 * time.Second

	// submissionGrace is how long to wait after a submission for the status that ends the turn, and statusGrace
	// how long to wait after that for what the agent sends with it.
	submissionGrace = time.Second
	statusGrace     = 200 * time.Millisecond
)

// turn is what frames of the agent say about the work on its queries, and how it has ended.
type turn struct {
	actions     int
	summaries   []string // of the submissions
	streamed    int      // submissions that were streamed
	entries     int      // messages of the conversation
	messages    int      // those of the assistant without tool use
	isFinal     bool     // the last message of the conversation is one of these
	statuses    int      // that end a turn
	endEvents   int      // agent_event of type ended, which the built-in agent sends for each query
	fatalErrors []string
	lastAt      time.Time
}

// readTurn reads the frames of a turn, or of several.
func readTurn(frames []frame) (t turn) {
	for i, f := range frames {
		t.lastAt = f.at
		switch f.Type {
		case protocol.TypeAgentAction:
			t.actions++
			t.isFinal = false
			if f.Action == submitTool {
				t.addSubmission(memberOf(f.body, "params"))
			}
		case protocol.TypeAgentResult:
			t.addSubmission(memberOf(f.body, "structured_output"))
		case protocol.TypeAgentHistoryUpdated:
			t.readEntry(memberOf(f.body, "entry"))
		case protocol.TypeAgentStreamBlock:
			var block protocol.StreamFrame
			if json.Unmarshal(f.body, &block) == nil && isSubmitTool(block.BlockName) {
				t.streamed++
			}
		case protocol.TypeAgentStatus:
			if isFinalStatus(f.Status) && (i > 0 || f.Status != protocol.AgentReady) { // a first ready is about the init
				t.statuses++
			}
		case protocol.TypeAgentEvent:
			var event protocol.AgentEvent
			if json.Unmarshal(f.body, &event) == nil && event.Metadata["type"] == "ended" {
				t.endEvents++
			}
		case protocol.TypeAgentError:
			var failure protocol.AgentError
			if json.Unmarshal(f.body, &failure) == nil && failure.Fatal {
				t.fatalErrors = append(t.fatalErrors, failure.Error)
			}
		}
	}
	return t
}

// isFinalStatus reports whether an agent with this status has ended its turn.
func isFinalStatus(status string) bool {
	return slices.Contains([]string{protocol.AgentDone, protocol.AgentReady, protocol.AgentAwaitingUser}, status)
}

// isSubmitTool reports whether a tool with this name submits, also that of an MCP server.
func isSubmitTool(name string) bool {
	return name == submitTool || strings.HasPrefix(name, "mcp__") && strings.HasSuffix(name, "__"+submitTool)
}

// memberOf returns a member of a JSON object; nil if it has none.
func memberOf(body []byte, name string) json.RawMessage {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(body, &members) // the situation about messages reports malformed ones
	return members[name]
}

// addSubmission adds a submission with this input.
func (t *turn) addSubmission(input json.RawMessage) {
	var submission struct {
		Summary string `json:"summary"`
	}
	_ = json.Unmarshal(input, &submission) // as above
	t.summaries = append(t.summaries, submission.Summary)
}

// readEntry reads a message of the conversation.
func (t *turn) readEntry(entry json.RawMessage) {
	var message protocol.HistoryEntry
	if json.Unmarshal(entry, &message) != nil || message.Role == "" {
		return
	}
	t.entries++
	var blocks []struct {
		Type  string          `json:"type"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}
	_ = json.Unmarshal(message.Content, &blocks) // it may be a text
	hasTools := false
	for _, block := range blocks {
		hasTools = hasTools || block.Type == "tool_use"
		if block.Type == "tool_use" && isSubmitTool(block.Name) {
			t.addSubmission(block.Input)
		}
	}
	if t.isFinal = message.Role == "assistant" && !hasTools; t.isFinal {
		t.messages++
	}
}

// submissions returns how many submissions there were. Streamed ones count for an agent that sends no entries.
func (t *turn) submissions() int {
	if t.entries == 0 {
		return len(t.summaries) + t.streamed
	}
	return len(t.summaries)
}

// hasAnswer reports whether there was a submission or, in a live session, a message without tool use.
func (t *turn) hasAnswer(isLive bool) bool { return t.submissions() > 0 || isLive && t.messages > 0 }

// isOver reports whether the turns on n queries have ended by the time now; if not, again is when they will have
// ended if no more frames come; zero: they will not.
func (t *turn) isOver(n int, now time.Time) (isOver bool, again time.Time) {
	switch {
	case t.statuses >= n, t.endEvents >= n, len(t.fatalErrors) >= n:
		again = t.lastAt.Add(statusGrace)
	case t.submissions()+len(t.fatalErrors) >= n:
		again = t.lastAt.Add(submissionGrace)
	case t.messages >= n && t.isFinal:
		again = t.lastAt.Add(finalMessageGrace)
	default:
		return false, again
	}
	return !now.Before(again), again
}

// describe returns how a turn has ended, in words.
func (t *turn) describe() string {
	switch {
	case t.submissions() > 0:
		return "submitted after " + plural(t.actions, "action")
	case len(t.fatalErrors) > 0:
		return "ended with a fatal error: " + t.fatalErrors[0]
	case t.messages > 0:
		return "ended with a message and submitted nothing, after " + plural(t.actions, "action")
	default:
		return "ended and submitted nothing, after " + plural(t.actions, "action")
	}
}

// awaitTurns waits until the turns on n queries have ended whose frames are those from number from on. An agent
// that exits with status 0 after what ends its turn has ended it.
func (p *server) awaitTurns(ctx context.Context, from, n int) (t turn, err error) {
	what := "its turn has not ended"
	if n > 1 {
		what = "its turns have not ended"
	}
	err = p.log.await(ctx, from, p.cfg.QueryTimeout, what, func(frames []frame) (bool, time.Time) {
		t = readTurn(frames)
		return t.isOver(n, time.Now())
	})
	if exited, code := exitCode(err); exited && code == 0 {
		if _, end := t.isOver(n, time.Now()); !end.IsZero() {
			return t, nil
		}
	}
	return t, err
}

// query sends the agent a query and returns the number of the first frame after it.
func (p *server) query(text, requestID string) (from int) {
	from = p.log.count()
	p.send(newQuery(p.workdir, text, requestID))
	return from
}

// ask sends the agent the task as a query and waits until it has ended its turn.
func (p *server) ask(ctx context.Context) (turn, error) {
	return p.awaitTurns(ctx, p.query(task, requestID), 1)
}
