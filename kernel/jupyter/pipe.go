package jupyter

import (
	"bytes"
	"errors"
	"os"
	"sync"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// chunkSize is how much of a pipe is read at once, in bytes.
const chunkSize = 64 << 10

// pipe drains one of the kernel's two output descriptors: what C code and the
// subprocesses of a cell write, where the kernel does not catch it.
type pipe struct {
	stream string
	file   *os.File
	sink   func(stream string, text []byte) // of valid UTF-8

	mu   sync.Mutex // held while reading, so that text keeps its order
	rest []byte     // of a character that has come in part
	room []byte
}

// newPipe returns a pipe and the end of it that the kernel gets.
func newPipe(stream string, sink func(string, []byte)) (*pipe, *os.File, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	return &pipe{stream: stream, file: reader, sink: sink, room: make([]byte, chunkSize)}, writer, nil
}

// pump drains the pipe until it ends or is closed.
func (p *pipe) pump() {
	raw, err := p.file.SyscallConn()
	if err != nil {
		return // closed already
	}
	for ended := false; !ended && err == nil; {
		err = raw.Read(func(fd uintptr) bool {
			var again bool
			again, ended = p.read(fd)
			return !again
		})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.rest) > 0 {
		p.sink(p.stream, []byte("\uFFFD"))
	}
}

// drain hands on what is in the pipe, without waiting for more.
func (p *pipe) drain() {
	raw, err := p.file.SyscallConn()
	if err != nil {
		return // closed, and so drained
	}
	// Control, unlike Read, does not wait for the pump to let go.
	_ = raw.Control(func(fd uintptr) {
		for again, ended := false, false; !again && !ended; {
			again, ended = p.read(fd)
		}
	})
}

// read hands on what one read gives. again: nothing is there yet.
func (p *pipe) read(fd uintptr) (again, ended bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, err := unix.Read(int(fd), p.room)
	switch {
	case errors.Is(err, unix.EAGAIN):
		return true, false
	case errors.Is(err, unix.EINTR):
		return false, false
	case n <= 0:
		return false, true
	}
	text := append(p.rest, p.room[:n]...)
	end := lastWhole(text)
	p.rest = bytes.Clone(text[end:])
	if end > 0 {
		p.sink(p.stream, bytes.ToValidUTF8(text[:end], []byte("\uFFFD"))) // a copy
	}
	return false, false
}

func (p *pipe) close() error { return p.file.Close() }

// lastWhole is where the last character of text begins whose end is missing, or
// the length of text where there is none.
func lastWhole(text []byte) int {
	for back := 1; back <= min(utf8.UTFMax-1, len(text)); back++ {
		if at := len(text) - back; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				return at
			}
			break
		}
	}
	return len(text)
}
