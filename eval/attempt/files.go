package attempt

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/testcases/grading"
)

// writeFinalFiles writes conversation.jsonl and, if the cells were collected, notebook.ipynb
// from the trace file. It fails if a file cannot be read or written.
func (a *attempt) writeFinalFiles() error {
	offsets, err := a.writeConversation()
	if err != nil || a.collected.Context == nil {
		return err
	}
	return a.writeNotebook(offsets)
}

// writeConversation writes the messages of the agent's history from the trace to
// conversation.jsonl, one per line; if the agent has sent nothing but submissions, those of its calls of
// models, and then the submissions. It also returns, by entry number, the offset in bytes of each trace
// entry with an output of a cell. It fails if a file cannot be read or written.
func (a *attempt) writeConversation() (offsets map[int64]int64, err error) {
	in, err := os.Open(a.filePath("trace.jsonl"))
	if err != nil {
		return nil, err
	}
	defer in.Close()
	file, err := os.OpenFile(a.filePath("conversation.jsonl"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	out := bufio.NewWriter(file) // keeps its first error for Flush
	offsets = map[int64]int64{}
	calls, submissions, hasHistory := callConversation{log: a.log}, []byte(nil), false
	_, err = trace.ReadRecords(in, func(r trace.Record) error {
		switch {
		case r.Hop == trace.KernelToServer && r.Type == protocol.TypeCellOutput:
			offsets[r.Seq] = r.Offset
		case r.Hop == trace.AgentToServer && r.Type == protocol.TypeAgentHistoryUpdated:
			var update struct {
				Entry json.RawMessage `json:"entry"`
			}
			_ = json.Unmarshal(r.Message, &update) // the watcher has noted what is malformed
			if isNull(update.Entry) {
				return nil
			}
			line := append(update.Entry, '\n')
			if !hasHistory && len(submissions)+len(line) <= maxHeldBytes && isOnlySubmission(update.Entry) {
				submissions = append(submissions, line...)
				return nil
			}
			if !hasHistory {
				hasHistory = true
				_, _ = out.Write(submissions)
			}
			_, _ = out.Write(line)
		case !hasHistory:
			calls.read(r)
		}
		return nil
	})
	if err == nil && !hasHistory {
		err = calls.write(out)
		_, _ = out.Write(submissions)
	}
	return offsets, errors.Join(err, out.Flush())
}

// maxHeldBytes is how much of submissions may come before other messages of an agent's history.
const maxHeldBytes = 1 << 20

// isOnlySubmission reports whether a message of the history has nothing but submissions.
func isOnlySubmission(entry json.RawMessage) bool {
	var message protocol.HistoryEntry
	var blocks []struct{ Type, Name string }
	if json.Unmarshal(entry, &message) != nil || json.Unmarshal(message.Content, &blocks) != nil {
		return false
	}
	for _, b := range blocks {
		if b.Type != "tool_use" || !grading.IsSubmissionTool(b.Name) {
			return false
		}
	}
	return len(blocks) > 0
}

// writeNotebook writes the collected notebook to notebook.ipynb. Large outputs are read from
// the trace file; offsets has the position of each entry with an output in bytes. If the cells
// cannot be parsed it only logs a warning. It fails if a file cannot be read or written.
func (a *attempt) writeNotebook(offsets map[int64]int64) (err error) {
	cells, err := notebook.CellsFromContext(a.collected.Context)
	if err != nil {
		a.log.Warn("notebook.ipynb is not written", "error", err)
		return nil
	}
	in, err := os.Open(a.filePath("trace.jsonl"))
	if err != nil {
		return err
	}
	defer in.Close()
	file, err := os.OpenFile(a.filePath("notebook.ipynb"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	load := func(seq int64) ([]byte, error) {
		offset, hasOffset := offsets[seq]
		if !hasOffset {
			return nil, fmt.Errorf("the trace has no entry %d", seq)
		}
		record, err := trace.ReadRecordAt(in, offset)
		return record.Message, err
	}
	ready := a.session.KernelReady()
	meta := notebook.FileMetadata{Language: ready.Language, LanguageVersion: ready.Version}
	content := notebook.IPYNB{Cells: cells, Executions: a.session.Executions(), Metadata: meta, LoadEntry: load, Redactor: a.redactor}
	return errors.Join(content.Write(file), file.Close())
}
