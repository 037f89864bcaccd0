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

	"assay/internal/redact"
)

// AttemptsFileName is the name of the file with the results, in the folder of a run.
const AttemptsFileName = "attempts.jsonl"

// attemptsHeader is the JSON of the first line of attempts.jsonl.
type attemptsHeader struct {
	Type    string `json:"type"` // "attempts"
	Version int    `json:"version"`
	Run     string `json:"run"`
}

// Writer writes the folder of a run. While it is open, other processes see the run as running.
// It is safe for concurrent use. The caller must Close it.
type Writer struct {
	Dir  string // path of the folder
	Name string // base name of the folder

	attemptsLog *appendLog
	redactor    *redact.Redactor
}

// ErrExists is wrapped by the error of [Create] if the run's folder exists already.
var ErrExists = errors.New("it exists already: a run never writes into the folder of another (name a new one with --out)")

// Create makes the run folder dir, with its parents, writes run.json and the header of
// attempts.jsonl, and returns the Writer, which writes no secret that redactor finds. It sets
// Type, Version and Run of info. It fails with ErrExists if dir exists, and if a file cannot be
// written.
func Create(dir string, info Info, redactor *redact.Redactor) (*Writer, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		return nil, fmt.Errorf("run folder: %w", err)
	}
	if err := os.Mkdir(dir, 0o750); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = ErrExists
		}
		return nil, fmt.Errorf("run folder %s: %w", dir, err)
	}
	attemptsLog, err := createAppendLog(filepath.Join(dir, AttemptsFileName))
	if err != nil {
		return nil, fmt.Errorf("run folder: %w", err)
	}
	w := &Writer{Dir: dir, Name: filepath.Base(dir), attemptsLog: attemptsLog, redactor: redactor}
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

// writeRunJSON writes the run's run.json. It fails if the file cannot be written or info has no
// JSON.
func (w *Writer) writeRunJSON(info Info) error {
	text, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(w.Dir, "run.json"), append(w.redactor.JSON(text), '\n'), 0o600)
}

// AppendLine appends line, encoded as JSON, to the run's attempts.jsonl and returns when it is
// on disk (fsync). Concurrent calls share one fsync. It fails if line has no JSON; after a
// write error every call fails with that error.
func (w *Writer) AppendLine(line any) error {
	var text bytes.Buffer
	if err := EncodeLine(&text, line); err != nil {
		return fmt.Errorf("attempts.jsonl: %w", err)
	}
	return w.attemptsLog.appendLine(w.redactor.JSON(text.Bytes()))
}

// EncodeLine writes line to out as one line of JSON in the form of attempts.jsonl: <, > and &
// are not escaped, because the text is not for web pages. It fails if line has no JSON or
// writing fails.
func EncodeLine(out io.Writer, line any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(line)
}

// MakeAttemptDir makes the folder of the run's attempt number n, counted from 1. It returns the
// folder's path and its path relative to the run's folder. It fails if the folder cannot be
// made.
func (w *Writer) MakeAttemptDir(n int, caseID string, epoch, try int) (dir, rel string, err error) {
	rel = filepath.Join("attempts", fmt.Sprintf("%04d-%s-e%d-t%d", n, caseSlug(caseID), epoch, try))
	dir = filepath.Join(w.Dir, rel)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", "", fmt.Errorf("attempt folder: %w", err)
	}
	return dir, rel, nil
}

// nonSlugChars matches the characters of a case's id that may not be in a folder's name.
var nonSlugChars = regexp.MustCompile(`[^A-Za-z0-9_.]+`)

// caseSlug returns a name for files and folders made from a case's id, which may be any text:
// characters other than letters, digits, _ and . become -, and the name has at most 60 bytes.
// It is "case" if nothing is left.
func caseSlug(id string) string {
	const maxBytes = 60
	name := nonSlugChars.ReplaceAllString(id, "-")
	name = strings.Trim(name[:min(len(name), maxBytes)], "-.")
	if name == "" {
		return "case"
	}
	return name
}

// Close closes attempts.jsonl and releases the run's lock. From then on the run counts as finished,
// or as interrupted if its last line is not a summary. AppendLine fails afterwards.
func (w *Writer) Close() error { return w.attemptsLog.close() }
