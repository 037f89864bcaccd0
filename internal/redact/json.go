package redact

import (
	"io"

	"assay/internal/rawjson"
)

// JSON returns text, which must be well-formed JSON, with the secrets in its strings replaced:
// text itself if there are none.
func (r *Redactor) JSON(text []byte) []byte {
	return NewMessages[struct{}](r).Next(struct{}{}, text)
}

// NewJSONWriter returns a writer that redacts each Write, which must be well-formed JSON, and
// passes it on to w. If r is nil it returns w.
func (r *Redactor) NewJSONWriter(w io.Writer) io.Writer {
	if r == nil {
		return w
	}
	return writer{r.JSON, w}
}

// Messages redacts JSON messages that come one after the other. The strings of a member, in
// messages of the same source, are taken as the pieces of one text, so that a secret is found
// that is cut between them. A member "stream" tells such texts apart, too: its values are names
// such as "stdout". Messages is not safe for concurrent use.
type Messages[Source comparable] struct {
	redactor *Redactor
	streams  map[textID[Source]]Stream // those that have an unfinished secret

	member, stream []byte // the name, and the value of the member "stream", that were read last
}

// textID says of which text a string in a message is a piece.
type textID[Source comparable] struct {
	source         Source
	stream, member string
}

// maxUnfinishedTexts is how many texts may have an unfinished secret at the same time. Beyond
// that, all are taken as finished.
const maxUnfinishedTexts = 1024

// NewMessages returns a Messages for the first message. If r is nil it replaces nothing.
func NewMessages[Source comparable](r *Redactor) *Messages[Source] {
	return &Messages[Source]{redactor: r, streams: map[textID[Source]]Stream{}}
}

// Next returns the next message, which must be well-formed JSON, with the secrets in its strings
// replaced: message itself if there are none.
func (m *Messages[Source]) Next(source Source, message []byte) []byte {
	if m.redactor == nil {
		return message
	}
	m.stream = m.stream[:0]
	return rawjson.MapStrings(message, func(value []byte, isName bool) ([]byte, bool) {
		if isName {
			m.member = append(m.member[:0], value...)
			name := Stream{redactor: m.redactor}
			return name.next(value)
		}
		if string(m.member) == "stream" {
			m.stream = append(m.stream[:0], value...)
		}
		return m.nextPiece(source, value)
	})
}

// nextPiece redacts a string of a message as the next piece of a text, and reports whether that
// has changed it.
func (m *Messages[Source]) nextPiece(source Source, piece []byte) (text []byte, isChanged bool) {
	s := Stream{redactor: m.redactor}
	if len(m.streams) > 0 {
		id := textID[Source]{source, string(m.stream), string(m.member)}
		if earlier, ok := m.streams[id]; ok {
			s = earlier
			delete(m.streams, id)
		}
	}
	text, isChanged = s.next(piece)
	if s.unfinished != nil {
		if len(m.streams) >= maxUnfinishedTexts {
			clear(m.streams)
		}
		m.streams[textID[Source]{source, string(m.stream), string(m.member)}] = s
	}
	return text, isChanged
}
