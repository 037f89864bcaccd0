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

// Writer is the folder of a run that goes on. It is safe for concurrent use.
// Whoever created it must Close it.
type Writer struct {
	Dir  string
	Name string

	attemptsLog *appendLog
}

// ErrExists says that the folder of a new run is there already.
var ErrExists = errors.New("it exists already: a run never writes into the folder of another (name a new one with --out)")

// Create makes dir, which must not exist, and writes run.json. info's Type,
// Version and Run are filled in.
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
	attempts, err := createAppendLog(filepath.Join(dir, "attempts.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("run folder: %w", err)
	}
	f := &Writer{Dir: dir, Name: filepath.Base(dir), attemptsLog: attempts}
	info.Type, info.Version, info.Run = "run", FormatVersion, f.Name
	err = f.AppendLine(attemptsHeader{Type: "attempts", Version: FormatVersion, Run: f.Name})
	if err == nil {
		err = f.writeRunJSON(info) // last: with it the folder is a run, which goes on
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("run folder: %w", err), f.Close())
	}
	return f, nil
}

func (f *Writer) writeRunJSON(info Info) error {
	text, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(f.Dir, "run.json"), append(text, '\n'), 0o600)
}

// AppendLine adds a line to attempts.jsonl and returns when it is on disk. Lines
// that wait together share one sync.
func (f *Writer) AppendLine(line any) error {
	var text bytes.Buffer
	if err := EncodeLine(&text, line); err != nil {
		return fmt.Errorf("attempts.jsonl: %w", err)
	}
	return f.attemptsLog.appendLine(text.Bytes())
}

// EncodeLine writes a line of attempts.jsonl, or one like it: what it holds is
// for programs and people, not for web pages, so < and > stay as they are.
func EncodeLine(out io.Writer, line any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(line)
}

// MakeAttemptDir makes the folder of an attempt and returns its path, and that
// below the run's folder. n counts the attempts of the run from 1.
func (f *Writer) MakeAttemptDir(n int, caseID string, epoch, try int) (dir, rel string, err error) {
	rel = filepath.Join("attempts", fmt.Sprintf("%04d-%s-e%d-t%d", n, caseSlug(caseID), epoch, try))
	dir = filepath.Join(f.Dir, rel)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", "", fmt.Errorf("attempt folder: %w", err)
	}
	return dir, rel, nil
}

// caseSlug makes a file name of a case's id, which may hold anything.
func caseSlug(id string) string {
	const longest = 60
	name := regexp.MustCompile(`[^A-Za-z0-9_.]+`).ReplaceAllString(id, "-")
	name = strings.Trim(name[:min(len(name), longest)], "-.")
	if name == "" {
		return "case"
	}
	return name
}

// Close closes the files; nothing is written after it.
func (f *Writer) Close() error { return f.attemptsLog.close() }
