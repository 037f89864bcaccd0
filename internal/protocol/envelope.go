package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Envelope has the fields of a message that the router looks at to forward it. A field that the
// message does not have, or that is not a string, is empty.
type Envelope struct {
	Type      string
	Action    string
	TxID      string
	AgentTxID string
	CellID    string // "cell_id", here or in "params", or "active_cell"
	Status    string
}

// ErrMalformed is wrapped by errors about the body of a message that is neither one JSON object
// in UTF-8 nor a raw frame.
var ErrMalformed = errors.New("malformed message")

// EnvelopeDecoder extracts envelopes from messages. It reuses its buffers and is not safe for
// concurrent use, so each goroutine that reads messages has its own.
type EnvelopeDecoder struct {
	tokens *jsontext.Decoder
	source bytes.Buffer
}

// NewEnvelopeDecoder returns a decoder that extracts envelopes from the bodies of messages.
func NewEnvelopeDecoder() *EnvelopeDecoder {
	d := &EnvelopeDecoder{}
	d.tokens = jsontext.NewDecoder(&d.source)
	return d
}

// Decode returns the envelope of a message's body. It checks that the whole body is well
// formed, so that it can be forwarded unchanged, and fails with [ErrMalformed] if it is not. If
// a field occurs twice the last one counts, as in Python. The envelope of a raw frame is that
// of the kernel_stdio message that it stands for.
func (d *EnvelopeDecoder) Decode(body []byte) (Envelope, error) {
	if IsRawFrame(body) {
		raw, err := ParseRawFrame(body)
		if err != nil {
			return Envelope{}, err
		}
		return Envelope{Type: TypeKernelStdio, CellID: raw.CellID}, nil
	}
	env, err := d.decodeObject(body)
	if err != nil {
		return Envelope{}, fmt.Errorf("%w: %v", ErrMalformed, err)
	}
	return env, nil
}

// decodeObject extracts the envelope from a JSON object. It fails if body is not exactly one
// JSON object in UTF-8.
func (d *EnvelopeDecoder) decodeObject(body []byte) (Envelope, error) {
	var env Envelope
	if !utf8.Valid(body) {
		return env, errors.New("not UTF-8")
	}
	d.source = *bytes.NewBuffer(body) // it is read in place and never written to
	// AllowInvalidUTF8 lets lone surrogate escapes pass: Python's json writes them for
	// text that cannot be decoded, and they are legal JSON.
	d.tokens.Reset(&d.source, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if d.tokens.PeekKind() != '{' {
		return env, errors.New("not an object")
	}
	if err := d.readFields(env.fieldNamed); err != nil {
		return env, err
	}
	if _, err := d.tokens.ReadToken(); !errors.Is(err, io.EOF) {
		return env, errors.New("text after the object")
	}
	return env, nil
}

// readFields reads a JSON object from the decoder's tokens. Each string member is stored where
// destination(name) points; if that is nil the member is skipped. In the outer member "params"
// only "cell_id" is looked for. It fails if the JSON is malformed.
func (d *EnvelopeDecoder) readFields(destination func(name string) *string) error {
	if _, err := d.tokens.ReadToken(); err != nil {
		return unexpectedEOF(err)
	}
	for d.tokens.PeekKind() != '}' {
		name, err := d.tokens.ReadToken()
		if err != nil {
			return unexpectedEOF(err)
		}
		if err := d.readValue(destination, name.String()); err != nil {
			return unexpectedEOF(err)
		}
	}
	_, err := d.tokens.ReadToken()
	return unexpectedEOF(err)
}

// readValue reads the value of the JSON member name and stores it where destination(name)
// points, if it is a string and that is not nil. It fails if the JSON is malformed.
func (d *EnvelopeDecoder) readValue(destination func(name string) *string, name string) error {
	dst, kind := destination(name), d.tokens.PeekKind()
	if name == "params" && kind == '{' && d.tokens.StackDepth() == 1 {
		return d.readFields(func(name string) *string {
			if name == "cell_id" {
				return destination(name)
			}
			return nil
		})
	}
	if dst == nil || kind != '"' {
		return d.tokens.SkipValue()
	}
	value, err := d.tokens.ReadToken()
	if err == nil {
		*dst = value.String()
	}
	return err
}

// fieldNamed returns a pointer to the envelope's field for the JSON member of this name, or nil
// if the envelope has none.
func (e *Envelope) fieldNamed(name string) *string {
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

// unexpectedEOF converts io.EOF to io.ErrUnexpectedEOF and returns other errors as they are:
// the end of the bytes in the middle of a message is not the end of a connection.
func unexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// HasNumberLongerThan reports whether text, which must be well-formed JSON, has a number of more than
// maxLength characters.
func HasNumberLongerThan(text []byte, maxLength int) bool {
	// A longer number covers one of these places. It may be a text's, which only reading all of it shows.
	isPossible := false
	for i := maxLength; i < len(text) && !isPossible; i += maxLength {
		isPossible = lengthOfNumberAt(text, i) > maxLength
	}
	if !isPossible {
		return false
	}
	length, quoted := 0, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted && c == '\\':
			i++ // skip the escaped character
		case c == '"':
			quoted = !quoted
		}
		if quoted || !isNumberCharacter(c) {
			length = 0
		} else if length++; length > maxLength {
			return true
		}
	}
	return false
}

// lengthOfNumberAt returns how many characters around index i could be one number.
func lengthOfNumberAt(text []byte, i int) int {
	start, end := i, i
	for start > 0 && isNumberCharacter(text[start-1]) {
		start--
	}
	for end < len(text) && isNumberCharacter(text[end]) {
		end++
	}
	return end - start
}

func isNumberCharacter(c byte) bool {
	return '0' <= c && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}

// IsDeeperThan reports whether text, which must be well-formed JSON, has objects and arrays
// nested more than maxDepth levels deep.
func IsDeeperThan(text []byte, maxDepth int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++ // skip the escaped character
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[', c == '{':
			if depth++; depth > maxDepth {
				return true
			}
		case c == ']', c == '}':
			depth--
		}
	}
	return false
}
