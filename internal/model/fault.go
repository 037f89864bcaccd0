package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// fault is what goes wrong with a reply: one kind of trouble, after a number of
// whole events.
type fault struct {
	kind  faultKind
	after int
	stall time.Duration // of faultStall
	said  errorDetail   // of faultError
}

type faultKind string

// The kinds of faults. The last two leave the reply whole, for a client that
// waits and passes over what it does not know.
const (
	faultCut   faultKind = "cut"   // the connection breaks in the middle of an event
	faultEnd   faultKind = "end"   // the stream ends in good order, but too early
	faultHang  faultKind = "hang"  // nothing more comes
	faultDrop  faultKind = "drop"  // the connection is closed without an answer
	faultError faultKind = "error" // an event says what went wrong
	faultHTML  faultKind = "html"  // the answer is a page of the web
	faultJSON  faultKind = "json"  // the data of an event is no JSON
	faultEvent faultKind = "event" // an event of an unknown kind
	faultStall faultKind = "stall" // silence, then it goes on
)

// fails reports whether there is a fault that keeps the reply from becoming part
// of the conversation.
func (f *fault) fails() bool {
	return f != nil && f.kind != faultEvent && f.kind != faultStall
}

// whole reports whether the fault takes the place of the whole answer.
func (f *fault) whole() bool {
	return f != nil && (f.kind == faultDrop || f.kind == faultHTML || f.kind == faultHang && f.after == 0)
}

// scriptFault is a fault as a script has it. One of its fields, beside after, is
// given.
type scriptFault struct {
	Cut     *int         `json:"cut"`
	End     *int         `json:"end"`
	Hang    bool         `json:"hang"`
	Drop    bool         `json:"drop"`
	Error   *errorDetail `json:"error"`
	Garbage string       `json:"garbage"`
	StallMS *float64     `json:"stall_ms"`
	After   *int         `json:"after"`
}

// parse makes the fault that is meant.
func (s scriptFault) parse() (*fault, error) {
	all := s.faults()
	if len(all) != 1 {
		return nil, errors.New("a fault is one of cut, end, hang, drop, error, garbage and stall_ms")
	}
	f := &all[0]
	if s.Garbage != "" && f.kind != faultHTML && f.kind != faultJSON && f.kind != faultEvent {
		return nil, fmt.Errorf("garbage is html, json or event, not %q", s.Garbage)
	}
	if s.After != nil {
		switch f.kind {
		case faultCut, faultEnd, faultDrop, faultHTML:
			return nil, fmt.Errorf("after does not go with %s", f.kind)
		default:
			f.after = *s.After
		}
	}
	return f, f.check()
}

// faults lists what is given.
func (s scriptFault) faults() []fault {
	var all []fault
	if s.Cut != nil {
		all = append(all, fault{kind: faultCut, after: *s.Cut})
	}
	if s.End != nil {
		all = append(all, fault{kind: faultEnd, after: *s.End})
	}
	if s.Hang {
		all = append(all, fault{kind: faultHang})
	}
	if s.Drop {
		all = append(all, fault{kind: faultDrop})
	}
	if s.Error != nil {
		all = append(all, fault{kind: faultError, said: *s.Error})
	}
	if s.Garbage != "" {
		all = append(all, fault{kind: faultKind(s.Garbage)})
	}
	if s.StallMS != nil {
		all = append(all, fault{kind: faultStall, stall: seconds(*s.StallMS / 1000)})
	}
	return all
}

func (f *fault) check() error {
	const day = 24 * time.Hour
	switch {
	case f.after < 0:
		return errors.New("the events before a fault are counted from 0")
	case f.stall < 0 || f.stall > day:
		return errors.New("stall_ms must be from 0 to a day")
	case f.kind == faultError && (f.said.Type == "" || f.said.Message == ""):
		return errors.New("the error of a fault needs a type and a message")
	}
	return nil
}

// failure is what the client of the Messages API makes of a fault that fails.
func (f *fault) failure() error {
	switch f.kind {
	case faultDrop:
		return fmt.Errorf("%s: %w: %w", providerScript, ErrUnreachable, io.EOF)
	case faultError:
		return &APIError{Provider: providerScript, Status: streamedStatus(f.said.Type), Type: f.said.Type, Message: f.said.Message}
	case faultHTML:
		return fmt.Errorf("%s: %w", providerScript, notStream(200, "text/html", htmlAnswer))
	case faultHang:
		return fmt.Errorf("%s: %w", providerScript, &silenceError{DefaultIdle})
	case faultCut:
		return fmt.Errorf("%s: %w: %w", providerScript, ErrCutStream, io.ErrUnexpectedEOF)
	case faultJSON:
		var data any
		return fmt.Errorf("%s: %w: %w", providerScript, ErrCutStream, json.Unmarshal([]byte(brokenJSON), &data))
	default: // end
		return fmt.Errorf("%s: %w", providerScript, ErrCutStream)
	}
}

// providerScript begins the text of the errors of a script that is played
// without a server.
const providerScript = "script"

// What the faults html and json send.
const (
	htmlAnswer = "<!DOCTYPE html>\n<html><body><h1>Welcome</h1></body></html>\n"
	brokenJSON = `{"type":"content_block_delta","index":`
)
