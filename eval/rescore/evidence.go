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

// maxEvidenceFileBytes is the size of the largest file of a stored attempt that is read for
// graders.
const maxEvidenceFileBytes = 1 << 30

// storedEvidence reads the files of a stored attempt for its graders. Its methods return nil if
// a file does not exist and after the first error, which is kept in err.
type storedEvidence struct {
	run           *runs.Run
	attemptFolder string // name of the attempt's folder
	err           error
}

// readFile returns the content of the attempt's file with this name; nil if it does not exist.
// err is set if it cannot be read or is too large.
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

// setFirstError sets err to an error about the file name, unless the error is nil or err is set
// already.
func (e *storedEvidence) setFirstError(name string, err error) {
	if err != nil && e.err == nil {
		e.err = fmt.Errorf("%s: %w", name, err)
	}
}

// conversation returns the lines of the attempt's conversation.jsonl, the messages of the
// agent; nil if the file does not exist.
func (e *storedEvidence) conversation() []json.RawMessage {
	var entries []json.RawMessage
	for line := range bytes.Lines(e.readFile("conversation.jsonl")) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			entries = append(entries, line)
		}
	}
	return entries
}

// judgeRecording returns the recorded calls of models by graders, from the attempt's
// judge.jsonl; nil if the file does not exist.
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
