package runs

import (
	"context"
	"fmt"
	"sync"

	"github.com/tidwall/gjson"
)

// roll is what attempts.jsonl tells, as far as the file was read. It is safe for
// concurrent use by read.
type roll struct {
	index *index // of the file that it is of

	mu    sync.Mutex
	lines int64            // how many were read, the header included
	size  int64            // what they take in the file, in bytes
	names map[string]int64 // of attempts, and the numbers of their lines
	tally tally
}

// rollOf is that of a run, whose lines are open.
func (s *Store) rollOf(run string, lines *LineFile) *roll {
	known, ok := s.rolls.get(run)
	if !ok || known.index != lines.index {
		known = &roll{index: lines.index, names: map[string]int64{}}
		s.rolls.put(run, known)
	}
	return known
}

// read reads on, if the file has grown, and calls f under the lock. The lines are
// of the file that the roll is of.
func (r *roll) read(ctx context.Context, lines *LineFile, f func(*roll) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	info, err := lines.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() < r.size { // somebody has made it shorter
		r.lines, r.size, r.names, r.tally = 0, 0, map[string]int64{}, tally{}
	}
	if info.Size() > r.size {
		if err := r.readOn(ctx, lines); err != nil {
			return err
		}
	}
	return f(r)
}

func (r *roll) readOn(ctx context.Context, lines *LineFile) error {
	for line, err := range lines.LinesFrom(ctx, r.lines) {
		if err == nil {
			err = r.add(line)
		}
		if err != nil {
			return err
		}
		r.lines = line.Number + 1
		r.size += int64(len(line.Text)) + 1
	}
	return nil
}

// add takes a line. The error is of a header of another version: nothing is known
// of what is behind it.
func (r *roll) add(line Line) error {
	sound := line.IsValid()
	if line.Number == 0 {
		sound = sound && gjson.GetBytes(line.Text, "type").Str == "attempts"
		if version := gjson.GetBytes(line.Text, "version"); sound && version.Num != FormatVersion {
			return fmt.Errorf("attempts.jsonl: not the attempts of a run of version %d", FormatVersion)
		}
	}
	switch {
	case !sound:
		r.tally.leftOut.AddLine(line.Number)
	case line.Number > 0:
		r.tally.add(line)
		if name := AttemptFolderName(line.Text); name != "" && r.names[name] == 0 {
			r.names[name] = line.Number
		}
	}
	return nil
}

// cut adds to counts that the last line has no end, when there is nobody who
// would write it.
func (r *roll) cut(lines *LineFile, counts *Counts) error {
	info, err := lines.file.Stat()
	if err != nil || info.Size() <= r.size {
		return err
	}
	left := r.tally.leftOut
	left.AddLine(r.lines)
	counts.Unreadable = &left
	return nil
}
