package notebook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Kinds of outputs: values of "output_type" in nbformat and in the kernel's frames.
const (
	displayData   = "display_data"
	executeResult = "execute_result"
	updateDisplay = "update_display_data"
	errorOutput   = "error"
	streamOutput  = "stream"
	clearOutput   = "clear_output"
)

const (
	maxMIMETypes           = 16  // of one output
	maxNameBytes           = 128 // of a MIME type or a display id
	maxReferenceValueBytes = 64  // a reference keeps smaller values
)

// richOutput is an output of a cell other than printed text: a display, a result or an error.
// It is immutable.
type richOutput struct {
	entrySeq       int64                      // number of the trace entry that has all of it
	kind           string                     // displayData, executeResult, updateDisplay or errorOutput
	values         map[string]json.RawMessage // by MIME type
	missingSizes   map[string]int             // of the values that are not kept, in bytes, by MIME type
	retainedValues map[string]json.RawMessage // of those, the values that are kept until the next run
	metadata       json.RawMessage            // an object
	displayID      string                     // under which a later output may replace it; empty: none
	executionCount json.RawMessage            // of a result: an integer or null
	failure        *errorOutputContent        // of an error; nil: this is none
}

// errorOutputContent is the content of an error output: the exception and its traceback.
type errorOutputContent struct {
	name, value string   // type and text of the exception
	traceback   []string // its lines
	isCut       bool     // the trace has more of it
}

// parseRichOutput parses an nbformat output of this kind from the trace entry seq. Errors are
// reported by output.err. The result shares memory with the text that output reads.
func parseRichOutput(seq int64, kind string, output *objectReader) *richOutput {
	o := &richOutput{entrySeq: seq, kind: kind, metadata: json.RawMessage("{}"), executionCount: json.RawMessage("null")}
	if kind == errorOutput {
		o.failure = &errorOutputContent{
			name:      output.optionalText("ename"),
			value:     output.optionalText("evalue"),
			traceback: output.strings("traceback"),
		}
		return o
	}
	o.values = output.object("data").members
	o.displayID = output.optionalObject("transient").optionalText("display_id")
	if output.has("metadata") {
		output.object("metadata")
		o.metadata = output.members["metadata"]
	}
	if output.has("execution_count") && output.integer("execution_count") >= 0 {
		o.executionCount = output.members["execution_count"]
	}
	o.checkLimits(output)
	return o
}

// checkLimits makes output.err report an error if o has more MIME types than maxMIMETypes or a
// name longer than maxNameBytes, which cost memory and show nothing.
func (o *richOutput) checkLimits(output *objectReader) {
	if len(o.values) > maxMIMETypes {
		output.fail(fmt.Errorf("output.data: expected at most %d mime types, found %d", maxMIMETypes, len(o.values)))
	}
	for mime := range o.values {
		if len(mime) > maxNameBytes {
			output.fail(fmt.Errorf("output.data: expected mime types of at most %d bytes, found one of %d", maxNameBytes, len(mime)))
		}
	}
	if len(o.displayID) > maxNameBytes {
		output.fail(fmt.Errorf("output.transient.display_id: expected at most %d bytes, found %d", maxNameBytes, len(o.displayID)))
	}
}

// memoryBytes returns how many bytes the output counts against the limit of an outputBuffer.
// Values that are retained only until the next run do not count.
func (o *richOutput) memoryBytes() int {
	size := totalValueBytes(o.values) + len(o.metadata)
	for mime := range o.missingSizes {
		size += len(mime)
	}
	if o.failure != nil {
		size += len(o.failure.name) + len(o.failure.value)
		for _, line := range o.failure.traceback {
			size += len(line)
		}
	}
	return size
}

// totalValueBytes returns how many bytes the values and the names of their MIME types have
// together.
func totalValueBytes(values map[string]json.RawMessage) int {
	size := 0
	for mime, value := range values {
		size += len(mime) + len(value)
	}
	return size
}

// shrunkTo returns a copy of the output that counts at most room bytes, without its largest
// values if necessary. Those are retained until the next run, up to retainedRoom bytes.
func (o *richOutput) shrunkTo(room, retainedRoom int) *richOutput {
	out := o
	for _, maxBytes := range []int{room, room / 4, 0} {
		if out.memoryBytes() > room {
			out = out.withoutLargeValues(maxBytes)
		}
	}
	own := *out
	own.values = make(map[string]json.RawMessage, len(out.values))
	for mime, value := range out.values {
		own.values[mime] = bytes.Clone(value)
	}
	own.metadata, own.executionCount = bytes.Clone(out.metadata), bytes.Clone(out.executionCount)
	own.retainedValues = copyRetainedValues(o.values, slices.Sorted(maps.Keys(out.missingSizes)), retainedRoom)
	return &own
}

// copyRetainedValues returns copies of the values of the given MIME types, at most room bytes
// in all, to be retained until the next run. It leaves out binary values that are too large for
// a message to the agent.
func copyRetainedValues(values map[string]json.RawMessage, mimes []string, room int) map[string]json.RawMessage {
	var out map[string]json.RawMessage
	for _, mime := range mimes {
		value := values[mime]
		if len(value) > room || isBinaryType(mime, value) && decodedSize(mime, value) > maxMessageBinaryBytes {
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

// withoutLargeValues returns a copy of the output without values and metadata of more than
// maxBytes, and with the texts of an error cut to maxBytes. It notes the sizes of the left out
// values.
func (o *richOutput) withoutLargeValues(maxBytes int) *richOutput {
	out := *o
	out.values, out.missingSizes = map[string]json.RawMessage{}, maps.Clone(o.missingSizes)
	if out.missingSizes == nil {
		out.missingSizes = map[string]int{}
	}
	for mime, value := range o.values {
		if len(value) > maxBytes {
			out.missingSizes[mime] = decodedSize(mime, value)
		} else {
			out.values[mime] = value
		}
	}
	if len(o.metadata) > maxBytes {
		out.metadata = json.RawMessage("{}")
	}
	if o.failure != nil {
		out.failure = o.failure.withTextsCutTo(maxBytes)
	}
	return &out
}

// withTextsCutTo returns the error with each of its texts cut to maxBytes in the middle, and
// marks it as cut. If all texts are short enough it returns the error itself.
func (f *errorOutputContent) withTextsCutTo(maxBytes int) *errorOutputContent {
	trace := strings.Join(f.traceback, "\n")
	if len(f.name) <= maxBytes && len(f.value) <= maxBytes && len(trace) <= maxBytes {
		return f
	}
	return &errorOutputContent{
		name: truncateMiddle(f.name, maxBytes), value: truncateMiddle(f.value, maxBytes),
		traceback: []string{truncateMiddle(trace, maxBytes)}, isCut: true,
	}
}

// asReference returns a copy of the output without values of more than 64 bytes; the rest is in
// the trace.
func (o *richOutput) asReference() *richOutput { return o.withoutLargeValues(maxReferenceValueBytes) }

// withContentOf returns an output with the content of another one, but the kind and the
// execution count of o.
func (o *richOutput) withContentOf(content *richOutput) *richOutput {
	out := *content
	out.kind, out.executionCount = o.kind, o.executionCount
	return &out
}

// withoutRetainedValues returns a copy of the output without the large values that are retained
// only until the next run.
func (o *richOutput) withoutRetainedValues() *richOutput {
	out := *o
	out.retainedValues = nil
	return &out
}

// mimeTypes returns the MIME types of all values of the output, including those that are not
// kept, sorted.
func (o *richOutput) mimeTypes() []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(o.values)), maps.Keys(o.missingSizes))
	slices.Sort(all)
	return all
}

// isIncomplete reports whether parts of the output are not in memory but only in the trace.
func (o *richOutput) isIncomplete() bool {
	return len(o.missingSizes) > 0 || o.failure != nil && o.failure.isCut
}
