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
	// chunkInterval is the least time between two chunks of a stream, unless
	// maxChunkBytes are waiting.
	chunkInterval = 10 * time.Millisecond
	maxChunkBytes = 64 << 10

	// minReadBytes is the least room that a read gets; a busy stream gets more.
	minReadBytes = 512

	// maxTailBytes is how much output is kept for error messages.
	maxTailBytes = 4 << 10

	// pipeCloseGrace is how long a dead process's pipes may stay open. A process that
	// left its group may hold them for ever.
	pipeCloseGrace = 100 * time.Millisecond
)

// outputReader reads a subprocess's stdout and stderr until both end, and passes them
// to sink in chunks of bytes, not lines.
type outputReader struct {
	streams [2]*outputStream
	drained chan struct{} // closed when both pipes have ended

	awaitFrames func() // returns when the frames that came so far are handled; nil: no need to wait

	mu     sync.Mutex // held while reading and in sink, which keeps chunks in order
	sink   func(stream string, chunk []byte)
	recent []byte // the newest bytes of both streams as they came, at most twice maxTailBytes
}

// outputStream is one pipe of a subprocess, stdout or stderr, with the bytes read but
// not passed on. Its fields are guarded by output.mu.
type outputStream struct {
	name      string // protocol.Stdout or Stderr
	file      *os.File
	buffer    []byte // read and not yet passed to sink
	lastFlush time.Time
}

// outputPipes are the write ends of a subprocess's stdout and stderr pipes.
type outputPipes struct{ stdout, stderr *os.File }

func (p outputPipes) Close() { _, _ = p.stdout.Close(), p.stderr.Close() }

func newOutputReader(sink func(string, []byte)) (*outputReader, outputPipes, error) {
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, outputPipes{}, err
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		return nil, outputPipes{}, errors.Join(err, outR.Close(), outW.Close())
	}
	if sink == nil {
		sink = func(string, []byte) {}
	}
	o := &outputReader{sink: sink, drained: make(chan struct{}), streams: [2]*outputStream{
		{name: protocol.Stdout, file: outR},
		{name: protocol.Stderr, file: errR},
	}}
	return o, outputPipes{stdout: outW, stderr: errW}, nil
}

// readBothPipes reads stdout and stderr until both pipes end or are closed.
func (o *outputReader) readBothPipes() {
	defer close(o.drained)
	var readers sync.WaitGroup
	for _, s := range o.streams {
		readers.Go(func() { o.readUntilEnd(s) })
	}
	readers.Wait()
}

func (o *outputReader) readUntilEnd(s *outputStream) {
	raw, err := s.file.SyscallConn()
	if err != nil {
		return // closed already
	}
	for {
		ended := false
		err := raw.Read(func(fd uintptr) bool {
			var wouldBlock bool
			wouldBlock, ended = o.readAfterFrames(s, fd)
			return !wouldBlock
		})
		// Any error but the deadline's means that the pipe was closed by close.
		ended = ended || err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
		due := o.flushIfDue(s, ended)
		if ended {
			return
		}
		// What stays in the buffer is flushed when it is due, even if nothing more comes.
		_ = s.file.SetReadDeadline(due)
	}
}

// readAfterFrames reads what is in the pipe, into the buffer, after the frames that were sent
// before it are handled. It does not read what is written while it waits for them.
func (o *outputReader) readAfterFrames(s *outputStream, fd uintptr) (wouldBlock, ended bool) {
	size := maxChunkBytes
	if o.awaitFrames != nil {
		if size, ended = unreadBytesOf(int(fd)); size == 0 {
			return !ended, ended
		}
		o.awaitFrames()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.readOnce(s, fd, size)
}

// unreadBytesOf returns how many bytes can be read from a pipe, and if there are none, whether
// the pipe has ended.
func unreadBytesOf(fd int) (n int, ended bool) {
	for {
		n, err := unix.IoctlGetInt(fd, unix.TIOCINQ)
		if n > 0 || err != nil {
			return n, err != nil
		}
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} //nolint:gosec // a descriptor is small
		if _, err := unix.Poll(poll, 0); err == nil && poll[0].Revents&unix.POLLIN == 0 {
			return 0, poll[0].Revents != 0
		}
	}
}

// readOnce reads from the pipe once, at most size bytes, into the buffer. The caller holds mu.
func (o *outputReader) readOnce(s *outputStream, fd uintptr, size int) (wouldBlock, ended bool) {
	if len(s.buffer) == maxChunkBytes {
		o.flush(s) // a read into no room would look like the end of the pipe
	}
	if len(s.buffer) == cap(s.buffer) {
		s.buffer = slices.Grow(s.buffer, min(maxChunkBytes-len(s.buffer), max(len(s.buffer), minReadBytes)))
	}
	n, err := unix.Read(int(fd), s.buffer[len(s.buffer):min(cap(s.buffer), maxChunkBytes, len(s.buffer)+size)])
	s.buffer = s.buffer[:len(s.buffer)+max(n, 0)]
	switch {
	case errors.Is(err, unix.EAGAIN):
		return true, false
	case errors.Is(err, unix.EINTR):
		return false, false
	default:
		return false, n <= 0
	}
}

// flushIfDue passes the buffered output to sink if the buffer is full, 10 ms
// (chunkInterval) have passed since the last chunk, or the pipe has ended. Otherwise it
// returns the time at which it will be due; the zero time means that nothing is
// buffered.
func (o *outputReader) flushIfDue(s *outputStream, ended bool) (due time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(s.buffer) == 0 {
		return time.Time{}
	}
	next := s.lastFlush.Add(chunkInterval)
	if !ended && len(s.buffer) < maxChunkBytes && time.Now().Before(next) {
		return next
	}
	o.flush(s)
	return time.Time{}
}

// flush passes the buffered output to sink. The caller holds mu.
func (o *outputReader) flush(s *outputStream) {
	if len(s.buffer) == 0 {
		return
	}
	o.recent = append(o.recent, s.buffer[max(0, len(s.buffer)-maxTailBytes):]...)
	if len(o.recent) > 2*maxTailBytes {
		o.recent = append(o.recent[:0], o.recent[len(o.recent)-maxTailBytes:]...)
	}
	o.sink(s.name, s.buffer)
	if s.buffer = s.buffer[:0]; cap(s.buffer) < maxChunkBytes {
		s.buffer = nil // most subprocesses print little and seldom
	}
	s.lastFlush = time.Now()
}

// flushBuffers passes to sink what was read so far.
func (o *outputReader) flushBuffers() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.streams {
		o.flush(s)
	}
}

// drainPipes reads everything that is in both pipes and passes it to sink, without
// waiting for more.
func (o *outputReader) drainPipes() {
	for _, s := range o.streams {
		raw, err := s.file.SyscallConn()
		if err != nil {
			continue // closed, and so drained
		}
		// Control, unlike Read, does not wait until the stream's reader lets go.
		_ = raw.Control(func(fd uintptr) {
			o.mu.Lock()
			defer o.mu.Unlock()
			for wouldBlock, ended := false, false; !wouldBlock && !ended; {
				wouldBlock, ended = o.readOnce(s, fd, maxChunkBytes)
				o.flush(s)
			}
		})
	}
}

// drainAfterExit waits until the pipes of a process that has exited end, but at most
// 100 ms (pipeCloseGrace), and then passes what is left in them to sink.
func (o *outputReader) drainAfterExit() {
	select {
	case <-o.drained:
	case <-time.After(pipeCloseGrace):
		o.drainPipes()
	}
}

// close closes both pipes, which makes readBothPipes return.
func (o *outputReader) close() error {
	return errors.Join(o.streams[0].file.Close(), o.streams[1].file.Close())
}

// lastLines returns the last whole lines of stdout and stderr together, at most 4 KiB
// (maxTailBytes), as valid UTF-8.
func (o *outputReader) lastLines() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	recent := o.recent[max(0, len(o.recent)-maxTailBytes):]
	if len(o.recent) > maxTailBytes {
		if _, wholeLines, found := bytes.Cut(recent, []byte("\n")); found {
			recent = wholeLines
		}
	}
	return string(bytes.ToValidUTF8(recent, []byte("\uFFFD")))
}
