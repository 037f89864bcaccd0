package rescore

import (
	"encoding/json"
	"strings"

	"assay/testcases/grading"
)

// ipynbFile has the fields of notebook.ipynb that matter to graders.
type ipynbFile struct {
	Cells    []ipynbCell `json:"cells"`
	Metadata struct {
		Language struct {
			Name string `json:"name"`
		} `json:"language_info"`
	} `json:"metadata"`
}

// ipynbCell has the fields of a cell in notebook.ipynb that matter to graders.
type ipynbCell struct {
	Type    string        `json:"cell_type"`
	Source  multilineText `json:"source"`
	Count   *int          `json:"execution_count"` // nil: the cell did not run
	Outputs []ipynbOutput `json:"outputs"`
}

// ipynbOutput has the fields of a cell's output in notebook.ipynb that matter to graders.
type ipynbOutput struct {
	Text      multilineText              `json:"text"` // of output from a stream
	Data      map[string]json.RawMessage `json:"data"`
	Traceback []string                   `json:"traceback"` // of an error; nil for other outputs
}

// stateFile has the fields of state.json that notebook.ipynb lacks: the status of each cell.
type stateFile struct {
	Context struct {
		Cells []struct {
			Status string `json:"status"`
		} `json:"cells"`
	} `json:"context"`
}

// multilineText is a text that the nbformat file format writes as a string or as a list of
// lines.
type multilineText string

// UnmarshalJSON decodes a string, or a list of lines, which it joins. It fails for anything
// else.
func (t *multilineText) UnmarshalJSON(data []byte) error {
	var lines []string
	if len(data) > 0 && data[0] == '[' {
		err := json.Unmarshal(data, &lines)
		*t = multilineText(strings.Join(lines, ""))
		return err
	}
	return json.Unmarshal(data, (*string)(t))
}

// notebook returns the stored notebook for graders, from notebook.ipynb and state.json; nil if
// there is none. err is set if a file cannot be read or parsed.
func (e *storedEvidence) notebook() *grading.Notebook {
	file := e.readFile("notebook.ipynb")
	if file == nil {
		return nil
	}
	var nb ipynbFile
	e.setFirstError("notebook.ipynb", json.Unmarshal(file, &nb))
	var last stateFile
	if file := e.readFile("state.json"); file != nil {
		e.setFirstError("state.json", json.Unmarshal(file, &last))
	}
	out := &grading.Notebook{Language: nb.Metadata.Language.Name}
	for i, cell := range nb.Cells {
		status := ""
		if len(last.Context.Cells) == len(nb.Cells) {
			status = last.Context.Cells[i].Status
		}
		out.Cells = append(out.Cells, cell.gradingCell(status))
	}
	return out
}

// gradingCell converts the cell to the form that graders see. status is the cell's status in
// state.json, or "" if that is unknown.
func (c ipynbCell) gradingCell(status string) grading.NotebookCell {
	cell := grading.NotebookCell{IsCode: c.Type == "code", Source: string(c.Source)}
	if !cell.IsCode {
		return cell
	}
	hasRaised := false
	var shown strings.Builder
	for _, o := range c.Outputs {
		hasRaised = hasRaised || o.Traceback != nil
		shown.WriteString(o.plainText())
	}
	cell.Text = shown.String()
	switch {
	case hasRaised || status == "error": // an error without a traceback: the kernel died
		cell.Status = "error"
	case status == "running":
		cell.Status = "interrupted"
	case status == "ran" || c.Count != nil:
		cell.Status = "ok"
	}
	return cell
}

// plainText returns an output as text, with a newline at the end unless it is printed text.
func (o ipynbOutput) plainText() string {
	if o.Traceback != nil {
		return strings.Join(o.Traceback, "\n") + "\n"
	}
	var plain multilineText
	if json.Unmarshal(o.Data["text/plain"], &plain) == nil {
		return string(plain) + "\n"
	}
	return string(o.Text)
}
