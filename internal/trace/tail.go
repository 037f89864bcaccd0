package trace

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

const (
	// PollInterval is how often [PollFileSize] looks at a file.
	PollInterval = 200 * time.Millisecond

	// maxKeptLineBytes is the largest buffer that a Tail keeps for the next long line.
	maxKeptLineBytes = 1 << 20
)

// Tail reads the lines of a trace file that may still grow. It has its own file descriptor
// and reads at its own pace, so it does not delay the writer. Only one goroutine may use it.
// The caller must Close it.
type Tail struct {
	file        *os.File
	reader      *bufio.Reader
	awaitGrowth func(ctx context.Context, beyond int64) (int64, error)
	offset      int64  // bytes that were read
	partialLine []byte // the beginning of a line whose end has not been read
	nextLine    []byte // a line that SkipTo has read and Next returns; nil: none
}

// OpenTail opens the trace file at path for reading by lines; it fails if that fails. At the
// end of the file Next calls awaitGrowth, which must wait until the file has more than beyond
// bytes and return its size, or io.EOF if it will not grow; [Writer.AwaitSize] and
// [PollFileSize] do that. A nil awaitGrowth means that the file does not grow.
func OpenTail(path string, awaitGrowth func(ctx context.Context, beyond int64) (int64, error)) (*Tail, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return NewTail(file, awaitGrowth), nil
}

// NewTail returns a Tail of a trace file that is open and at its beginning, and closes the file
// with the Tail. awaitGrowth is as for [OpenTail].
func NewTail(file *os.File, awaitGrowth func(ctx context.Context, beyond int64) (int64, error)) *Tail {
	if awaitGrowth == nil {
		awaitGrowth = func(context.Context, int64) (int64, error) { return 0, io.EOF }
	}
	return &Tail{file: file, reader: bufio.NewReaderSize(file, 64<<10), awaitGrowth: awaitGrowth}
}

// Next returns the next line of the trace file without its newline, the header first; if the
// file grows, it waits for it. The line may be used until the next call. It fails with io.EOF
// after the last line; a last line without a newline is left out. If it fails because ctx has
// ended, the next call continues where this one was.
func (t *Tail) Next(ctx context.Context) ([]byte, error) {
	if line := t.nextLine; line != nil {
		t.nextLine = nil
		return line, nil
	}
	for {
		piece, err := t.reader.ReadSlice('\n')
		t.offset += int64(len(piece))
		switch {
		case err == nil:
			return t.joinPartialLine(piece[:len(piece)-1]), nil
		case !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF):
			return nil, err
		}
		t.partialLine = append(t.partialLine, piece...)
		if errors.Is(err, io.EOF) {
			if _, err := t.awaitGrowth(ctx, t.offset); err != nil {
				return nil, err
			}
		}
	}
}

// joinPartialLine returns the line that consists of partialLine and last.
func (t *Tail) joinPartialLine(last []byte) []byte {
	if len(t.partialLine) == 0 {
		return last
	}
	line := append(t.partialLine, last...)
	t.partialLine = line[:0]
	if cap(line) > maxKeptLineBytes {
		t.partialLine = nil
	}
	return line
}

// SkipTo skips lines until the next one is that of entry number seq, or of the first entry
// after it. With a seq above 0 it skips the header too. It waits, and fails, as Next does.
func (t *Tail) SkipTo(ctx context.Context, seq int64) error {
	for {
		line, err := t.Next(ctx)
		if err != nil {
			return err
		}
		if parseLineSeq(line) >= seq {
			t.nextLine = line
			return nil
		}
	}
}

// parseLineSeq returns the entry number from a line of a trace file, in which it is the first
// member; 0 for any other line.
func parseLineSeq(line []byte) int64 {
	rest, ok := bytes.CutPrefix(line, []byte(`{"seq":`))
	if !ok {
		return 0
	}
	digits := rest[:max(0, bytes.IndexAny(rest, ",}"))]
	seq, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return 0
	}
	return seq
}

// Close closes the Tail's file.
func (t *Tail) Close() error { return t.file.Close() }

// PollFileSize returns an awaitGrowth function for [OpenTail] that suits a file written by
// another process: it looks at the file's size every [PollInterval]. It fails if the size
// cannot be read or has become smaller, and with the cause of ctx.
func PollFileSize(path string) func(ctx context.Context, beyond int64) (int64, error) {
	return func(ctx context.Context, beyond int64) (int64, error) {
		every := time.NewTicker(PollInterval)
		defer every.Stop()
		for {
			info, err := os.Stat(path)
			switch {
			case err != nil:
				return 0, err
			case info.Size() > beyond:
				return info.Size(), nil
			case info.Size() < beyond:
				return info.Size(), fmt.Errorf("%s has become shorter while it was read", path)
			}
			select {
			case <-every.C:
			case <-ctx.Done():
				return info.Size(), context.Cause(ctx)
			}
		}
	}
}
