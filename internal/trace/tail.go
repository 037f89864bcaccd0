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

	// maxKeptLineBytes is the largest buffer that a Tail keeps from one line to the
	// next, in bytes.
	maxKeptLineBytes = 1 << 20
)

// Tail reads the lines of a trace file that may still grow, at its own pace and
// with a descriptor of its own: whoever writes the file does not notice. It is
// for one goroutine. Whoever opened it must Close it.
type Tail struct {
	file        *os.File
	reader      *bufio.Reader
	awaitGrowth func(ctx context.Context, beyond int64) (int64, error)
	offset      int64  // how many bytes have been read
	partialLine []byte // the beginning of the next line
	nextLine    []byte // a line that Skip has read and Next returns; nil: none
}

// OpenTail opens the trace file at path. grown is asked at the end of what is
// there: it waits until the file has more than beyond bytes and returns how
// many, or io.EOF when there will be no more; [Writer.Await] and [PollFileSize] do.
// Without it, nil, the file ends where it ends.
func OpenTail(path string, grown func(ctx context.Context, beyond int64) (int64, error)) (*Tail, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return NewTail(file, grown), nil
}

// NewTail is [OpenTail] for a trace file that is open, at its beginning. The
// Tail closes it.
func NewTail(file *os.File, grown func(ctx context.Context, beyond int64) (int64, error)) *Tail {
	if grown == nil {
		grown = func(context.Context, int64) (int64, error) { return 0, io.EOF }
	}
	return &Tail{file: file, reader: bufio.NewReaderSize(file, 64<<10), awaitGrowth: grown}
}

// Next returns the next line without its newline, the header first, waiting for
// it as grown does. The line may be used until the next call. After the last
// one it returns io.EOF; a last line that was cut is left out. When it fails
// because ctx has ended, the next call goes on where it was.
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
			return t.completeLine(piece[:len(piece)-1]), nil
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

// completeLine is the line that ends with last.
func (t *Tail) completeLine(last []byte) []byte {
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

// SkipTo passes over what comes before the entry seq, waiting for it as Next
// does: the next line is that entry's, or that of the first one behind it. The
// header is passed over too unless it has been read.
func (t *Tail) SkipTo(ctx context.Context, seq int64) error {
	for {
		line, err := t.Next(ctx)
		if err != nil {
			return err
		}
		if lineSeq(line) >= seq {
			t.nextLine = line
			return nil
		}
	}
}

// lineSeq is the seq of an entry's line, its first member; 0 of any other line.
func lineSeq(line []byte) int64 {
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

// Close closes the file.
func (t *Tail) Close() error { return t.file.Close() }

// PollFileSize returns what [OpenTail] wants for a file that another process writes: it
// looks every [PollInterval] how large the file is, for as long as ctx lasts. That
// it cannot be looked at, or has become shorter, is an error.
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
