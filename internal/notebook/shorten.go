package notebook

import (
	"encoding/json"
	"fmt"
	"strings"

	"assay/internal/protocol"
)

// outputShortener encodes outputs of cells for an agent: long texts are cut, and large values
// are replaced by their size.
type outputShortener struct {
	maxTextBytes   int  // a longer text is cut in the middle; a longer JSON value becomes a size note
	maxBinaryBytes int  // a larger binary value becomes a size note
	showRetained   bool // retained values are shown too
}

// encodeOutputs returns outputs of a cell as nbformat JSON, with long texts cut and large values
// replaced by their size.
func (s outputShortener) encodeOutputs(outputs []renderedOutput) []json.RawMessage {
	encoded := make([]json.RawMessage, len(outputs))
	for i, o := range outputs {
		encoded[i] = s.encodeOutput(o)
	}
	return encoded
}

// encodeOutput returns one output of a cell as nbformat JSON, with long texts cut and large values
// replaced by their size.
func (s outputShortener) encodeOutput(o renderedOutput) json.RawMessage {
	switch {
	case o.output == nil:
		return streamOutputJSON(o.stream, o.text.truncate(s.maxTextBytes))
	case o.output.failure != nil:
		return o.output.failure.withTracebackCutTo(s.maxTextBytes).encode()
	default:
		return o.output.newObjectBuilderWithData(s.encodeValues(o.output)).finishObject()
	}
}

// encodeValues returns the values of an output as a JSON object by MIME type, with long texts
// cut and large values replaced by their size.
func (s outputShortener) encodeValues(o *richOutput) json.RawMessage {
	var data objectBuilder
	for _, mime := range o.mimeTypes() {
		value, ok := o.values[mime]
		if !ok && s.showRetained {
			value, ok = o.retainedValues[mime]
		}
		if ok {
			data.addRawField(mime, s.encodeValue(mime, value))
		} else {
			data.addRawField(mime, sizeNote(mime, o.missingSizes[mime]))
		}
	}
	return data.finishObject()
}

// encodeValue returns one value of an output as JSON: as it is, as a text cut in the middle, or
// as an object with its size if it is too large.
func (s outputShortener) encodeValue(mime string, value json.RawMessage) json.RawMessage {
	if isBinaryType(mime, value) {
		if size := decodedSize(mime, value); size > s.maxBinaryBytes {
			return sizeNote(mime, size)
		}
		return value
	}
	if len(value) <= s.maxTextBytes {
		return value
	}
	if value[0] == '{' || isJSONType(mime) {
		return sizeNote(mime, len(value))
	}
	return appendQuoted(nil, truncateMiddle(valueText(value), s.maxTextBytes))
}

// sizeNote returns the JSON object {mime, bytes}, which stands for a value of an output that is
// not shown to the agent.
func sizeNote(mime string, bytes int) json.RawMessage {
	var b objectBuilder
	b.addStringField("mime", mime)
	b.addIntegerField("bytes", int64(bytes))
	return b.finishObject()
}

// newObjectBuilderWithData returns a builder of the output as an nbformat JSON object with data, which is
// JSON already, as its values. The caller may add fields and must call finish.
func (o *richOutput) newObjectBuilderWithData(data json.RawMessage) *objectBuilder {
	b := &objectBuilder{}
	b.addStringField("output_type", o.kind)
	b.addRawField("data", data)
	b.addRawField("metadata", o.metadata)
	if o.kind == executeResult {
		b.addRawField("execution_count", o.executionCount)
	}
	return b
}

// withTracebackCutTo returns a copy of the error with name, value and traceback each cut to
// maxBytes in the middle. A traceback that is cut becomes one text.
func (f *errorOutputContent) withTracebackCutTo(maxBytes int) *errorOutputContent {
	out := &errorOutputContent{name: truncateMiddle(f.name, maxBytes), value: truncateMiddle(f.value, maxBytes), traceback: f.traceback}
	if trace := strings.Join(f.traceback, "\n"); len(trace) > maxBytes {
		out.traceback = []string{truncateMiddle(trace, maxBytes)}
	}
	return out
}

// encode returns the error as an nbformat error output in JSON.
func (f *errorOutputContent) encode() json.RawMessage {
	var b objectBuilder
	b.addStringField("output_type", errorOutput)
	b.addStringField("ename", f.name)
	b.addStringField("evalue", f.value)
	b.addRawField("traceback", quotedArray(f.traceback))
	return b.finishObject()
}

// streamOutputJSON returns text that was printed to a stream ("stdout" or "stderr") as an
// nbformat stream output in JSON.
func streamOutputJSON(name, text string) json.RawMessage {
	var b objectBuilder
	b.addStringField("output_type", streamOutput)
	b.addStringField("name", name)
	b.addStringField("text", text)
	return b.finishObject()
}

// limitOutputs returns encoded outputs of at most about maxBytes. If they have more, some in
// the middle are left out and a text output in their place says how many.
func limitOutputs(maxBytes int, outputs []json.RawMessage) []json.RawMessage {
	size := 0
	for _, output := range outputs {
		size += len(output)
	}
	if size <= maxBytes {
		return outputs
	}
	first, last := 0, len(outputs)
	for room := maxBytes / 2; first < last && len(outputs[first]) <= room; first++ {
		room -= len(outputs[first])
	}
	for room := maxBytes / 2; last > first && len(outputs[last-1]) <= room; last-- {
		room -= len(outputs[last-1])
	}
	note := fmt.Sprintf("\n[... %d outputs left out ...]\n", last-first)
	kept := append([]json.RawMessage{}, outputs[:first]...)
	kept = append(kept, streamOutputJSON(protocol.Stdout, note))
	return append(kept, outputs[last:]...)
}
