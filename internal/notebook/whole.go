package notebook

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// wholes returns outputs with all that is kept of them, a text cut to limit
// bytes. They are nbformat outputs as a kernel sends them, with the display id
// in "transient".
func wholes(list []shown, limit int) []json.RawMessage {
	out := make([]json.RawMessage, len(list))
	for i, s := range list {
		out[i] = whole(s, limit)
	}
	return out
}

func whole(s shown, limit int) json.RawMessage {
	switch {
	case s.rich == nil:
		return stream(s.stream, s.text.cut(limit))
	case s.rich.fault != nil:
		return s.rich.fault.output()
	}
	r := s.rich.noted(s.rich.absence())
	var data builder
	for _, mime := range r.types() {
		data.raw(mime, r.data[mime])
	}
	out := r.output(data.done())
	if r.displayID != "" {
		var transient builder
		transient.string("display_id", r.displayID)
		out.raw("transient", transient.done())
	}
	return out.done()
}

// absence says which values are not there and where they are.
func (r *rich) absence() string {
	var lines []string
	for _, mime := range r.types() {
		if size, ok := r.left[mime]; ok {
			lines = append(lines, fmt.Sprintf("[%s, %d bytes: in the trace, entry %d]", mime, size, r.seq))
		}
	}
	return strings.Join(lines, "\n")
}

// noted returns r with note in the place of the values it does not keep: behind
// its plain text. An empty note changes nothing.
func (r *rich) noted(note string) *rich {
	if note == "" {
		return r
	}
	const plain = "text/plain"
	out := *r
	out.left = nil
	out.data = map[string]json.RawMessage{}
	maps.Copy(out.data, r.data)
	if text, ok := r.data[plain]; ok {
		note = valueText(text) + "\n" + note
	}
	out.data[plain] = appendQuoted(nil, note)
	return &out
}
