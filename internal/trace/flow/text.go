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

const (
	// maxShownIDRunes is how much of an id is shown, in characters, maxShownNameRunes of what
	// else an agent may have named, and maxShownTextRunes of what it says.
	maxShownIDRunes   = 12
	maxShownNameRunes = 60
	maxShownTextRunes = 200

	ellipsis = "…"
)

// LineFormatter shows frames to people.
type LineFormatter struct {
	FullIDs     bool // whole, not cut
	ShowSlowest bool // names the hop that took longest
}

// Line is a frame in one line, without a newline: seconds since the trace
// began, hop, type, action, the id of the request or else of the cell, size,
// and what is to be said of it.
//
//	+12.345 agent>server agent_action create_cell tx_1a2b3c4d5… 312 B  answered in 0.1ms: notebook 0.1ms
//
// Nothing in it moves a cursor or begins another line, whatever was sent.
func (t LineFormatter) Line(f Frame) string {
	r := f.Record
	words := []string{fmt.Sprintf("+%.3f", entryTime(r).Elapsed.Seconds()), string(r.Hop)}
	for _, word := range []string{printable(r.Type, maxShownNameRunes), printable(shownAction(r), maxShownNameRunes), t.formatID(cmp.Or(r.TxID, r.CellID))} {
		if word != "" {
			words = append(words, word)
		}
	}
	line := fmt.Sprintf("%s %d B", strings.Join(words, " "), r.BodyBytes)
	return strings.Join(append([]string{line}, t.remarks(f)...), "  ")
}

// shownAction is what a frame asks for, or what an entry about the session is about.
func shownAction(r trace.Record) string {
	if r.Type == protocol.TypeAgentEvent {
		return parseAgentEvent(r.Message).Metadata.Type
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

func (t LineFormatter) formatID(id string) string {
	if t.FullIDs {
		return printable(id, len(id))
	}
	return printable(id, maxShownIDRunes)
}

// remarks are the note and the delay. That the kernel answers, and that a
// deadline has passed, the delay says better.
func (t LineFormatter) remarks(f Frame) (remarks []string) {
	note := f.Record.Note
	if said := agentText(f.Record); said != "" {
		remarks = append(remarks, printable(said, maxShownTextRunes))
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

// agentText is what an agent wants shown.
func agentText(r trace.Record) string {
	if r.Type != protocol.TypeAgentEvent {
		return ""
	}
	return parseAgentEvent(r.Message).firstLine()
}

// noteText is the note, and of a late reply how late it is.
func noteText(f Frame) string {
	for _, q := range f.Requests {
		if late, ok := q.Lateness(); ok && q.LateReply.Seq == f.Record.Seq && q.Answered.IsSet() {
			return fmt.Sprintf("%s by %s", f.Record.Note, FormatDelay(late))
		}
	}
	return printable(string(f.Record.Note), maxShownNameRunes)
}

// printable is at most so many characters of a text, with what is no plain character
// replaced.
func printable(text string, most int) string {
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most]) + ellipsis
	}
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return utf8.RuneError
		}
		return c
	}, text)
}
