package runs

import (
	"context"
	"fmt"
	"sync"

	"github.com/tidwall/gjson"
)

// attemptIndex is what is known of a run's attempts.jsonl: where the line of each attempt is, and the
// counts. It is brought up to date by withLatestLines, which reads only the lines that are new. It is safe
// for concurrent use.
type attemptIndex struct {
	lineIndex *lineIndex // identifies the file

	mu          sync.Mutex
	lineCount   int64            // lines that were read, the header included
	sizeBytes   int64            // size of these lines
	lineNumbers map[string]int64 // by folder name: the line of each attempt, from 1
	counter     attemptCounter
}

// attemptIndexOf returns the index of a run's attempts.jsonl, which is open as lines. It makes a
// new one if the file is another than before.
func (s *Store) attemptIndexOf(run string, lines *LineFile) *attemptIndex {
	known, ok := s.attemptIndexes.get(run)
	if !ok || known.lineIndex != lines.lineIndex {
		known = &attemptIndex{lineIndex: lines.lineIndex, lineNumbers: map[string]int64{}}
		s.attemptIndexes.put(run, known)
	}
	return known
}

// withLatestLines reads the lines that have been added to the file, which is open as lines, and calls f
// while it holds the lock. A file that has become shorter is read from the beginning. It fails if
// the file cannot be read or has another version, with the error of f, and with the cause of ctx.
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

// readNewLines adds the lines after those that were read before. It fails if the file cannot be
// read or has another version, and with the cause of ctx.
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

// addLine counts a line. It fails on a header of another version, because lines after it cannot be
// understood.
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

// addUnfinishedLine counts text after the last newline of the file as an unreadable line. It is for
// a run that nobody writes any more.
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
