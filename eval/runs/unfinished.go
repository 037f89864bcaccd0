package runs

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"time"
)

// UnfinishedAttempt is what the folder of an attempt tells that has no line: it is running, or
// nobody makes its run any more.
type UnfinishedAttempt struct {
	Type     string    `json:"type"`  // "attempt"
	State    State     `json:"state"` // StateRunning or StateInterrupted
	Name     string    `json:"name"`  // of its folder
	Run      string    `json:"run"`
	CaseSlug string    `json:"slug"` // the case's id as far as a folder's name holds it
	Epoch    int       `json:"epoch"`
	Try      int       `json:"try"`
	Started  time.Time `json:"started,omitzero"` // of its trace; absent: there is none yet
	Modified time.Time `json:"changed"`          // when its trace, or else its folder, was last written
	Trace    string    `json:"trace"`            // path below the run's folder
	Files    []string  `json:"files"`            // the same, of what is there
}

// UnfinishedAttempt tells of an attempt that has no line by its folder. Where there is
// none the error wraps ErrNotFound.
func (r *Run) UnfinishedAttempt(attempt string) (UnfinishedAttempt, error) {
	parts := regexp.MustCompile(`^\d+-(.+)-e(\d+)-t(\d+)$`).FindStringSubmatch(attempt)
	if !isFileName(attempt) || parts == nil {
		return UnfinishedAttempt{}, fmt.Errorf("attempt %q: %w", attempt, ErrNotFound)
	}
	dir := path.Join("attempts", attempt)
	b := UnfinishedAttempt{
		Type: TypeAttempt, State: r.unfinishedState(), Name: attempt, Run: r.Name, CaseSlug: parts[1],
		Epoch: parseDigits(parts[2]), Try: parseDigits(parts[3]), Trace: path.Join(dir, "trace.jsonl"), Files: []string{},
	}
	entries, err := fs.ReadDir(r.root.FS(), dir)
	if err != nil {
		return UnfinishedAttempt{}, notFoundError("attempt", attempt, err)
	}
	for _, entry := range entries {
		b.Files = append(b.Files, path.Join(dir, entry.Name()))
	}
	return b, r.fillDates(&b, dir)
}

// unfinishedState is that of attempts without a line.
func (r *Run) unfinishedState() State {
	lines, err := r.AttemptLines()
	if err != nil {
		return StateInterrupted
	}
	defer lines.Close()
	if lines.isLockedByWriter() {
		return StateRunning
	}
	return StateInterrupted
}

// parseDigits reads digits; what is too large for a number is the largest.
func parseDigits(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

// fillDates fills in when an attempt began and when it was last seen.
func (r *Run) fillDates(b *UnfinishedAttempt, dir string) error {
	info, err := r.root.Stat(dir)
	if err != nil {
		return notFoundError("attempt", b.Name, err)
	}
	b.Modified = info.ModTime().UTC()
	file, info, err := r.openRegular(b.Trace)
	if err != nil {
		return nil // there is no trace yet
	}
	defer file.Close()
	b.Modified = info.ModTime().UTC()
	var header struct {
		Started time.Time `json:"started"`
	}
	if json.NewDecoder(io.LimitReader(file, 64<<10)).Decode(&header) == nil { // it may not be whole yet
		b.Started = header.Started
	}
	return nil
}
