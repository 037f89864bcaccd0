package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"assay/internal/model"
	"assay/internal/model/endpoint"
)

// Fault is one failure or delay that a script plays while it sends a reply, such as a
// broken connection.
type Fault struct {
	Kind  FaultKind
	After int               // whole events that are sent before it
	Stall time.Duration     // FaultStall only: how long the silence lasts
	Error model.ErrorDetail // FaultError only: what the error event says
}

// FaultKind is the kind of a scripted [Fault].
type FaultKind string

// The kinds of faults. FaultEvent and FaultStall leave the reply whole for a client
// that waits and ignores events of unknown types.
const (
	FaultCut   FaultKind = "cut"   // the connection breaks in the middle of an event
	FaultEnd   FaultKind = "end"   // the stream ends regularly, but too early
	FaultHang  FaultKind = "hang"  // nothing more comes
	FaultDrop  FaultKind = "drop"  // the connection is closed without an answer
	FaultError FaultKind = "error" // an error event comes
	FaultHTML  FaultKind = "html"  // the answer is a web page
	FaultJSON  FaultKind = "json"  // the data of an event is not JSON
	FaultEvent FaultKind = "event" // an event of an unknown type comes
	FaultStall FaultKind = "stall" // nothing comes for a while, then the reply goes on
)

// What the faults html and json send.
const (
	FaultHTMLBody = "<!DOCTYPE html>\n<html><body><h1>Welcome</h1></body></html>\n"
	FaultJSONData = `{"type":"content_block_delta","index":`
)

// losesReply reports whether the fault keeps the reply from becoming part of the
// conversation. It returns false for a nil fault.
func (f *Fault) losesReply() bool {
	return f != nil && f.Kind != FaultEvent && f.Kind != FaultStall
}

// ReplacesAnswer reports whether the fault replaces the whole response, so that no
// event of the reply is sent. It returns false for a nil fault.
func (f *Fault) ReplacesAnswer() bool {
	return f != nil && (f.Kind == FaultDrop || f.Kind == FaultHTML || f.Kind == FaultHang && f.After == 0)
}

// WaitStall blocks for the duration of the fault's silence, or until done is closed.
func (f *Fault) WaitStall(done <-chan struct{}) {
	timer := time.NewTimer(f.Stall)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-done:
	}
}

// clientError returns the error that the client of the Messages API reports for a fault
// that loses the reply.
func (f *Fault) clientError() error {
	switch f.Kind {
	case FaultDrop:
		return fmt.Errorf("%s: %w: %w", providerName, model.ErrUnreachable, io.EOF)
	case FaultError:
		return &model.APIError{Provider: providerName, Status: model.StatusOfErrorType(f.Error.Type), Type: f.Error.Type, Message: f.Error.Message}
	case FaultHTML:
		return fmt.Errorf("%s: %w", providerName, endpoint.NewNotEventStreamError(http.StatusOK, "text/html", FaultHTMLBody))
	case FaultHang:
		return fmt.Errorf("%s: %w", providerName, &endpoint.IdleError{Limit: endpoint.DefaultIdleTimeout})
	case FaultCut:
		return fmt.Errorf("%s: %w: %w", providerName, model.ErrCutStream, io.ErrUnexpectedEOF)
	case FaultJSON:
		var data any
		return fmt.Errorf("%s: %w: %w", providerName, model.ErrCutStream, json.Unmarshal([]byte(FaultJSONData), &data))
	default: // FaultEnd
		return fmt.Errorf("%s: %w", providerName, model.ErrCutStream)
	}
}

// faultJSON is the JSON of a scripted fault. Exactly one of its members except After is
// set.
type faultJSON struct {
	Cut     *int               `json:"cut"`
	End     *int               `json:"end"`
	Hang    bool               `json:"hang"`
	Drop    bool               `json:"drop"`
	Error   *model.ErrorDetail `json:"error"`
	Garbage string             `json:"garbage"`
	StallMS *float64           `json:"stall_ms"`
	After   *int               `json:"after"`
}

// parse converts the JSON of a fault. It returns an error if it does not describe
// exactly one fault or if a value is out of range.
func (s faultJSON) parse() (*Fault, error) {
	all := s.listFaults()
	if len(all) != 1 {
		return nil, errors.New("a fault is one of cut, end, hang, drop, error, garbage and stall_ms")
	}
	f := &all[0]
	if s.Garbage != "" && f.Kind != FaultHTML && f.Kind != FaultJSON && f.Kind != FaultEvent {
		return nil, fmt.Errorf("garbage is html, json or event, not %q", s.Garbage)
	}
	if s.After != nil {
		switch f.Kind {
		case FaultCut, FaultEnd, FaultDrop, FaultHTML:
			return nil, fmt.Errorf("after does not go with %s", f.Kind)
		default:
			f.After = *s.After
		}
	}
	return f, f.check()
}

// listFaults returns one fault for each member that is set.
func (s faultJSON) listFaults() []Fault {
	var all []Fault
	if s.Cut != nil {
		all = append(all, Fault{Kind: FaultCut, After: *s.Cut})
	}
	if s.End != nil {
		all = append(all, Fault{Kind: FaultEnd, After: *s.End})
	}
	if s.Hang {
		all = append(all, Fault{Kind: FaultHang})
	}
	if s.Drop {
		all = append(all, Fault{Kind: FaultDrop})
	}
	if s.Error != nil {
		all = append(all, Fault{Kind: FaultError, Error: *s.Error})
	}
	if s.Garbage != "" {
		all = append(all, Fault{Kind: FaultKind(s.Garbage)})
	}
	if s.StallMS != nil {
		all = append(all, Fault{Kind: FaultStall, Stall: secondsToDuration(*s.StallMS / 1000)})
	}
	return all
}

// check returns an error if a value of the fault is out of range or missing.
func (f *Fault) check() error {
	const day = 24 * time.Hour
	switch {
	case f.After < 0:
		return errors.New("the events before a fault are counted from 0")
	case f.Stall < 0 || f.Stall > day:
		return errors.New("stall_ms must be from 0 to a day")
	case f.Kind == FaultError && (f.Error.Type == "" || f.Error.Message == ""):
		return errors.New("the error of a fault needs a type and a message")
	}
	return nil
}
