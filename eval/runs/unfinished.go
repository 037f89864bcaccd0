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

// UnfinishedAttempt is the JSON that describes an attempt without a line in attempts.jsonl, by
// its folder: the attempt is running, or its run was interrupted.
type UnfinishedAttempt struct {
	Type     string    `json:"type"`  // "attempt"
	State    State     `json:"state"` // StateRunning or StateInterrupted
	Name     string    `json:"name"`  // of the folder
	Run      string    `json:"run"`
	CaseSlug string    `json:"slug"` // the part of the folder's name that stands for the case's id
	Epoch    int       `json:"epoch"`
	Try      int       `json:"try"`
	Started  time.Time `json:"started,omitzero"` // when its trace began; zero: there is no trace yet
	Modified time.Time `json:"changed"`          // when its trace was last written; without a trace, its folder
	Trace    string    `json:"trace"`            // path relative to the run's folder
	Files    []string  `json:"files"`            // paths relative to the run's folder
}

// attemptFolderPattern matches the folder names that [Writer.MakeAttemptDir] makes. Its groups
// are the case's slug, the epoch and the try.
var attemptFolderPattern = regexp.MustCompile(`^\d+-(.+)-e(\d+)-t(\d+)$`)

// UnfinishedAttempt describes the attempt in the folder attempt, which the caller knows to have
// no line in attempts.jsonl. It fails with ErrNotFound if there is no such folder.
func (r *Run) UnfinishedAttempt(attempt string) (UnfinishedAttempt, error) {
	parts := attemptFolderPattern.FindStringSubmatch(attempt)
	if !isFileName(attempt) || parts == nil {
		return UnfinishedAttempt{}, fmt.Errorf("attempt %q: %w", attempt, ErrNotFound)
	}
	dir := path.Join("attempts", attempt)
	unfinished := UnfinishedAttempt{
		Type: TypeAttempt, State: r.unfinishedState(), Name: attempt, Run: r.Name, CaseSlug: parts[1],
		Epoch: parseDigits(parts[2]), Try: parseDigits(parts[3]), Trace: path.Join(dir, "trace.jsonl"), Files: []string{},
	}
	entries, err := fs.ReadDir(r.root.FS(), dir)
	if err != nil {
		return UnfinishedAttempt{}, wrapOpenError("attempt", attempt, err)
	}
	for _, entry := range entries {
		unfinished.Files = append(unfinished.Files, path.Join(dir, entry.Name()))
	}
	return unfinished, r.setDates(&unfinished, dir)
}

// unfinishedState returns the state of the run's attempts that have no line: running if the
// run's Writer is open, and otherwise interrupted.
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

// parseDigits returns the integer that decimal digits stand for, or the largest int if it does
// not fit.
func parseDigits(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

// setDates sets when the attempt in the folder dir started and was last modified. It fails with
// ErrNotFound if the folder does not exist.
func (r *Run) setDates(unfinished *UnfinishedAttempt, dir string) error {
	info, err := r.root.Stat(dir)
	if err != nil {
		return wrapOpenError("attempt", unfinished.Name, err)
	}
	unfinished.Modified = info.ModTime().UTC()
	file, info, err := r.openRegularFile(unfinished.Trace)
	if err != nil {
		return nil // there is no trace yet
	}
	defer file.Close()
	unfinished.Modified = info.ModTime().UTC()
	var header struct {
		Started time.Time `json:"started"`
	}
	if json.NewDecoder(io.LimitReader(file, 64<<10)).Decode(&header) == nil { // fails while the header is being written
		unfinished.Started = header.Started
	}
	return nil
}
