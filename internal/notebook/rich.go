package notebook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Kinds of outputs, as nbformat and the kernel's frames name them.
const (
	displayData   = "display_data"
	executeResult = "execute_result"
	updateDisplay = "update_display_data"
	errorOutput   = "error"
	streamOutput  = "stream"
	clearOutput   = "clear_output"
)

const (
	mostTypes    = 16  // mime types of one output
	longestName  = 128 // bytes of a mime type or a display id
	referenceMax = 64  // bytes up to which a reference keeps a value
)

// rich is an output that is not text of a stream. It is not changed once made.
type rich struct {
	seq       int64                      // the trace entry it came in
	kind      string                     // displayData, executeResult, updateDisplay or errorOutput
	data      map[string]json.RawMessage // by mime type
	left      map[string]int             // bytes of the values that data does not keep
	fresh     map[string]json.RawMessage // those of them that are held until the next run
	metadata  json.RawMessage            // an object
	displayID string
	count     json.RawMessage // execution_count of a result: an integer or null
	fault     *fault          // of an error
}

// fault is the content of an error. When it was cut, the trace has the rest.
type fault struct {
	name, value string
	traceback   []string
	cut         bool
}

// readRich reads an output that came in trace entry seq. It shares memory with
// what it was read from.
func readRich(seq int64, kind string, output *reader) *rich {
	r := &rich{seq: seq, kind: kind, metadata: json.RawMessage("{}"), count: json.RawMessage("null")}
	if kind == errorOutput {
		r.fault = &fault{
			name:      output.optionalText("ename"),
			value:     output.optionalText("evalue"),
			traceback: output.strings("traceback"),
		}
		return r
	}
	r.data = output.object("data").members
	r.displayID = output.optionalObject("transient").optionalText("display_id")
	if output.has("metadata") {
		output.object("metadata")
		r.metadata = output.members["metadata"]
	}
	if output.has("execution_count") && output.integer("execution_count") >= 0 {
		r.count = output.members["execution_count"]
	}
	r.check(output)
	return r
}

// check keeps out what would cost memory without showing anything.
func (r *rich) check(output *reader) {
	if len(r.data) > mostTypes {
		output.fail(fmt.Errorf("output.data: expected at most %d mime types, found %d", mostTypes, len(r.data)))
	}
	for mime := range r.data {
		if len(mime) > longestName {
			output.fail(fmt.Errorf("output.data: expected mime types of at most %d bytes, found one of %d", longestName, len(mime)))
		}
	}
	if len(r.displayID) > longestName {
		output.fail(fmt.Errorf("output.transient.display_id: expected at most %d bytes, found %d", longestName, len(r.displayID)))
	}
}

// size is what r counts in a tape, in bytes. Fresh values are counted apart.
func (r *rich) size() int {
	size := sizes(r.data) + len(r.metadata)
	for mime := range r.left {
		size += len(mime)
	}
	if r.fault != nil {
		size += len(r.fault.name) + len(r.fault.value)
		for _, line := range r.fault.traceback {
			size += len(line)
		}
	}
	return size
}

func sizes(values map[string]json.RawMessage) int {
	size := 0
	for mime, value := range values {
		size += len(mime) + len(value)
	}
	return size
}

// fitted returns r in memory of its own, without its largest values if it would
// otherwise be larger than room. Those are held as fresh, as far as hold allows.
func (r *rich) fitted(room, hold int) *rich {
	out := r
	for _, most := range []int{room, room / 4, 0} {
		if out.size() > room {
			out = out.without(most)
		}
	}
	own := *out
	own.data = make(map[string]json.RawMessage, len(out.data))
	for mime, value := range out.data {
		own.data[mime] = bytes.Clone(value)
	}
	own.metadata, own.count = bytes.Clone(out.metadata), bytes.Clone(out.count)
	own.fresh = held(r.data, slices.Sorted(maps.Keys(out.left)), hold)
	return &own
}

// held returns copies of those of the values named mimes that a message to the
// agent can show, room bytes at most.
func held(values map[string]json.RawMessage, mimes []string, room int) map[string]json.RawMessage {
	var out map[string]json.RawMessage
	for _, mime := range mimes {
		value := values[mime]
		if len(value) > room || isBinary(mime, value) && valueSize(mime, value) > messageBinary {
			continue
		}
		if out == nil {
			out = map[string]json.RawMessage{}
		}
		out[mime] = bytes.Clone(value)
		room -= len(value)
	}
	return out
}

// without returns r less its values of more than most bytes.
func (r *rich) without(most int) *rich {
	out := *r
	out.data, out.left = map[string]json.RawMessage{}, maps.Clone(r.left)
	if out.left == nil {
		out.left = map[string]int{}
	}
	for mime, value := range r.data {
		if len(value) > most {
			out.left[mime] = valueSize(mime, value)
		} else {
			out.data[mime] = value
		}
	}
	if len(r.metadata) > most {
		out.metadata = json.RawMessage("{}")
	}
	if r.fault != nil {
		out.fault = r.fault.shortened(most)
	}
	return &out
}

func (f *fault) shortened(most int) *fault {
	trace := strings.Join(f.traceback, "\n")
	if len(f.name) <= most && len(f.value) <= most && len(trace) <= most {
		return f
	}
	return &fault{name: cut(f.name, most), value: cut(f.value, most), traceback: []string{cut(trace, most)}, cut: true}
}

// reference returns r without any value of size.
func (r *rich) reference() *rich { return r.without(referenceMax) }

// updated returns the output r with the content of another.
func (r *rich) updated(content *rich) *rich {
	out := *content
	out.kind, out.count = r.kind, r.count
	return &out
}

// released returns r without its fresh values.
func (r *rich) released() *rich {
	out := *r
	out.fresh = nil
	return &out
}

// types returns the mime types of all values, those not kept too, sorted.
func (r *rich) types() []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(r.data)), maps.Keys(r.left))
	slices.Sort(all)
	return all
}

// partial tells whether the trace has more of the output than r.
func (r *rich) partial() bool {
	return len(r.left) > 0 || r.fault != nil && r.fault.cut
}
