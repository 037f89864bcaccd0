package runs

import (
	"context"
	"fmt"
	"sync"

	"github.com/tidwall/gjson"
)

// attemptIndex is what attempts.jsonl tells, as far as the file was read. It is safe for
// concurrent use by read.
type attemptIndex struct {
	fileIndex *lineIndex // of the file that it is of

	mu          sync.Mutex
	lineCount   int64            // how many were read, the header included
	sizeBytes   int64            // what they take in the file, in bytes
	lineNumbers map[string]int64 // of attempts, and the numbers of their lines
	counter     attemptCounter
}

// attemptIndexOf is that of a run, whose lines are open.
func (s *Store) attemptIndexOf(run string, lines *LineFile) *attemptIndex {
	known, ok := s.attemptIndexes.get(run)
	if !ok || known.fileIndex != lines.index {
		known = &attemptIndex{fileIndex: lines.index, lineNumbers: map[string]int64{}}
		s.attemptIndexes.put(run, known)
	}
	return known
}

// withLatest reads on, if the file has grown, and calls f under the lock. The lines are
// of the file that the roll is of.
func (r *attemptIndex) withLatest(ctx context.Context, lines *LineFile, f func(*attemptIndex) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	info, err := lines.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() < r.sizeBytes { // somebody has made it shorter
		r.lineCount, r.sizeBytes, r.lineNumbers, r.counter = 0, 0, map[string]int64{}, attemptCounter{}
	}
	if info.Size() > r.sizeBytes {
		if err := r.readNewLines(ctx, lines); err != nil {
			return err
		}
	}
	return f(r)
}

func (r *attemptIndex) readNewLines(ctx context.Context, lines *LineFile) error {
	for line, err := range lines.LinesFrom(ctx, r.lineCount) {
		if err == nil {
			err = r.addLine(line)
		}
		if err != nil {
			return err
		}
		r.lineCount = line.Number + 1
		r.sizeBytes += int64(len(line.Text)) + 1
	}
	return nil
}

// addLine takes a line. The error is of a header of another version: nothing is known
// of what is behind it.
func (r *attemptIndex) addLine(line Line) error {
	sound := line.IsValid()
	if line.Number == 0 {
		sound = sound && gjson.GetBytes(line.Text, "type").Str == "attempts"
		if version := gjson.GetBytes(line.Text, "version"); sound && version.Num != FormatVersion {
			return fmt.Errorf("attempts.jsonl: not the attempts of a run of version %d", FormatVersion)
		}
	}
	switch {
	case !sound:
		r.counter.unreadable.AddLine(line.Number)
	case line.Number > 0:
		r.counter.addLine(line)
		if name := AttemptFolderName(line.Text); name != "" && r.lineNumbers[name] == 0 {
			r.lineNumbers[name] = line.Number
		}
	}
	return nil
}

// addUnfinishedLine adds to counts that the last line has no end, when there is nobody who
// would write it.
func (r *attemptIndex) addUnfinishedLine(lines *LineFile, counts *Counts) error {
	info, err := lines.file.Stat()
	if err != nil || info.Size() <= r.sizeBytes {
		return err
	}
	left := r.counter.unreadable
	left.AddLine(r.lineCount)
	counts.Unreadable = &left
	return nil
}
