package runs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/tidwall/gjson"
)

// AttemptFolderName returns the name of an attempt's folder from its line in attempts.jsonl; ""
// for other lines.
func AttemptFolderName(line []byte) string {
	trace := gjson.GetBytes(line, "trace").String()
	if trace == "" {
		return ""
	}
	return path.Base(path.Dir(trace))
}

// AttemptLine returns the line in attempts.jsonl of the attempt whose folder has the name
// attempt. It fails with ErrNotFound if the attempt has no line, if the run cannot be read, and
// with the cause of ctx.
func (r *Run) AttemptLine(ctx context.Context, attempt string) (Line, error) {
	errNotFound := fmt.Errorf("attempt %q: %w", attempt, ErrNotFound)
	if !isFileName(attempt) {
		return Line{}, errNotFound
	}
	lines, err := r.AttemptLines()
	if err != nil {
		return Line{}, err
	}
	defer lines.Close()
	number, isKnown := int64(0), false
	err = r.store.attemptIndexOf(r.Name, lines).withLatestLines(ctx, lines, func(index *attemptIndex) error {
		number, isKnown = index.lineNumbers[attempt]
		return nil
	})
	if err != nil {
		return Line{}, err
	}
	if isKnown {
		for line, err := range lines.LinesFrom(ctx, number) {
			return line, err
		}
	}
	return Line{}, errNotFound
}

// UnfinishedAttempts returns the folder names, sorted, of the run's attempts that have no line
// in attempts.jsonl yet. A finished run has none. It fails if the run cannot be read, and with
// the cause of ctx.
func (r *Run) UnfinishedAttempts(ctx context.Context) (folders []string, err error) {
	entries, err := fs.ReadDir(r.root.FS(), "attempts") // before the lines: an attempt that ends between the two has its line
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("attempts: %w", err)
	}
	_, err = r.withAttemptIndex(ctx, func(index *attemptIndex) error {
		for _, entry := range entries {
			if _, hasLine := index.lineNumbers[entry.Name()]; entry.IsDir() && !hasLine && !index.counter.counts.Finished {
				folders = append(folders, entry.Name())
			}
		}
		return nil
	})
	return folders, err
}

// HasAttemptEnded reports whether the files in the attempt's folder will not change any more,
// because it has its line in attempts.jsonl or its run is not running. It fails if the run
// cannot be read, and with the cause of ctx.
func (r *Run) HasAttemptEnded(ctx context.Context, attempt string) (hasEnded bool, err error) {
	isRunning, err := r.withAttemptIndex(ctx, func(index *attemptIndex) error {
		_, hasEnded = index.lineNumbers[attempt]
		hasEnded = hasEnded || index.counter.counts.Finished
		return nil
	})
	return hasEnded || !isRunning, err
}

// withAttemptIndex calls f with the up-to-date index of attempts.jsonl, and returns whether the
// run was running before that. If the file is missing, the index is empty and the run is not
// running. It fails if the file cannot be read, with the error of f, and with the cause of ctx.
func (r *Run) withAttemptIndex(ctx context.Context, f func(*attemptIndex) error) (isRunning bool, err error) {
	lines, err := r.AttemptLines()
	if errors.Is(err, ErrNotFound) {
		return false, f(&attemptIndex{})
	}
	if err != nil {
		return false, err
	}
	defer lines.Close()
	isRunning = lines.isLockedByWriter() // before reading: without a writer, the lines are complete
	return isRunning, r.store.attemptIndexOf(r.Name, lines).withLatestLines(ctx, lines, f)
}
