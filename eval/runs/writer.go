package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// attemptsHeader is the first line of attempts.jsonl.
type attemptsHeader struct {
	Type    string `json:"type"` // "attempts"
	Version int    `json:"version"`
	Run     string `json:"run"`
}

// Writer writes the folder of a run. While it is open, other processes see the run as running. It
// is safe for concurrent use. Whoever created it must Close it.
type Writer struct {
	Dir  string // path of the folder
	Name string // base name of the folder

	attemptsLog *appendLog
}

// ErrExists is wrapped by the error of [Create] if the folder exists.
var ErrExists = errors.New("it exists already: a run never writes into the folder of another (name a new one with --out)")

// Create makes the folder dir, with parents, and writes run.json and the header of attempts.jsonl.
// It sets info's Type, Version and Run. It fails with ErrExists if dir exists.
func Create(dir string, info Info) (*Writer, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		return nil, fmt.Errorf("run folder: %w", err)
	}
	if err := os.Mkdir(dir, 0o750); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = ErrExists
		}
		return nil, fmt.Errorf("run folder %s: %w", dir, err)
	}
	attemptsLog, err := createAppendLog(filepath.Join(dir, "attempts.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("run folder: %w", err)
	}
	w := &Writer{Dir: dir, Name: filepath.Base(dir), attemptsLog: attemptsLog}
	info.Type, info.Version, info.Run = "run", FormatVersion, w.Name
	err = w.AppendLine(attemptsHeader{Type: "attempts", Version: FormatVersion, Run: w.Name})
	if err == nil {
		err = w.writeRunJSON(info) // last: a folder counts as a run only with this file
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("run folder: %w", err), w.Close())
	}
	return w, nil
}

// writeRunJSON writes run.json. It fails if the file cannot be written or info has no JSON.
func (w *Writer) writeRunJSON(info Info) error {
	text, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(w.Dir, "run.json"), append(text, '\n'), 0o600)
}

// AppendLine appends line as JSON to attempts.jsonl and returns when it is on disk (fsync).
// Concurrent calls share one fsync. After a write error every call fails with that error.
func (w *Writer) AppendLine(line any) error {
	var text bytes.Buffer
	if err := EncodeLine(&text, line); err != nil {
		return fmt.Errorf("attempts.jsonl: %w", err)
	}
	return w.attemptsLog.appendLine(text.Bytes())
}

// EncodeLine writes line as one line of JSON, in the form of attempts.jsonl: <, > and & are not
// escaped, because the text is not for web pages. It fails if line has no JSON or out fails.
func EncodeLine(out io.Writer, line any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(line)
}

// MakeAttemptDir makes the folder of attempt number n of the run, counted from 1. It returns the
// folder's path and its path relative to the run's folder. It fails if the folder cannot be made.
func (w *Writer) MakeAttemptDir(n int, caseID string, epoch, try int) (dir, rel string, err error) {
	rel = filepath.Join("attempts", fmt.Sprintf("%04d-%s-e%d-t%d", n, caseSlug(caseID), epoch, try))
	dir = filepath.Join(w.Dir, rel)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", "", fmt.Errorf("attempt folder: %w", err)
	}
	return dir, rel, nil
}

// nonSlugChars matches what a file name made of a case's id cannot have.
var nonSlugChars = regexp.MustCompile(`[^A-Za-z0-9_.]+`)

// caseSlug returns a file name made of a case's id, which may be any text: other characters than
// letters, digits, _ and . become -, and the name has at most 60 bytes.
func caseSlug(id string) string {
	const maxBytes = 60
	name := nonSlugChars.ReplaceAllString(id, "-")
	name = strings.Trim(name[:min(len(name), maxBytes)], "-.")
	if name == "" {
		return "case"
	}
	return name
}

// Close closes the files and releases the run's lock: from then on the run counts as finished, or
// as interrupted if its last line is no summary. AppendLine fails afterwards.
func (w *Writer) Close() error { return w.attemptsLog.close() }
