package rescore

import (
	"encoding/json"
	"strings"

	"assay/testcases/grading"
)

// ipynb is what is read of notebook.ipynb.
type ipynb struct {
	Cells    []ipynbCell `json:"cells"`
	Metadata struct {
		Language struct {
			Name string `json:"name"`
		} `json:"language_info"`
	} `json:"metadata"`
}

type ipynbCell struct {
	Type    string        `json:"cell_type"`
	Source  text          `json:"source"`
	Count   *int          `json:"execution_count"` // null: it did not run
	Outputs []ipynbOutput `json:"outputs"`
}

type ipynbOutput struct {
	Text      text                       `json:"text"` // of a stream
	Data      map[string]json.RawMessage `json:"data"`
	Traceback []string                   `json:"traceback"` // of an error; else nil
}

// state is what is read of state.json: the statuses, which a notebook file lacks.
type state struct {
	Context struct {
		Cells []struct {
			Status string `json:"status"`
		} `json:"cells"`
	} `json:"context"`
}

// text is a string, which nbformat also writes as the list of its lines.
type text string

// UnmarshalJSON implements [json.Unmarshaler].
func (t *text) UnmarshalJSON(data []byte) error {
	var lines []string
	if len(data) > 0 && data[0] == '[' {
		err := json.Unmarshal(data, &lines)
		*t = text(strings.Join(lines, ""))
		return err
	}
	return json.Unmarshal(data, (*string)(t))
}

// notebook is the notebook as it was left behind.
func (e *evidence) notebook() *grading.Notebook {
	file := e.file("notebook.ipynb")
	if file == nil {
		return nil
	}
	var nb ipynb
	e.fail("notebook.ipynb", json.Unmarshal(file, &nb))
	var last state
	if file := e.file("state.json"); file != nil {
		e.fail("state.json", json.Unmarshal(file, &last))
	}
	out := &grading.Notebook{Language: nb.Metadata.Language.Name}
	for i, cell := range nb.Cells {
		status := ""
		if len(last.Context.Cells) == len(nb.Cells) {
			status = last.Context.Cells[i].Status
		}
		out.Cells = append(out.Cells, cell.graded(status))
	}
	return out
}

// graded is the cell as graders see it; status is that of the notebook's state,
// empty where it is not known.
func (c ipynbCell) graded(status string) grading.Cell {
	cell := grading.Cell{Code: c.Type == "code", Source: string(c.Source)}
	if !cell.Code {
		return cell
	}
	raised := false
	var shown strings.Builder
	for _, o := range c.Outputs {
		raised = raised || o.Traceback != nil
		shown.WriteString(o.text())
	}
	cell.Text = shown.String()
	switch {
	case raised || status == "error": // without having raised: its kernel died
		cell.Status = "error"
	case status == "running":
		cell.Status = "interrupted"
	case status == "ran" || c.Count != nil:
		cell.Status = "ok"
	}
	return cell
}

// text is an output as text, which ends a line unless a stream has written it.
func (o ipynbOutput) text() string {
	if o.Traceback != nil {
		return strings.Join(o.Traceback, "\n") + "\n"
	}
	var plain text
	if json.Unmarshal(o.Data["text/plain"], &plain) == nil {
		return string(plain) + "\n"
	}
	return string(o.Text)
}
