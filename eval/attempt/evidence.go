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

// collectedCells are the notebook's, as it was collected.
func (a *attempt) collectedCells() ([]notebook.Cell, error) {
	if a.collected.Context == nil {
		return nil, errors.New("it could not be collected: " + a.collected.Errors["context"])
	}
	return notebook.CellsFromContext(a.collected.Context)
}

// gradingNotebook is a notebook as graders see it.
func gradingNotebook(language string, cells []notebook.Cell, fold *notebook.Executions) *grading.Notebook {
	if language == "" {
		language = "python" // of a kernel that does not say
	}
	out := &grading.Notebook{Language: language, Cells: make([]grading.Cell, len(cells))}
	for i, cell := range cells {
		shown := grading.Cell{Code: cell.Type == notebook.CodeCell, Source: cell.Source}
		if shown.Code {
			shown.Status, shown.Text = gradingStatus(fold.CellStatus(cell.ID)), fold.TextOutput(cell.ID)
		}
		out.Cells[i] = shown
	}
	return out
}

// gradingStatus is how a run ended as graders call it.
func gradingStatus(folded string) string {
	switch folded {
	case notebook.StatusRan:
		return "ok"
	case notebook.StatusError:
		return "error"
	case notebook.StatusRunning:
		return "interrupted" // it goes on, or would, and nobody waits for it
	default:
		return ""
	}
}

// writeFilesSoFar makes of the trace, as far as it has come, the files that are made
// of the whole one when the attempt is over.
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

// readConversation is the file of it, by lines.
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

// openJudge opens a model whose calls are written to the attempt's judge.jsonl.
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

// WithoutSecrets returns environ less what looks like a secret, by its name or as a
// URL with a password in it: it is what a command grader gets.
func WithoutSecrets(environ []string) []string {
	login := regexp.MustCompile(`://[^\s/@]*:[^\s@]+@`)
	return slices.DeleteFunc(subprocess.FilterEnv(environ, isPublicVariable), login.MatchString)
}

// isPublicVariable says whether no word of a variable's name, in any case and number and
// with or without digits behind it, is or ends with one for a secret.
func isPublicVariable(name string) bool {
	secret := regexp.MustCompile(`(?i)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASS|PAT|CREDENTIAL|AUTH)S?[0-9]*(_|$)`)
	return !secret.MatchString(name)
}
