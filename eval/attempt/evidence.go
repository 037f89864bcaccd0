package attempt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"

	"assay/internal/model"
	"assay/internal/model/replay"
	"assay/internal/notebook"
	"assay/internal/subprocess"
	"assay/testcases/grading"
)

// collectedCells returns the cells in the collected state. It fails if they could not be collected
// or cannot be parsed.
func (a *attempt) collectedCells() ([]notebook.Cell, error) {
	if a.collected.Context == nil {
		return nil, errors.New("it could not be collected: " + a.collected.Errors["context"])
	}
	return notebook.CellsFromContext(a.collected.Context)
}

// gradingNotebook returns cells and their executions as graders see them. An empty language means
// Python.
func gradingNotebook(language string, cells []notebook.Cell, executions *notebook.Executions) *grading.Notebook {
	if language == "" {
		language = "python"
	}
	out := &grading.Notebook{Language: language, Cells: make([]grading.Cell, len(cells))}
	for i, cell := range cells {
		graded := grading.Cell{IsCode: cell.Type == notebook.CodeCell, Source: cell.Source}
		if graded.IsCode {
			graded.Status, graded.Text = gradingStatus(executions.CellStatus(cell.ID)), executions.TextOutput(cell.ID)
		}
		out.Cells[i] = graded
	}
	return out
}

// gradingStatus converts the status of a cell in package notebook to that in package grading.
func gradingStatus(status string) string {
	switch status {
	case notebook.StatusRan:
		return "ok"
	case notebook.StatusError:
		return "error"
	case notebook.StatusRunning:
		return "interrupted" // it had not ended when the state was collected
	default:
		return ""
	}
}

// writeFilesSoFar waits until the trace file has all entries so far, and writes conversation.jsonl
// and notebook.ipynb from it for the graders. They are written again when the trace is complete. It
// fails if a file cannot be read or written, or with the cause of ctx.
func (a *attempt) writeFilesSoFar(ctx context.Context) error {
	tail, err := a.recording.OpenTail()
	if err != nil {
		return err
	}
	defer tail.Close()
	last, _ := a.journal.LastEntry()
	if err := tail.SkipTo(ctx, last); err != nil {
		return err
	}
	return a.writeFiles()
}

// readConversation returns the lines of conversation.jsonl. It fails if the file cannot be read.
func (a *attempt) readConversation() ([]json.RawMessage, error) {
	text, err := os.ReadFile(a.filePath("conversation.jsonl"))
	if err != nil {
		return nil, err
	}
	var entries []json.RawMessage
	for line := range bytes.Lines(text) {
		entries = append(entries, json.RawMessage(bytes.TrimRight(line, "\n")))
	}
	return entries, nil
}

// openJudge opens the model of this name for a grader. Its calls are recorded in judge.jsonl. It
// fails if there is no such model or the file cannot be created.
func (a *attempt) openJudge(name string) (model.Client, error) {
	client, err := a.cfg.OpenJudge(name)
	if err != nil {
		return nil, err
	}
	if a.judgeCalls == nil {
		file, err := os.OpenFile(a.filePath("judge.jsonl"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return nil, err
		}
		a.judgeCalls = file
	}
	return replay.Record(name, client, a.judgeCalls), nil
}

var (
	// urlWithPassword matches a URL with a user and a password.
	urlWithPassword = regexp.MustCompile(`://[^\s/@]*:[^\s@]+@`)

	// secretVariable matches the name of an environment variable one word of which, separated by _,
	// is or ends with a word for a secret, in upper or lower case, singular or plural, with or
	// without digits after it.
	secretVariable = regexp.MustCompile(`(?i)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASS|PAT|CREDENTIAL|AUTH)S?[0-9]*(_|$)`)
)

// WithoutSecrets returns the environment without variables that look like secrets, by their name or
// because the value has a URL with a password. It is the environment of command graders.
func WithoutSecrets(environ []string) []string {
	return slices.DeleteFunc(subprocess.FilterEnv(environ, isPublicVariable), urlWithPassword.MatchString)
}

// isPublicVariable reports whether the name of an environment variable does not look like that of a
// secret.
func isPublicVariable(name string) bool { return !secretVariable.MatchString(name) }
