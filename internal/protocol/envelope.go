package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Envelope is what the router reads of a message. A field that is absent, or
// is not a string, is empty.
type Envelope struct {
	Type      string
	Action    string
	TxID      string
	AgentTxID string
	CellID    string // "cell_id", here or in "params", or "active_cell"
	Status    string
}

// ErrMalformed says that a body is neither one UTF-8 ToJSON object nor a raw
// frame. Errors of [Decoder.Envelope] and [ParseRawFrame] wrap it.
var ErrMalformed = errors.New("malformed message")

// EnvelopeDecoder reads envelopes. It keeps its buffers from one message to the next,
// so each reading goroutine has its own; it is not safe for concurrent use.
type EnvelopeDecoder struct {
	tokens *jsontext.Decoder
	source bytes.Buffer
}

// NewEnvelopeDecoder returns a Decoder.
func NewEnvelopeDecoder() *EnvelopeDecoder {
	d := &EnvelopeDecoder{}
	d.tokens = jsontext.NewDecoder(&d.source)
	return d
}

// Decode reads the envelope of body and checks that the whole of body is
// well formed, so that what is forwarded later can be trusted to be ToJSON. Where
// a name occurs twice the last one counts, as it does in Python.
//
// A raw frame yields the envelope of the kernel_stdio that it stands for.
func (d *EnvelopeDecoder) Decode(body []byte) (Envelope, error) {
	if IsRawFrame(body) {
		raw, err := ParseRawFrame(body)
		if err != nil {
			return Envelope{}, err
		}
		return Envelope{Type: TypeKernelStdio, CellID: raw.CellID}, nil
	}
	env, err := d.object(body)
	if err != nil {
		return Envelope{}, fmt.Errorf("%w: %v", ErrMalformed, err)
	}
	return env, nil
}

func (d *EnvelopeDecoder) object(body []byte) (Envelope, error) {
	var env Envelope
	if !utf8.Valid(body) {
		return env, errors.New("not UTF-8")
	}
	d.source = *bytes.NewBuffer(body) // read in place, never written to
	// Lone surrogate escapes are what Python's json writes for undecodable
	// text: they are legal ToJSON and must pass.
	d.tokens.Reset(&d.source, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if d.tokens.PeekKind() != '{' {
		return env, errors.New("not an object")
	}
	if err := d.fields(env.field); err != nil {
		return env, err
	}
	if _, err := d.tokens.ReadToken(); !errors.Is(err, io.EOF) {
		return env, errors.New("text after the object")
	}
	return env, nil
}

// fields reads an object and puts its string fields where field says, nil
// standing for nowhere; in "params" it looks for a "cell_id" only.
func (d *EnvelopeDecoder) fields(field func(name string) *string) error {
	if _, err := d.tokens.ReadToken(); err != nil {
		return noEOF(err)
	}
	for d.tokens.PeekKind() != '}' {
		name, err := d.tokens.ReadToken()
		if err != nil {
			return noEOF(err)
		}
		if err := d.value(field, name.String()); err != nil {
			return noEOF(err)
		}
	}
	_, err := d.tokens.ReadToken()
	return noEOF(err)
}

func (d *EnvelopeDecoder) value(field func(name string) *string, name string) error {
	at, kind := field(name), d.tokens.PeekKind()
	if name == "params" && kind == '{' && d.tokens.StackDepth() == 1 {
		return d.fields(func(name string) *string {
			if name == "cell_id" {
				return field(name)
			}
			return nil
		})
	}
	if at == nil || kind != '"' {
		return d.tokens.SkipValue()
	}
	value, err := d.tokens.ReadToken()
	if err == nil {
		*at = value.String()
	}
	return err
}

func (e *Envelope) field(name string) *string {
	switch name {
	case "type":
		return &e.Type
	case "action":
		return &e.Action
	case "tx_id":
		return &e.TxID
	case "agent_tx_id":
		return &e.AgentTxID
	case "cell_id", "active_cell":
		return &e.CellID
	case "status":
		return &e.Status
	default:
		return nil
	}
}

// noEOF keeps the end of a cut message from being taken for the end of a
// connection.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
