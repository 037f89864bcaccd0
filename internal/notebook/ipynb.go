package notebook

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"assay/internal/rawjson"
	"assay/internal/redact"
)

// defaultMaxLoadedBytes is the default of IPYNB.MaxLoadedBytes. No honest notebook has so much.
const defaultMaxLoadedBytes = 256 << 20

// FileMetadata has what a notebook file says about the notebook as a whole: the language of its
// code.
type FileMetadata struct {
	Language        string // of the code cells; empty means "python"
	LanguageVersion string // such as "3.11.2"; empty: it is left out
}

// IPYNB has what is written to a notebook file.
type IPYNB struct {
	Cells      []Cell
	Executions *Executions // of the cells; nil: no cell has outputs
	Metadata   FileMetadata

	// LoadEntry returns the body of a trace entry. It is called for outputs that Executions does
	// not keep whole. If it fails, or is nil, a line of plain text in the output says what is
	// missing.
	LoadEntry func(seq int64) ([]byte, error)

	// MaxLoadedBytes is how many bytes of entries are loaded. Outputs that need more are left out,
	// with a line that says so. 0: 256 MiB.
	MaxLoadedBytes int64

	Redactor *redact.Redactor // finds the secrets that are replaced
}

// Write writes the file as a Jupyter notebook of nbformat 4.5. A cell id that nbformat does not
// allow is replaced; the original id, and the cell's title, are in the cell's metadata under
// "assay". It fails if w does. It needs memory for a few copies of the largest output.
func (n IPYNB) Write(w io.Writer) error {
	out := bufio.NewWriter(w) // it keeps its first error, which Flush returns
	file := ipynbWriter{IPYNB: n, cellIDs: nbformatCellIDs(n.Cells), loadableBytes: cmp.Or(n.MaxLoadedBytes, defaultMaxLoadedBytes)}
	_, _ = out.WriteString("{\n \"cells\": [")
	for i, cell := range n.Cells {
		if i > 0 {
			_ = out.WriteByte(',')
		}
		if err := file.writeCell(out, i, cell); err != nil {
			return fmt.Errorf("encode cell %q: %w", cell.ID, err)
		}
	}
	head, err := indentedJSON(" ", n.Metadata.json())
	if err != nil {
		return fmt.Errorf("encode metadata: %w", err)
	}
	_, _ = fmt.Fprintf(out, "\n ],\n \"metadata\": %s,\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n", head)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write notebook: %w", err)
	}
	return nil
}

// maxIndentDepth is how many levels of a cell or an output are indented. More has only JSON that is an output.
const maxIndentDepth = 6

// indentedJSON returns v as JSON, indented as Jupyter does, to maxIndentDepth. Every line but the first begins
// with prefix. It fails if v has no JSON.
func indentedJSON(prefix string, v any) ([]byte, error) {
	compact, err := rawjson.Marshal(v)
	if err != nil {
		return nil, err
	}
	return rawjson.Indent(nil, compact, prefix, maxIndentDepth), nil
}

// json returns the metadata in the form of nbformat: kernelspec and language_info.
func (m FileMetadata) json() map[string]any {
	language := m.Language
	if language == "" {
		language = defaultLanguage
	}
	kernel := language
	if language == "python" {
		kernel = "python3" // Jupyter's name for it
	}
	info := map[string]any{"name": language}
	if m.LanguageVersion != "" {
		info["version"] = m.LanguageVersion
	}
	return map[string]any{
		"kernelspec":    map[string]any{"name": kernel, "display_name": kernel, "language": language},
		"language_info": info,
	}
}

// ipynbWriter writes cells and their outputs as the JSON objects of a notebook file.
type ipynbWriter struct {
	IPYNB
	cellIDs       []string // by index, as the file has them
	loadableBytes int64    // how many bytes of entries may still be loaded
}

// emptyOutputs is the JSON of a cell without outputs, as indentedJSON writes it. It is nowhere
// else in a cell, because the quotes in a string are escaped.
const emptyOutputs = `"outputs": []`

// writeCell writes a cell, the one with index i, as the nbformat object of the notebook file. Its
// outputs are encoded one after the other, because together they may be large.
func (f *ipynbWriter) writeCell(out *bufio.Writer, i int, cell Cell) error {
	outputs, count := f.Executions.cellForFile(cell.ID)
	text, err := indentedJSON("  ", f.encodeCell(i, cell, count))
	if err != nil {
		return err
	}
	before, after, hasOutputs := bytes.Cut(f.Redactor.JSON(text), []byte(emptyOutputs))
	_, _ = out.WriteString("\n  ")
	_, _ = out.Write(before)
	if !hasOutputs {
		return nil
	}
	_, _ = out.WriteString(`"outputs": [`)
	for i, output := range outputs {
		text, err := indentedJSON("    ", f.encodeOutput(output))
		if err != nil {
			return err
		}
		if i > 0 {
			_ = out.WriteByte(',')
		}
		_, _ = out.WriteString("\n    ")
		_, _ = out.Write(f.Redactor.JSON(text))
	}
	if len(outputs) > 0 {
		_, _ = out.WriteString("\n   ")
	}
	_ = out.WriteByte(']')
	_, _ = out.Write(after)
	return nil
}

// encodeCell returns cell, the one with index i, as the nbformat object of the notebook file. A
// code cell has its execution count, nil if it is 0, and an empty list of outputs.
func (f *ipynbWriter) encodeCell(i int, cell Cell, executionCount int) map[string]any {
	own := map[string]any{}
	if f.cellIDs[i] != cell.ID {
		own["cell_id"] = cell.ID
	}
	if cell.Title != "" {
		own["title"] = cell.Title
	}
	metadata := map[string]any{}
	if len(own) > 0 {
		metadata["assay"] = own
	}
	out := map[string]any{"cell_type": MarkdownCell, "id": f.cellIDs[i], "metadata": metadata, "source": splitLines(cell.Source)}
	if cell.Type == MarkdownCell {
		return out
	}
	out["cell_type"] = CodeCell
	out["outputs"] = []any{}
	out["execution_count"] = nil
	if executionCount > 0 {
		out["execution_count"] = executionCount
	}
	return out
}

// encodeOutput returns one output of a cell as an nbformat object. Values that memory does not
// have are loaded from the trace.
func (f *ipynbWriter) encodeOutput(s renderedOutput) map[string]any {
	if s.output == nil {
		return map[string]any{"output_type": streamOutput, "name": s.stream, "text": splitLines(s.text.fullText())}
	}
	r := f.withAllValues(s.output)
	if r.failure != nil {
		return map[string]any{
			"output_type": errorOutput, "ename": r.failure.name, "evalue": r.failure.value,
			"traceback": append([]string{}, r.failure.traceback...),
		}
	}
	data := map[string]any{}
	for mime, value := range r.values {
		data[mime] = toNbformatValue(mime, value)
	}
	out := map[string]any{"output_type": r.kind, "data": data, "metadata": r.metadata}
	if r.kind == executeResult {
		out["execution_count"] = r.executionCount
	}
	return out
}

// withAllValues returns an output with all its values, loaded from the trace if needed. If they
// cannot be loaded, the result has a note in its plain text that says which values are missing,
// and why.
func (f *ipynbWriter) withAllValues(r *richOutput) *richOutput {
	if !r.isIncomplete() {
		return r
	}
	if f.LoadEntry == nil {
		return r.withMissingValuesNote(r.missingValuesNote())
	}
	loaded, err := f.loadOutputFromTrace(r)
	if err != nil {
		return r.withMissingValuesNote(r.missingValuesNote() + "\n[" + err.Error() + "]")
	}
	return loaded
}

// loadOutputFromTrace returns an output with all its values from its trace entry. It fails if the
// entry cannot be loaded or parsed.
func (f *ipynbWriter) loadOutputFromTrace(r *richOutput) (*richOutput, error) {
	if f.loadableBytes <= 0 {
		return nil, fmt.Errorf("entry %d of the trace has it; this file has large outputs enough", r.entrySeq)
	}
	body, err := f.LoadEntry(r.entrySeq)
	if err != nil {
		return nil, fmt.Errorf("load entry %d of the trace: %w", r.entrySeq, err)
	}
	f.loadableBytes -= int64(len(body))
	frame, err := newObjectReader(body)
	if err != nil {
		return nil, fmt.Errorf("read entry %d of the trace: %w", r.entrySeq, err)
	}
	output := frame.object("output")
	content := parseRichOutput(r.entrySeq, output.text("output_type"), output)
	if err := frame.err(); err != nil {
		return nil, fmt.Errorf("read entry %d of the trace: %w", r.entrySeq, err)
	}
	return r.withContentOf(content), nil
}

// toNbformatValue returns the value of a MIME type in the form that a notebook file has: the JSON
// itself for JSON types, one string for binary types, and otherwise a list of lines.
func toNbformatValue(mime string, value json.RawMessage) any {
	switch {
	case isJSONType(mime):
		return value
	case isBinaryType(mime, value):
		return valueText(value)
	default:
		return splitLines(valueText(value))
	}
}

// maxListedLines is how many lines a text may have to be written as a list of them.
const maxListedLines = 10_000

// splitLines returns a text as nbformat has it: the list of its lines, which keep their line feeds, empty for an
// empty text, or, if the lines are very many, the text itself. As a list, short lines take many times their size.
func splitLines(text string) any {
	if strings.Count(text, "\n") > maxListedLines {
		return text
	}
	list := strings.SplitAfter(text, "\n")
	if last := len(list) - 1; list[last] == "" {
		list = list[:last]
	}
	return list
}
