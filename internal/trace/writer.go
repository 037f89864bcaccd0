package trace

import (
	"bufio"
	"context"
	"errors"
	"io"
	"time"
)

// writeBufferBytes gathers small lines, in bytes; a larger one goes past it.
const writeBufferBytes = 8 << 10

// Writer writes a journal to a file, one JSON object a line: first
//
//	{"type":"trace","version":1,"session":…,"started":…}
//
// then an entry each. It flushes whenever it has caught up, so that the file
// can be followed, and that a killed server's trace ends with its last frames,
// less those of its last millisecond.
type Writer struct {
	journal  *Journal
	follower *Follower
	output   *growingOutput
	buffer   *bufio.Writer // in front of file
}

// NewWriter returns the writer of j, which misses nothing that is appended from
// now on and whose pace [Journal.Room] watches. A journal has one.
func NewWriter(j *Journal, out io.Writer) *Writer {
	file := &growingOutput{out: out}
	return &Writer{journal: j, follower: j.FollowWithBackpressure(), output: file, buffer: bufio.NewWriterSize(file, writeBufferBytes)}
}

// Run writes until the journal is closed and everything is flushed. When
// writing fails it returns why, and so does Room from then on.
func (w *Writer) Run(ctx context.Context) error {
	defer w.follower.Close()
	defer w.output.close()
	err := w.write(ctx)
	if err != nil {
		w.journal.setWriteError(err)
	}
	return err
}

// AwaitSize waits until more than beyond bytes are in the file, and returns how many
// are. It returns io.EOF when Run has returned and there are no more, and the
// cause of ctx when that ends first. It may be called by any number of
// goroutines, before Run and after it, and holds up neither Run nor each other.
func (w *Writer) AwaitSize(ctx context.Context, beyond int64) (size int64, err error) {
	return w.output.awaitSize(ctx, beyond)
}

func (w *Writer) write(ctx context.Context) error {
	line := appendHeader(nil, w.journal)
	for {
		if _, err := w.buffer.Write(line); err != nil {
			return err
		}
		entry, err := w.next(ctx)
		if errors.Is(err, io.EOF) {
			return w.buffer.Flush()
		}
		if err != nil {
			return err
		}
		line = appendEntry(line[:0], entry)
	}
}

// writeDelay is how long the writer, when it had nothing to do, lets entries come
// together before it writes: it does not wake for each of a conversation's
// frames, which would slow the conversation.
const writeDelay = time.Millisecond

// next returns the next entry, and flushes before it waits for one.
func (w *Writer) next(ctx context.Context) (*Entry, error) {
	if entry := w.follower.TryNext(); entry != nil {
		return entry, nil
	}
	if err := w.buffer.Flush(); err != nil {
		return nil, err
	}
	entry, err := w.follower.Next(ctx)
	if err == nil && !w.follower.IsJournalClosed() {
		pause := time.NewTimer(writeDelay)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
	}
	return entry, err
}
