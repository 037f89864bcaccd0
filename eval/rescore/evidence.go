package rescore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"assay/eval/runs"
	"assay/internal/model/replay"
)

// maxEvidenceFileBytes is how large a file of an attempt may be to be read.
const maxEvidenceFileBytes = 1 << 30

// storedEvidence reads the files of an attempt for graders. Its methods return nil if a file does
// not exist, and after the first error, which is kept in err.
type storedEvidence struct {
	run           *runs.Run
	attemptFolder string // name of the attempt's folder
	err           error
}

// readFile returns the content of a file of the attempt.
func (e *storedEvidence) readFile(name string) []byte {
	if e.err != nil || e.attemptFolder == "" {
		return nil
	}
	file, err := e.run.OpenFile(e.attemptFolder, name)
	if errors.Is(err, runs.ErrNotFound) {
		return nil
	}
	if err != nil {
		e.err = err
		return nil
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxEvidenceFileBytes+1))
	if err == nil && len(text) > maxEvidenceFileBytes {
		err = fmt.Errorf("longer than %d MiB", maxEvidenceFileBytes>>20)
	}
	e.setFirstError(name, err)
	return text
}

// setFirstError keeps an error about the file name, unless it is nil or there is one already.
func (e *storedEvidence) setFirstError(name string, err error) {
	if err != nil && e.err == nil {
		e.err = fmt.Errorf("%s: %w", name, err)
	}
}

// conversation returns the agent's messages, from conversation.jsonl.
func (e *storedEvidence) conversation() []json.RawMessage {
	var entries []json.RawMessage
	for line := range bytes.Lines(e.readFile("conversation.jsonl")) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			entries = append(entries, line)
		}
	}
	return entries
}

// judgeRecording returns the recorded model calls of judges, from judge.jsonl.
func (e *storedEvidence) judgeRecording() *replay.Recording {
	text := e.readFile("judge.jsonl")
	if text == nil {
		return nil
	}
	recording, err := replay.ParseRecording("judge.jsonl", text)
	if err != nil {
		e.err = err
	}
	return recording
}
