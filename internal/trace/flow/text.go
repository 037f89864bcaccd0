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
	// shownID is how much of an id is shown, in characters, shownName of what
	// else an agent may have named, and shownText of what it says.
	shownID   = 12
	shownName = 60
	shownText = 200

	ellipsis = "…"
)

// Text shows frames to people.
type Text struct {
	IDs     bool // whole, not cut
	Slowest bool // names the hop that took longest
}

// Line is a frame in one line, without a newline: seconds since the trace
// began, hop, type, action, the id of the request or else of the cell, size,
// and what is to be said of it.
//
//	+12.345 agent>server agent_action create_cell tx_1a2b3c4d5… 312 B  answered in 0.1ms: notebook 0.1ms
//
// Nothing in it moves a cursor or begins another line, whatever was sent.
func (t Text) Line(f Frame) string {
	r := f.Record
	words := []string{fmt.Sprintf("+%.3f", at(r).T.Seconds()), string(r.Hop)}
	for _, word := range []string{clean(r.Type, shownName), clean(action(r), shownName), t.id(cmp.Or(r.TxID, r.CellID))} {
		if word != "" {
			words = append(words, word)
		}
	}
	line := fmt.Sprintf("%s %d B", strings.Join(words, " "), r.Bytes)
	return strings.Join(append([]string{line}, t.remarks(f)...), "  ")
}

// action is what a frame asks for, or what an entry about the session is about.
func action(r trace.Record) string {
	if r.Type == protocol.TypeAgentEvent {
		return readEvent(r.Msg).Metadata.Type
	}
	if r.Hop != trace.Session || r.Action != "" {
		return r.Action
	}
	var about struct {
		State string `json:"state"`
		By    string `json:"by"`
		Name  string `json:"name"`
	}
	if json.Unmarshal(r.Msg, &about) != nil {
		return ""
	}
	return cmp.Or(about.State, about.By, about.Name)
}

func (t Text) id(id string) string {
	if t.IDs {
		return clean(id, len(id))
	}
	return clean(id, shownID)
}

// remarks are the note and the delay. That the kernel answers, and that a
// deadline has passed, the delay says better.
func (t Text) remarks(f Frame) (remarks []string) {
	note := f.Record.Note
	if said := spoken(f.Record); said != "" {
		remarks = append(remarks, clean(said, shownText))
	}
	if note != "" && (f.Delay == nil || note != trace.Intercepted && note != trace.TimedOut) {
		remarks = append(remarks, noted(f))
	}
	if f.Delay == nil {
		return remarks
	}
	delay := f.Delay.String()
	if t.Slowest && f.Delay.State == Answered {
		delay += "; slowest: " + f.Delay.Slowest()
	}
	return append(remarks, delay)
}

// spoken is what an agent wants shown.
func spoken(r trace.Record) string {
	if r.Type != protocol.TypeAgentEvent {
		return ""
	}
	return readEvent(r.Msg).line()
}

// noted is the note, and of a late reply how late it is.
func noted(f Frame) string {
	for _, q := range f.Requests {
		if late, ok := q.Lateness(); ok && q.Late.Seq == f.Record.Seq && q.Answered.Set() {
			return fmt.Sprintf("%s by %s", f.Record.Note, DelayText(late))
		}
	}
	return clean(string(f.Record.Note), shownName)
}

// clean is at most so many characters of a text, with what is no plain character
// replaced.
func clean(text string, most int) string {
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
