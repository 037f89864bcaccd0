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

// maxFileBytes bounds what is read of a file of an attempt, in bytes.
const maxFileBytes = 1 << 30

// storedEvidence reads what is stored of an attempt. What is not there is nil. The
// first failure is kept, and all is nil after it.
type storedEvidence struct {
	run     *runs.Run
	attempt string // the name of its folder
	err     error
}

// readFile reads a file whole, nil if it is not there.
func (e *storedEvidence) readFile(name string) []byte {
	if e.err != nil || e.attempt == "" {
		return nil
	}
	file, err := e.run.OpenFile(e.attempt, name)
	if errors.Is(err, runs.ErrNotFound) {
		return nil
	}
	if err != nil {
		e.err = err
		return nil
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err == nil && len(text) > maxFileBytes {
		err = fmt.Errorf("longer than %d MiB", maxFileBytes>>20)
	}
	e.keepError(name, err)
	return text
}

func (e *storedEvidence) keepError(name string, err error) {
	if err != nil && e.err == nil {
		e.err = fmt.Errorf("%s: %w", name, err)
	}
}

// conversation is the agent's messages.
func (e *storedEvidence) conversation() []json.RawMessage {
	var entries []json.RawMessage
	for line := range bytes.Lines(e.readFile("conversation.jsonl")) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			entries = append(entries, line)
		}
	}
	return entries
}

// judgeRecording is what judges were asked and what they said.
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
