package attempt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"

	"assay/internal/model"
	"assay/internal/model/replay"
	"assay/internal/notebook"
	"assay/internal/redact"
	"assay/internal/subprocess"
	"assay/testcases/grading"
)

// collectedCells returns the notebook's cells from the collected state. It fails if they could
// not be collected or cannot be parsed.
func (a *attempt) collectedCells() ([]notebook.Cell, error) {
	if a.collected.Context == nil {
		return nil, errors.New("it could not be collected: " + a.collected.Errors["context"])
	}
	return notebook.CellsFromContext(a.collected.Context)
}

// gradingNotebook converts cells and their executions to the notebook that graders see. An
// empty language means "python".
func gradingNotebook(language string, cells []notebook.Cell, executions *notebook.Executions) *grading.Notebook {
	if language == "" {
		language = "python"
	}
	out := &grading.Notebook{Language: language, Cells: make([]grading.NotebookCell, len(cells))}
	for i, cell := range cells {
		graded := grading.NotebookCell{IsCode: cell.Type == notebook.CodeCell, Source: cell.Source}
		if graded.IsCode {
			graded.Status, graded.Text = toGradingStatus(executions.CellStatus(cell.ID)), executions.TextOutput(cell.ID)
		}
		out.Cells[i] = graded
	}
	return out
}

// toGradingStatus converts a cell's status in package notebook to the one that graders see: ok,
// error, interrupted (the cell was still running), or "" (it has not run).
func toGradingStatus(status string) string {
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

// writeFilesForGraders waits until the trace file has all entries appended until now, and
// writes conversation.jsonl and notebook.ipynb from it. Both are written again at the end of
// the attempt. It fails if a file cannot be read or written, and with the cause of ctx.
func (a *attempt) writeFilesForGraders(ctx context.Context) error {
	tail, err := a.recording.OpenTail()
	if err != nil {
		return err
	}
	defer tail.Close()
	last, _ := a.journal.LastEntry()
	if err := tail.SkipTo(ctx, last); err != nil {
		return err
	}
	return a.writeFinalFiles()
}

// readConversation returns the lines of the attempt's conversation.jsonl. It fails if the file
// cannot be read.
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

// openJudge opens the model of this name for a grader that asks a model, and records its calls
// in judge.jsonl. It fails if there is no such model or the file cannot be created.
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
	return replay.Normalizer{Redactor: a.redactor}.NewRecordingClient(name, client, a.judgeCalls), nil
}

// EnvWithoutSecrets returns the environment environ ("NAME=value") without the variables that
// look like secrets: by their name, or because the value has a URL with a password. Command
// graders run with it.
func EnvWithoutSecrets(environ []string) []string {
	named := subprocess.FilterEnv(environ, func(name string) bool { return !redact.IsSecretName(name) })
	return slices.DeleteFunc(named, func(variable string) bool { return len(redact.PasswordsOfURLs(variable)) > 0 })
}
