package trace

import (
	"context"
	"errors"
	"os"
)

// Recording is the trace of a session while it is made: the journal, and the
// file that follows it. It is safe for concurrent use. Whoever made it must
// Close it.
type Recording struct {
	Journal *Journal
	Path    string

	writer *Writer
	closed chan struct{} // closed when the file is
	err    error         // why it is not whole; set before ended
}

// NewRecording writes journal into a new file at path, from here on.
func NewRecording(journal *Journal, path string) (*Recording, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	r := &Recording{Journal: journal, Path: path, writer: NewWriter(journal, file), closed: make(chan struct{})}
	go func() {
		defer close(r.closed)
		r.err = errors.Join(r.writer.Run(context.Background()), file.Close())
	}()
	return r, nil
}

// OpenTail reads the file from its beginning, and on as it grows, until the
// recording is closed. It also works after that.
func (r *Recording) OpenTail() (*Tail, error) { return OpenTail(r.Path, r.writer.AwaitSize) }

// IsClosed tells whether the file is closed: it is all there will be.
func (r *Recording) IsClosed() bool {
	select {
	case <-r.closed:
		return true
	default:
		return false
	}
}

// Close ends the journal and returns when everything is in the file, or the
// error for which it is not. It may be called more than once.
func (r *Recording) Close() error {
	r.Journal.Close()
	<-r.closed
	return r.err
}
