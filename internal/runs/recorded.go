package runs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sync"

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
	n, known := int64(0), false
	err = r.store.rollOf(r.Name, lines).read(ctx, lines, func(roll *roll) { n, known = roll.names[attempt] })
	if err != nil {
		return Line{}, err
	}
	if known {
		for line, err := range lines.From(ctx, n) {
			return line, err
		}
	}
	return Line{}, notFound
}

// Running returns the names of the folders of attempts that have no line, in
// order. A run that has written its summary has none.
func (r *Run) Running(ctx context.Context) (running []string, err error) {
	entries, err := fs.ReadDir(r.root.FS(), "attempts") // first: who has a line by then has one below
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("attempts: %w", err)
	}
	err = r.roll(ctx, func(roll *roll) {
		for _, entry := range entries {
			if _, ended := roll.names[entry.Name()]; entry.IsDir() && !ended && !roll.over {
				running = append(running, entry.Name())
			}
		}
	})
	return running, err
}

// Ended tells whether nothing more is to come of an attempt: it has its line, or
// its run is over without one. Only what was added to the file since somebody
// asked is read.
func (r *Run) Ended(ctx context.Context, attempt string) (ended bool, err error) {
	err = r.roll(ctx, func(roll *roll) {
		_, ended = roll.names[attempt]
		ended = ended || roll.over
	})
	return ended, err
}

// roll calls f with what attempts.jsonl has by now; without the file the run
// begins just now.
func (r *Run) roll(ctx context.Context, f func(*roll)) error {
	lines, err := r.Lines()
	if errors.Is(err, ErrNotFound) {
		f(&roll{})
		return nil
	}
	if err != nil {
		return err
	}
	defer lines.Close()
	return r.store.rollOf(r.Name, lines).read(ctx, lines, f)
}

// roll is which attempts of a run have a line, as far as the file was read. It
// is safe for concurrent use by read.
type roll struct {
	index *index // of the file that it is of

	mu    sync.Mutex
	lines int64            // how many were read, the header included
	names map[string]int64 // of attempts, and the numbers of their lines
	over  bool             // the last line is the run's summary
}

// rollOf is that of a run, whose lines are open.
func (s *Store) rollOf(run string, lines *Lines) *roll {
	known, ok := s.rolls.get(run)
	if !ok || known.index != lines.index {
		known = &roll{index: lines.index, names: map[string]int64{}}
		s.rolls.put(run, known)
	}
	return known
}

// read reads on and calls f, under the lock.
func (r *roll) read(ctx context.Context, lines *Lines, f func(*roll)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for line, err := range lines.From(ctx, max(r.lines, 1)) {
		if err != nil {
			return err
		}
		r.over = gjson.GetBytes(line.Text, "type").String() == TypeSummary
		if name := AttemptName(line.Text); name != "" && r.names[name] == 0 {
			r.names[name] = line.N
		}
		r.lines = line.N + 1
	}
	f(r)
	return nil
}
