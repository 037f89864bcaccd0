package notebook

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"assay/internal/protocol"
)

// plainTextType is the MIME type of plain text, "text/plain".
const plainTextType = "text/plain"

// renderedOutput is one output of a cell as readers see it: all adjacent text of one stream, or
// another output. It does not change when more outputs come.
type renderedOutput struct {
	stream string // of the text
	text   excerpt
	output *richOutput // nil: this is text
}

// renderOutputs returns the buffered outputs in order, with adjacent text of the same stream joined.
func (b *outputBuffer) renderOutputs() []renderedOutput {
	var out outputRenderer
	for _, p := range b.head {
		out.addPiece(p)
	}
	for _, p := range b.middle {
		out.addPiece(p)
	}
	for i, p := range b.tail {
		if i == 0 {
			p.missingBytes += b.tailMissingBytes
		}
		out.addPiece(p)
	}
	if len(b.tail) == 0 {
		out.addMissing(b.tailMissingBytes, protocol.Stdout)
	}
	return out.outputs
}

// outputRenderer joins the pieces of an outputBuffer into a list of outputs.
type outputRenderer struct{ outputs []renderedOutput }

// addPiece adds the next piece of the buffer to the list of outputs: to the last output if both
// are text of one stream, and otherwise as a new one.
func (r *outputRenderer) addPiece(p bufferPiece) {
	if p.output != nil {
		r.addMissing(p.missingBytes, protocol.Stdout)
		r.outputs = append(r.outputs, renderedOutput{output: p.output})
		return
	}
	r.addMissing(p.missingBytes, p.stream)
	text := p.text[p.droppedBytes:len(p.text):len(p.text)]
	last := r.lastOutput()
	switch {
	case last == nil || last.stream != p.stream:
		r.outputs = append(r.outputs, renderedOutput{stream: p.stream, text: excerpt{head: [][]byte{text}}})
	case last.text.missingBytes > 0:
		last.text.tail = append(last.text.tail, text)
	default:
		last.text.head = append(last.text.head, text)
	}
}

// addMissing records that n bytes of output are missing at this place: in the text before it
// or, if there is none, in a new text of this stream.
func (r *outputRenderer) addMissing(n int64, stream string) {
	if n == 0 {
		return
	}
	if last := r.lastOutput(); last != nil && last.output == nil {
		last.text.missingBytes += n
		return
	}
	r.outputs = append(r.outputs, renderedOutput{stream: stream, text: excerpt{missingBytes: n}})
}

// lastOutput returns the output that was added last, or nil if there is none.
func (r *outputRenderer) lastOutput() *renderedOutput {
	if len(r.outputs) == 0 {
		return nil
	}
	return &r.outputs[len(r.outputs)-1]
}

// encodeFullOutputs encodes a cell's outputs, with all values that are kept, as the JSON in
// which a kernel sends nbformat outputs, with the display id in "transient". Each printed text
// is cut to maxTextBytes.
func encodeFullOutputs(outputs []renderedOutput, maxTextBytes int) []json.RawMessage {
	encoded := make([]json.RawMessage, len(outputs))
	for i, o := range outputs {
		encoded[i] = encodeFullOutput(o, maxTextBytes)
	}
	return encoded
}

// encodeFullOutput encodes one output of a cell, with all values that are kept, as the JSON in
// which a kernel sends nbformat outputs. Printed text is cut to maxTextBytes.
func encodeFullOutput(o renderedOutput, maxTextBytes int) json.RawMessage {
	switch {
	case o.output == nil:
		return streamOutputJSON(o.stream, o.text.truncate(maxTextBytes))
	case o.output.failure != nil:
		return o.output.failure.encode()
	}
	output := o.output.withMissingValuesNote(o.output.missingValuesNote())
	var data objectBuilder
	for _, mime := range output.mimeTypes() {
		data.addRawField(mime, output.values[mime])
	}
	encoded := output.newObjectBuilderWithData(data.finishObject())
	if output.displayID != "" {
		var transient objectBuilder
		transient.addStringField("display_id", output.displayID)
		encoded.addRawField("transient", transient.finishObject())
	}
	return encoded.finishObject()
}

// missingValuesNote returns a text with a line for each value of the output that is not kept in
// memory, which says where in the trace it is; empty if all are kept.
func (o *richOutput) missingValuesNote() string {
	var lines []string
	for _, mime := range o.mimeTypes() {
		if size, ok := o.missingSizes[mime]; ok {
			lines = append(lines, fmt.Sprintf("[%s, %d bytes: in the trace, entry %d]", mime, size, o.entrySeq))
		}
	}
	return strings.Join(lines, "\n")
}

// withMissingValuesNote returns a copy of the output with note appended to its plain text, in place
// of the values that are not kept. If note is empty it returns the output itself.
func (o *richOutput) withMissingValuesNote(note string) *richOutput {
	if note == "" {
		return o
	}
	out := *o
	out.missingSizes = nil
	out.values = map[string]json.RawMessage{}
	maps.Copy(out.values, o.values)
	if text, ok := o.values[plainTextType]; ok {
		note = valueText(text) + "\n" + note
	}
	out.values[plainTextType] = appendQuoted(nil, note)
	return &out
}

// TextOutput returns the text that the last run of a cell has printed and shown, in order:
// stdout and stderr, the text/plain of its outputs, its tracebacks. Each output ends with a
// newline. If the run has written more than is kept, the middle is left out.
func (e *Executions) TextOutput(cellID string) string {
	outputs, _ := e.cellForFile(cellID)
	var text strings.Builder
	for _, o := range outputs {
		text.WriteString(o.plainText())
	}
	return text.String()
}

// plainText returns the output as plain text, with a newline after a traceback or a text/plain
// value; empty if it has no text.
func (o renderedOutput) plainText() string {
	switch {
	case o.output == nil:
		return o.text.fullText()
	case o.output.failure != nil:
		return strings.Join(o.output.failure.traceback, "\n") + "\n"
	case o.output.values[plainTextType] != nil:
		return valueText(o.output.values[plainTextType]) + "\n"
	case o.output.missingSizes[plainTextType] > 0:
		return fmt.Sprintf("[%s, %d bytes]\n", plainTextType, o.output.missingSizes[plainTextType])
	default:
		return ""
	}
}
