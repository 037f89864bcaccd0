package flow

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// How much of a text is shown, in characters.
const (
	maxShownIDRunes   = 12
	maxShownNameRunes = 60 // of a type, an action or a note
	maxShownTextRunes = 200
)

// ellipsis is appended to a text that was cut.
const ellipsis = "…"

// LineFormatter formats frames of a trace as lines for people.
type LineFormatter struct {
	FullIDs     bool // ids are not cut
	ShowSlowest bool // the line of an answered request names its slowest hop
}

// FormatLine formats a frame as one line without a newline: seconds since the trace began,
// hop, type, action, the id of the request or else of the cell, size, and then the
// text of an agent's event, the note and the delay, if there are any.
//
//	+12.345 agent>server agent_action create_cell tx_1a2b3c4d5… 312 B  answered in 0.1ms: notebook 0.1ms
//
// Characters that are not printable are replaced, so that no frame can move the cursor
// or begin another line.
func (t LineFormatter) FormatLine(f Frame) string {
	r := f.Record
	words := []string{fmt.Sprintf("+%.3f", entryTime(r).Elapsed.Seconds()), string(r.Hop)}
	for _, word := range []string{printableText(r.Type, maxShownNameRunes), printableText(displayedAction(r), maxShownNameRunes), t.formatID(cmp.Or(r.TxID, r.CellID))} {
		if word != "" {
			words = append(words, word)
		}
	}
	line := fmt.Sprintf("%s %d B", strings.Join(words, " "), r.BodyBytes)
	return strings.Join(append([]string{line}, t.formatRemarks(f)...), "  ")
}

// displayedAction returns what is shown as the action of a record: its action; for an
// agent_event its type; for an entry about a call of a model see modelEntryText; for an entry
// about the session the state, the holder or the child process that it is about.
func displayedAction(r trace.Record) string {
	if r.Type == protocol.TypeAgentEvent {
		return parseAgentEvent(r.Message).Metadata.Type
	}
	if isModelHop(r.Hop) {
		return modelEntryText(r.Type, r.Message)
	}
	if r.Hop != trace.HopSession || r.Action != "" {
		return r.Action
	}
	var about struct {
		State string `json:"state"`
		By    string `json:"by"`
		Name  string `json:"name"`
	}
	if json.Unmarshal(r.Message, &about) != nil {
		return ""
	}
	return cmp.Or(about.State, about.By, about.Name)
}

// formatID returns an id as it is shown: cut to 12 characters unless FullIDs is set, without
// unprintable characters.
func (t LineFormatter) formatID(id string) string {
	if t.FullIDs {
		return printableText(id, len(id))
	}
	return printableText(id, maxShownIDRunes)
}

// formatRemarks returns the texts at the end of a frame's line: an agent event's text, the note
// and the delay. The notes "intercepted" and "timed_out" are left out if the delay says the
// same.
func (t LineFormatter) formatRemarks(f Frame) (remarks []string) {
	note := f.Record.Note
	if text := agentEventText(f.Record); text != "" {
		remarks = append(remarks, printableText(text, maxShownTextRunes))
	}
	if note != "" && (f.DelayRequest == nil || note != trace.NoteIntercepted && note != trace.NoteTimedOut) {
		remarks = append(remarks, noteText(f))
	}
	if f.DelayRequest == nil {
		return remarks
	}
	delay := f.DelayRequest.String()
	if t.ShowSlowest && f.DelayRequest.State == StateAnswered {
		delay += "; slowest: " + f.DelayRequest.SlowestHop()
	}
	return append(remarks, delay)
}

// noteText returns the note of a frame as text; for a late reply it also says how late the
// reply came.
func noteText(f Frame) string {
	for _, q := range f.Requests {
		if late, ok := q.Lateness(); ok && q.LateReply.Seq == f.Record.Seq && q.Answered.IsSet() {
			return fmt.Sprintf("%s by %s", f.Record.Note, FormatDelay(late))
		}
	}
	return printableText(string(f.Record.Note), maxShownNameRunes)
}

// printableText returns text, cut after maxRunes characters, with U+FFFD in place of characters
// that are not printable.
func printableText(text string, maxRunes int) string {
	if utf8.RuneCountInString(text) > maxRunes {
		text = string([]rune(text)[:maxRunes]) + ellipsis
	}
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return utf8.RuneError
		}
		return c
	}, text)
}

// agentEventText returns the first line of the text of an agent_event; empty for other records.
func agentEventText(r trace.Record) string {
	if r.Type != protocol.TypeAgentEvent {
		return ""
	}
	return parseAgentEvent(r.Message).firstLine()
}

// agentEvent has the fields of an agent_event message that are shown to people.
type agentEvent struct {
	Text     string `json:"text"`
	Metadata struct {
		Type string `json:"type"`
	} `json:"metadata"`
}

// parseAgentEvent parses the JSON of an agent_event. Fields that are missing or of a wrong type
// stay empty.
func parseAgentEvent(body []byte) (e agentEvent) {
	_ = json.Unmarshal(body, &e)
	return e
}

// firstLine returns the first line of the agent event's text, with … at the end if there are
// more.
func (e agentEvent) firstLine() string {
	first, _, more := strings.Cut(strings.TrimSpace(e.Text), "\n")
	if more {
		first += ellipsis
	}
	return first
}
