package runs

import (
	"context"
	"fmt"
	"sync"

	"github.com/tidwall/gjson"
)

// attemptIndex caches what was read from a run's attempts.jsonl: where the line of each attempt
// is, and the counts. withLatestLines updates it by reading only new lines. It is safe for
// concurrent use.
type attemptIndex struct {
	lineIndex *lineIndex // identifies the file

	mu          sync.Mutex
	lineCount   int64            // lines that were read, the header included
	sizeBytes   int64            // size of these lines
	lineNumbers map[string]int64 // by folder name: the line of each attempt, from 1
	counter     attemptCounter
}

// attemptIndexOf returns the cached index of a run's attempts.jsonl, which is open as lines. It
// makes a new index if the file is not the one that was indexed before.
func (s *Store) attemptIndexOf(run string, lines *LineFile) *attemptIndex {
	known, ok := s.attemptIndexes.get(run)
	if !ok || known.lineIndex != lines.lineIndex {
		known = &attemptIndex{lineIndex: lines.lineIndex, lineNumbers: map[string]int64{}}
		s.attemptIndexes.put(run, known)
	}
	return known
}

// withLatestLines reads the lines that were added to attempts.jsonl, which is open as lines,
// and then calls f with the index while it is locked. A file that has become shorter is read
// from the beginning. It fails if the file cannot be read or has another format version, with
// the error of f, and with the cause of ctx.
func (x *attemptIndex) withLatestLines(ctx context.Context, lines *LineFile, f func(*attemptIndex) error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	info, err := lines.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() < x.sizeBytes {
		x.lineCount, x.sizeBytes, x.lineNumbers, x.counter = 0, 0, map[string]int64{}, attemptCounter{}
	}
	if info.Size() > x.sizeBytes {
		if err := x.readNewLines(ctx, lines); err != nil {
			return err
		}
	}
	return f(x)
}

// readNewLines reads and counts the lines of attempts.jsonl after those that were read before.
// It fails if the file cannot be read or has another format version, and with the cause of ctx.
func (x *attemptIndex) readNewLines(ctx context.Context, lines *LineFile) error {
	for line, err := range lines.LinesFrom(ctx, x.lineCount) {
		if err == nil {
			err = x.addLine(line)
		}
		if err != nil {
			return err
		}
		x.lineCount = line.Number + 1
		x.sizeBytes += int64(len(line.Text)) + 1
	}
	return nil
}

// addLine counts one line of attempts.jsonl and remembers where its attempt is. A damaged line
// is counted as unreadable. It fails on a header with another format version, because the lines
// after it cannot be understood.
func (x *attemptIndex) addLine(line Line) error {
	isValid := line.IsValid()
	if line.Number == 0 {
		isValid = isValid && gjson.GetBytes(line.Text, "type").Str == "attempts"
		if version := gjson.GetBytes(line.Text, "version"); isValid && version.Num != FormatVersion {
			return fmt.Errorf("attempts.jsonl: not the attempts of a run of version %d", FormatVersion)
		}
	}
	switch {
	case !isValid:
		x.counter.unreadable.AddLine(line.Number)
	case line.Number > 0:
		x.counter.addLine(line)
		if name := AttemptFolderName(line.Text); name != "" && x.lineNumbers[name] == 0 {
			x.lineNumbers[name] = line.Number
		}
	}
	return nil
}

// addUnfinishedLine counts text after the last newline of attempts.jsonl as an unreadable line
// in counts. It is called only for a run that nobody is writing. It fails if the file's size
// cannot be read.
func (x *attemptIndex) addUnfinishedLine(lines *LineFile, counts *Counts) error {
	info, err := lines.file.Stat()
	if err != nil || info.Size() <= x.sizeBytes {
		return err
	}
	unreadable := x.counter.unreadable
	unreadable.AddLine(x.lineCount)
	counts.Unreadable = &unreadable
	return nil
}
