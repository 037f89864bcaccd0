package trace

import (
	"context"
	"errors"
	"os"

	"assay/internal/redact"
)

// Recording is a journal and the trace file to which it is written. It is safe for concurrent
// use. The caller must Close it.
type Recording struct {
	Journal *Journal
	Path    string // of the file

	writer *Writer
	closed chan struct{} // closed when the file is
	err    error         // why the file is incomplete; set before closed is closed
}

// NewRecording creates the trace file at path and starts writing the journal's entries to it,
// without the secrets that redactor finds. It fails if the file exists or cannot be created.
func NewRecording(journal *Journal, path string, redactor *redact.Redactor) (*Recording, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	r := &Recording{Journal: journal, Path: path, writer: NewWriter(journal, file, redactor), closed: make(chan struct{})}
	go func() {
		defer close(r.closed)
		r.err = errors.Join(r.writer.Run(context.Background()), file.Close())
	}()
	return r, nil
}

// OpenTail returns a reader of the trace file that starts at the file's beginning and waits for
// more until the recording is closed. It also works after that. It fails if the file cannot be
// opened.
func (r *Recording) OpenTail() (*Tail, error) { return OpenTail(r.Path, r.writer.AwaitSize) }

// IsClosed reports whether the trace file is closed, so that nothing more will be written.
func (r *Recording) IsClosed() bool {
	select {
	case <-r.closed:
		return true
	default:
		return false
	}
}

// Close closes the journal and waits until the trace file is written and closed. It fails if
// the file is incomplete. Further calls return the same result.
func (r *Recording) Close() error {
	r.Journal.Close()
	<-r.closed
	return r.err
}
