package notebook

import (
	"encoding/json"
	"fmt"
	"strings"

	"assay/internal/protocol"
)

// view is outputs made short for an agent.
type view struct {
	text   int  // bytes that are kept of a text; JSON beyond it is only sized
	binary int  // bytes up to which a binary value is shown; else it is sized
	fresh  bool // values held until the next run are shown too
}

func (v view) all(list []shown) []json.RawMessage {
	out := make([]json.RawMessage, len(list))
	for i, s := range list {
		out[i] = v.output(s)
	}
	return out
}

func (v view) output(s shown) json.RawMessage {
	switch {
	case s.rich == nil:
		return stream(s.stream, s.text.cut(v.text))
	case s.rich.fault != nil:
		return s.rich.fault.cutTo(v.text).output()
	default:
		return s.rich.output(v.data(s.rich)).done()
	}
}

func (v view) data(r *rich) json.RawMessage {
	var data builder
	for _, mime := range r.types() {
		value, ok := r.data[mime]
		if !ok && v.fresh {
			value, ok = r.fresh[mime]
		}
		if ok {
			data.raw(mime, v.value(mime, value))
		} else {
			data.raw(mime, sized(mime, r.left[mime]))
		}
	}
	return data.done()
}

func (v view) value(mime string, value json.RawMessage) json.RawMessage {
	if isBinary(mime, value) {
		if size := valueSize(mime, value); size > v.binary {
			return sized(mime, size)
		}
		return value
	}
	if len(value) <= v.text {
		return value
	}
	if value[0] == '{' || isJSONType(mime) {
		return sized(mime, len(value))
	}
	return appendQuoted(nil, cut(valueText(value), v.text))
}

// sized stands for a value that is not shown.
func sized(mime string, bytes int) json.RawMessage {
	var b builder
	b.string("mime", mime)
	b.integer("bytes", int64(bytes))
	return b.done()
}

// output returns r as an nbformat output with the given data.
func (r *rich) output(data json.RawMessage) *builder {
	b := &builder{}
	b.string("output_type", r.kind)
	b.raw("data", data)
	b.raw("metadata", r.metadata)
	if r.kind == executeResult {
		b.raw("execution_count", r.count)
	}
	return b
}

// cutTo returns f with each of its texts cut to limit bytes.
func (f *fault) cutTo(limit int) *fault {
	out := &fault{name: cut(f.name, limit), value: cut(f.value, limit), traceback: f.traceback}
	if trace := strings.Join(f.traceback, "\n"); len(trace) > limit {
		out.traceback = []string{cut(trace, limit)}
	}
	return out
}

func (f *fault) output() json.RawMessage {
	var b builder
	b.string("output_type", errorOutput)
	b.string("ename", f.name)
	b.string("evalue", f.value)
	b.raw("traceback", quoteAll(f.traceback))
	return b.done()
}

func stream(name, text string) json.RawMessage {
	var b builder
	b.string("output_type", streamOutput)
	b.string("name", name)
	b.string("text", text)
	return b.done()
}

// within leaves out the middle of outputs that are more than limit bytes
// together, and says so in its place.
func within(limit int, outputs []json.RawMessage) []json.RawMessage {
	size := 0
	for _, output := range outputs {
		size += len(output)
	}
	if size <= limit {
		return outputs
	}
	first, last := 0, len(outputs)
	for room := limit / 2; first < last && len(outputs[first]) <= room; first++ {
		room -= len(outputs[first])
	}
	for room := limit / 2; last > first && len(outputs[last-1]) <= room; last-- {
		room -= len(outputs[last-1])
	}
	note := fmt.Sprintf("\n[... %d outputs left out ...]\n", last-first)
	kept := append([]json.RawMessage{}, outputs[:first]...)
	kept = append(kept, stream(protocol.Stdout, note))
	return append(kept, outputs[last:]...)
}
