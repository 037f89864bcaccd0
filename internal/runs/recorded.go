package runs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/tidwall/gjson"
)

// AttemptName is the name of the folder of the attempt that a line of
// attempts.jsonl is of; empty: it is of none.
func AttemptName(line []byte) string {
	trace := gjson.GetBytes(line, "trace").String()
	if trace == "" {
		return ""
	}
	return path.Base(path.Dir(trace))
}

// Recorded returns the line of the attempt in the folder of this name. An
// attempt that has none is an error that wraps ErrNotFound.
func (r *Run) Recorded(ctx context.Context, attempt string) (Line, error) {
	notFound := fmt.Errorf("attempt %q: %w", attempt, ErrNotFound)
	if !isName(attempt) {
		return Line{}, notFound
	}
	lines, err := r.Lines()
	if err != nil {
		return Line{}, err
	}
	defer lines.Close()
	for line, err := range lines.From(ctx, 1) {
		if err != nil {
			return Line{}, err
		}
		if bytes.Contains(line.Text, []byte(attempt)) && AttemptName(line.Text) == attempt {
			return line, nil
		}
	}
	return Line{}, notFound
}

// Running returns the names of the folders of attempts that have no line, in
// order. A run that has written its summary has none.
func (r *Run) Running(ctx context.Context) ([]string, error) {
	ended, over, err := r.ended(ctx)
	if over || err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(r.root.FS(), "attempts")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("attempts: %w", err)
	}
	var running []string
	for _, entry := range entries {
		if entry.IsDir() && !ended[entry.Name()] {
			running = append(running, entry.Name())
		}
	}
	return running, nil
}

// ended returns the names of the attempts that have a line, and whether the run
// itself is over.
func (r *Run) ended(ctx context.Context) (names map[string]bool, over bool, err error) {
	lines, err := r.Lines()
	if errors.Is(err, ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer lines.Close()
	names = map[string]bool{}
	for line, err := range lines.From(ctx, 1) {
		if err != nil {
			return nil, false, err
		}
		over = gjson.GetBytes(line.Text, "type").String() == TypeSummary
		names[AttemptName(line.Text)] = true
	}
	return names, over, nil
}
