package trace

import (
	"bufio"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"assay/internal/redact"
)

const (
	// writeBufferBytes is the size of the buffer in front of the file. A longer line
	// is written past it.
	writeBufferBytes = 8 << 10

	// writeDelay is how long the writer, after it has waited for an entry, lets
	// further entries come before it writes. To wake for each frame of a
	// conversation would slow the conversation.
	writeDelay = time.Millisecond
)

// Writer writes a journal to a trace file, one JSON object per line: first the header
//
//	{"type":"trace","version":1,"session":…,"started":…}
//
// then the entries. It flushes whenever it has written all entries, so that the file can be
// followed, and the trace of a killed server lacks no more than the last millisecond.
type Writer struct {
	journal  *Journal
	follower *Follower
	redacted *redact.Messages[entrySource]
	output   *growingOutput
	buffer   *bufio.Writer // in front of output
}

// entrySource says whose messages may continue the text of an earlier one.
type entrySource struct {
	hop               Hop
	consoleID         int
	messageType, cell string
}

// NewWriter returns a Writer that writes the entries appended to j from now on to out, once Run
// is called, without the secrets that redactor finds. A journal has one Writer;
// [Journal.WaitForRoom] waits for it.
func NewWriter(j *Journal, out io.Writer, redactor *redact.Redactor) *Writer {
	output := &growingOutput{out: out}
	return &Writer{
		journal: j, follower: j.FollowWithBackpressure(), redacted: redact.NewMessages[entrySource](redactor),
		output: output, buffer: bufio.NewWriterSize(output, writeBufferBytes),
	}
}

// Run writes the journal's entries until the journal is closed and everything is flushed. It
// fails if writing fails, after which WaitForRoom fails too, and with the cause of ctx.
func (w *Writer) Run(ctx context.Context) error {
	defer w.follower.Close()
	defer w.output.close()
	err := w.writeEntries(ctx)
	if err != nil {
		w.journal.setWriteError(err)
	}
	return err
}

// AwaitSize waits until more than beyond bytes of the trace file are written, and returns how
// many are. It fails with io.EOF if Run has returned and there are no more, and with the cause
// of ctx. Any number of goroutines may call it, before, during and after Run; it delays none of
// them.
func (w *Writer) AwaitSize(ctx context.Context, beyond int64) (size int64, err error) {
	return w.output.awaitSize(ctx, beyond)
}

// writeEntries writes the header and then the entries of the journal, until the journal is
// closed. It fails if writing fails, and with the cause of ctx.
func (w *Writer) writeEntries(ctx context.Context) error {
	line := appendHeader(nil, w.journal)
	redacted := line
	for {
		if _, err := w.buffer.Write(redacted); err != nil {
			return err
		}
		entry, err := w.nextAfterFlush(ctx)
		if errors.Is(err, io.EOF) {
			return w.buffer.Flush()
		}
		if err != nil {
			return err
		}
		line = appendEntry(line[:0], entry)
		redacted = w.redacted.Next(entrySource{entry.Hop, entry.ConsoleID, entry.Type, entry.CellID}, line)
	}
}

// nextAfterFlush returns the next entry. If there is none yet it flushes the buffer, waits for
// an entry, and then waits for writeDelay so that further entries can come. It fails with
// io.EOF at the journal's end, if flushing fails, and with the cause of ctx.
func (w *Writer) nextAfterFlush(ctx context.Context) (*Entry, error) {
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

// growingOutput is a writer that counts the bytes written, for goroutines that wait until there
// are more. It is safe for concurrent use, except that only one goroutine may call Write.
type growingOutput struct {
	out io.Writer

	mu      sync.Mutex
	size    int64
	closed  bool
	changed chan struct{} // closed by the next Write or close; nil: nobody waits
}

// Write writes p to the underlying writer and wakes the goroutines that wait for more bytes.
func (o *growingOutput) Write(p []byte) (int, error) {
	n, err := o.out.Write(p)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.size += int64(n)
	wakeWaiters(&o.changed)
	return n, err
}

// close records that nothing more will be written, and wakes the goroutines that wait for more
// bytes.
func (o *growingOutput) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	wakeWaiters(&o.changed)
}

// awaitSize waits until more than beyond bytes were written and returns how many. It fails with
// io.EOF if the output is closed and has no more, and with the cause of ctx.
func (o *growingOutput) awaitSize(ctx context.Context, beyond int64) (int64, error) {
	for {
		o.mu.Lock()
		size, closed, changed := o.size, o.closed, waitChannel(&o.changed)
		o.mu.Unlock()
		switch {
		case size > beyond:
			return size, nil
		case closed:
			return size, io.EOF
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return size, context.Cause(ctx)
		}
	}
}
