package notebook

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// FileMetadata is what a notebook file says of itself.
type FileMetadata struct {
	Language        string // of the code cells; default "python"
	LanguageVersion string // as in "3.11.2"; may be empty
}

// WriteIPYNB writes cells, with the outputs that runs has of them, as a Jupyter
// notebook of nbformat 4.5. runs may be nil: no cell has run. Cell ids that
// nbformat does not allow are replaced; the original is then in the cell's
// metadata, as is its title, under "assay".
//
// load returns the body of an entry of the trace and is called for outputs of
// which runs has only a reference; what it cannot load, or, when it is nil, all
// of these, are replaced by a line of plain text that says what is missing.
//
// Errors are those of w. Memory follows the largest cell.
func WriteIPYNB(w io.Writer, cells []Cell, runs *Executions, meta FileMetadata, load func(seq int64) ([]byte, error)) error {
	out := bufio.NewWriter(w) // its first error stays and comes from Flush
	file := ipynb{runs: runs, load: load, ids: fileIDs(cells)}
	_, _ = out.WriteString("{\n \"cells\": [")
	for i, cell := range cells {
		text, err := indented("  ", file.cell(i, cell))
		if err != nil {
			return fmt.Errorf("encode cell %q: %w", cell.ID, err)
		}
		if i > 0 {
			_ = out.WriteByte(',')
		}
		_, _ = out.WriteString("\n  ")
		_, _ = out.Write(text)
	}
	head, err := indented(" ", meta.json())
	if err != nil {
		return fmt.Errorf("encode metadata: %w", err)
	}
	_, _ = fmt.Fprintf(out, "\n ],\n \"metadata\": %s,\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n", head)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write notebook: %w", err)
	}
	return nil
}

// indented returns v as JSON in Jupyter's indentation, whose lines but the first
// begin with prefix.
func indented(prefix string, v any) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent(prefix, " ")
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(text.Bytes(), "\n"), nil
}

func (m FileMetadata) json() map[string]any {
	language := m.Language
	if language == "" {
		language = defaultLanguage
	}
	kernel := language
	if language == "python" {
		kernel = "python3" // the name under which Jupyter knows it
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

// ipynb makes the cells of a notebook file.
type ipynb struct {
	runs *Executions
	load func(seq int64) ([]byte, error)
	ids  []string // of the cells, as the file has them
}

func (f ipynb) cell(i int, cell Cell) map[string]any {
	own := map[string]any{}
	if f.ids[i] != cell.ID {
		own["cell_id"] = cell.ID
	}
	if cell.Title != "" {
		own["title"] = cell.Title
	}
	metadata := map[string]any{}
	if len(own) > 0 {
		metadata["assay"] = own
	}
	out := map[string]any{"cell_type": MarkdownCell, "id": f.ids[i], "metadata": metadata, "source": lines(cell.Source)}
	if cell.Type == MarkdownCell {
		return out
	}
	outputs, count := f.runs.ran(cell.ID)
	out["cell_type"] = CodeCell
	out["outputs"] = f.outputs(outputs)
	out["execution_count"] = nil
	if count > 0 {
		out["execution_count"] = count
	}
	return out
}

func (f ipynb) outputs(list []shown) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = f.output(s)
	}
	return out
}

func (f ipynb) output(s shown) map[string]any {
	if s.rich == nil {
		return map[string]any{"output_type": streamOutput, "name": s.stream, "text": lines(s.text.all())}
	}
	r := f.complete(s.rich)
	if r.fault != nil {
		return map[string]any{
			"output_type": errorOutput, "ename": r.fault.name, "evalue": r.fault.value,
			"traceback": append([]string{}, r.fault.traceback...),
		}
	}
	data := map[string]any{}
	for mime, value := range r.data {
		data[mime] = fileValue(mime, value)
	}
	out := map[string]any{"output_type": r.kind, "data": data, "metadata": r.metadata}
	if r.kind == executeResult {
		out["execution_count"] = r.count
	}
	return out
}

// complete returns an output with all of its values, or a note of those that
// are missing.
func (f ipynb) complete(r *rich) *rich {
	if !r.partial() {
		return r
	}
	if f.load == nil {
		return r.noted(r.absence())
	}
	loaded, err := f.fetch(r)
	if err != nil {
		return r.noted(r.absence() + "\n[" + err.Error() + "]")
	}
	return loaded
}

// fetch reads an output from the trace.
func (f ipynb) fetch(r *rich) (*rich, error) {
	body, err := f.load(r.seq)
	if err != nil {
		return nil, fmt.Errorf("load entry %d of the trace: %w", r.seq, err)
	}
	frame, err := read(body)
	if err != nil {
		return nil, fmt.Errorf("read entry %d of the trace: %w", r.seq, err)
	}
	output := frame.object("output")
	content := readRich(r.seq, output.text("output_type"), output)
	if err := frame.err(); err != nil {
		return nil, fmt.Errorf("read entry %d of the trace: %w", r.seq, err)
	}
	return r.updated(content), nil
}

// fileValue returns a value of a mime bundle as nbformat wants it: any JSON for
// JSON types, else text, by lines unless it is binary.
func fileValue(mime string, value json.RawMessage) any {
	switch {
	case isJSONType(mime):
		return value
	case isBinary(mime, value):
		return valueText(value)
	default:
		return lines(valueText(value))
	}
}

// lines returns text cut behind each line feed.
func lines(text string) []string {
	list := strings.SplitAfter(text, "\n")
	if last := len(list) - 1; list[last] == "" {
		list = list[:last]
	}
	return list
}
