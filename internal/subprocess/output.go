package subprocess

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/protocol"
)

const (
	// A stream's chunks are handed on at most this often, unless chunkSize
	// bytes have come together.
	chunkEvery = 10 * time.Millisecond
	chunkSize  = 64 << 10

	// leastRead is how much room a read has at least, in bytes; more comes with
	// what there is to read.
	leastRead = 512

	// tailSize is how much of a child's output is kept for its post-mortem.
	tailSize = 4 << 10

	// lastWords is how long a dead child's pipes may stay open: a process that
	// left its group may hold them for ever.
	lastWords = 100 * time.Millisecond
)

// output drains a child's stdout and stderr, for ever and never by lines.
type output struct {
	streams [2]*stream
	drained chan struct{} // closed when both pipes have ended

	mu   sync.Mutex // held while reading, so that chunks are handed on in order
	sink func(stream string, chunk []byte)
	last []byte // both streams as they came, at most twice tailSize
}

// stream is one pipe. Its fields are guarded by the output's mu.
type stream struct {
	name  string
	file  *os.File
	held  []byte    // read, and not yet handed on
	since time.Time // when something was last handed on
}

// pipes are the ends that the child gets.
type pipes struct{ stdout, stderr *os.File }

func (p pipes) Close() { _, _ = p.stdout.Close(), p.stderr.Close() }

func newOutput(sink func(string, []byte)) (*output, pipes, error) {
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, pipes{}, err
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		return nil, pipes{}, errors.Join(err, outR.Close(), outW.Close())
	}
	if sink == nil {
		sink = func(string, []byte) {}
	}
	o := &output{sink: sink, drained: make(chan struct{}), streams: [2]*stream{
		{name: protocol.Stdout, file: outR},
		{name: protocol.Stderr, file: errR},
	}}
	return o, pipes{stdout: outW, stderr: errW}, nil
}

// run drains both pipes until they end.
func (o *output) run() {
	defer close(o.drained)
	var pumps sync.WaitGroup
	for _, s := range o.streams {
		pumps.Go(func() { o.pump(s) })
	}
	pumps.Wait()
}

func (o *output) pump(s *stream) {
	raw, err := s.file.SyscallConn()
	if err != nil {
		return // closed already
	}
	for {
		ended := false
		err := raw.Read(func(fd uintptr) bool {
			o.mu.Lock()
			defer o.mu.Unlock()
			var again bool
			again, ended = o.read(s, fd)
			return !again
		})
		// Any error but the deadline's says that the pipe was given up.
		ended = ended || err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
		due := o.handOn(s, ended)
		if ended {
			return
		}
		// Whatever is held waits for its turn, but no longer.
		_ = s.file.SetReadDeadline(due)
	}
}

// read takes what one read of the pipe gives. again: nothing is there yet.
func (o *output) read(s *stream, fd uintptr) (again, ended bool) {
	if len(s.held) == chunkSize {
		o.flush(s) // a read into no room would look like the end
	}
	if len(s.held) == cap(s.held) {
		s.held = slices.Grow(s.held, min(chunkSize-len(s.held), max(len(s.held), leastRead)))
	}
	n, err := unix.Read(int(fd), s.held[len(s.held):min(cap(s.held), chunkSize)])
	s.held = s.held[:len(s.held)+max(n, 0)]
	switch {
	case errors.Is(err, unix.EAGAIN):
		return true, false
	case errors.Is(err, unix.EINTR):
		return false, false
	default:
		return false, n <= 0
	}
}

// handOn passes the held bytes to the sink when it is time, and otherwise says
// when it will be.
func (o *output) handOn(s *stream, now bool) (due time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(s.held) == 0 {
		return time.Time{}
	}
	next := s.since.Add(chunkEvery)
	if !now && len(s.held) < chunkSize && time.Now().Before(next) {
		return next
	}
	o.flush(s)
	return time.Time{}
}

func (o *output) flush(s *stream) {
	if len(s.held) == 0 {
		return
	}
	o.last = append(o.last, s.held[max(0, len(s.held)-tailSize):]...)
	if len(o.last) > 2*tailSize {
		o.last = append(o.last[:0], o.last[len(o.last)-tailSize:]...)
	}
	o.sink(s.name, s.held)
	if s.held = s.held[:0]; cap(s.held) < chunkSize {
		s.held = nil // most children say little, and long after one another
	}
	s.since = time.Now()
}

// drain empties both pipes without waiting and hands everything on.
func (o *output) drain() {
	for _, s := range o.streams {
		raw, err := s.file.SyscallConn()
		if err != nil {
			continue // closed, and so drained
		}
		// Control, unlike Read, does not wait for the pump to let go.
		_ = raw.Control(func(fd uintptr) {
			o.mu.Lock()
			defer o.mu.Unlock()
			for again, ended := false, false; !again && !ended; {
				again, ended = o.read(s, fd)
				o.flush(s)
			}
		})
	}
}

// finish waits for the end of a dead child's pipes.
func (o *output) finish() {
	select {
	case <-o.drained:
	case <-time.After(lastWords):
		o.drain()
	}
}

// close gives the pipes up, and so ends run.
func (o *output) close() error {
	return errors.Join(o.streams[0].file.Close(), o.streams[1].file.Close())
}

// tail returns the last lines of both streams together.
func (o *output) tail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	last := o.last[max(0, len(o.last)-tailSize):]
	if len(o.last) > tailSize {
		if _, whole, found := bytes.Cut(last, []byte("\n")); found {
			last = whole
		}
	}
	return string(bytes.ToValidUTF8(last, []byte("\uFFFD")))
}
