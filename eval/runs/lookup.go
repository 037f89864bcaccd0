package runs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/tidwall/gjson"
)

// AttemptFolderName is the name of the folder of the attempt that a line of
// attempts.jsonl is of; empty: it is of none.
func AttemptFolderName(line []byte) string {
	trace := gjson.GetBytes(line, "trace").String()
	if trace == "" {
		return ""
	}
	return path.Base(path.Dir(trace))
}

// AttemptLine returns the line of the attempt in the folder of this name. An
// attempt that has none is an error that wraps ErrNotFound.
func (r *Run) AttemptLine(ctx context.Context, attempt string) (Line, error) {
	notFound := fmt.Errorf("attempt %q: %w", attempt, ErrNotFound)
	if !isFileName(attempt) {
		return Line{}, notFound
	}
	lines, err := r.AttemptLines()
	if err != nil {
		return Line{}, err
	}
	defer lines.Close()
	n, known := int64(0), false
	err = r.store.attemptIndexOf(r.Name, lines).withLatest(ctx, lines, func(roll *attemptIndex) error {
		n, known = roll.lineNumbers[attempt]
		return nil
	})
	if err != nil {
		return Line{}, err
	}
	if known {
		for line, err := range lines.LinesFrom(ctx, n) {
			return line, err
		}
	}
	return Line{}, notFound
}

// UnfinishedAttempts returns the names of the folders of attempts that have no line, in
// order. A run that has written its summary has none.
func (r *Run) UnfinishedAttempts(ctx context.Context) (running []string, err error) {
	entries, err := fs.ReadDir(r.root.FS(), "attempts") // first: who has a line by then has one below
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("attempts: %w", err)
	}
	_, err = r.withAttemptIndex(ctx, func(roll *attemptIndex) error {
		for _, entry := range entries {
			if _, ended := roll.lineNumbers[entry.Name()]; entry.IsDir() && !ended && !roll.counter.counts.Finished {
				running = append(running, entry.Name())
			}
		}
		return nil
	})
	return running, err
}

// HasAttemptEnded tells whether nothing more is to come of an attempt: it has its line, or
// nobody makes its run any more. Only what was added to the file since somebody
// asked is read.
func (r *Run) HasAttemptEnded(ctx context.Context, attempt string) (ended bool, err error) {
	running, err := r.withAttemptIndex(ctx, func(roll *attemptIndex) error {
		_, ended = roll.lineNumbers[attempt]
		ended = ended || roll.counter.counts.Finished
		return nil
	})
	return ended || !running, err
}

// withAttemptIndex calls f with what attempts.jsonl has by now, and tells whether somebody
// made the run before that. Without the file nobody does.
func (r *Run) withAttemptIndex(ctx context.Context, f func(*attemptIndex) error) (running bool, err error) {
	lines, err := r.AttemptLines()
	if errors.Is(err, ErrNotFound) {
		return false, f(&attemptIndex{})
	}
	if err != nil {
		return false, err
	}
	defer lines.Close()
	running = lines.isLockedByWriter() // asked first: if nobody writes, what is there is all
	return running, r.store.attemptIndexOf(r.Name, lines).withLatest(ctx, lines, f)
}
