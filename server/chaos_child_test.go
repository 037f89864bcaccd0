package server_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"assay/internal/protocol"
)

// troubled is a child that keeps to the protocol most of the time.
type troubled struct {
	*dice
	in     protocol.Conn
	socket net.Conn
	dir    string // named on the command line of all that it starts
	number int    // how many of the same role and session were before it

	mu     sync.Mutex // of writing
	packed bool       // the next frame is gzip
	kept   []byte     // one that was held back
}

// chaosChild plays a role of the chaos:
//
//	chaos-kernel DIR SEED WHO FD
//	chaos-agent DIR SEED WHO FD
//	chaos-orphan DIR               sits there until it is killed
func chaosChild(role string, args []string) int {
	if role == "chaos-orphan" {
		select {}
	}
	socket, err := inherited(args[3])
	if err != nil {
		return 110
	}
	seed, err := strconv.ParseUint(args[1], 10, 64)
	if err != nil {
		return 111
	}
	number := 0
	for ; ; number++ { // a folder that is not there yet is ours
		if os.Mkdir(filepath.Join(args[0], fmt.Sprintf("%s-%s-%d", args[2], role, number)), 0o700) == nil {
			break
		}
		if number > 10_000 {
			return 112
		}
	}
	c := &troubled{
		dice: newDice(seed, role, args[2], strconv.Itoa(number)), in: protocol.NewStream(socket, 0),
		socket: socket, dir: args[0], number: number,
	}
	if c.chance(15) {
		signal.Ignore(syscall.SIGTERM)
	}
	if !c.enters() {
		return c.IntN(4)
	}
	if role == "chaos-kernel" {
		return (&chaosKernel{troubled: c}).run()
	}
	return (&chaosAgent{troubled: c}).run()
}

// enters says ready. false: it does something else instead, and leaves.
func (c *troubled) enters() bool {
	switch c.IntN(80) {
	case 0:
		_, _ = fmt.Fprintln(os.Stderr, "no such module: chaos")
		return false
	case 1:
		c.frame([]byte(`{"type":"hello"}`))
		return false
	case 2:
		select {} // and is given up
	case 3:
		c.broken()
		return false
	}
	c.packed = c.chance(4)
	c.frame([]byte(c.pick(
		`{"type":"ready"}`, `{"type":"ready","language":"python","version":"3","pid":1,"protocol":1}`, `{"type":"ready","actions":true}`,
	)))
	return true
}

// say sends a message, or not, or more than that.
func (c *troubled) say(message any) {
	body, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	switch c.IntN(100) {
	case 0:
	case 1:
		c.frame(body)
		c.frame(body)
	case 2:
		c.kept = body
	case 3, 4:
		<-time.After(c.upTo(50 * time.Millisecond))
		c.frame(body)
	case 5:
		c.frame(c.nonsense())
		c.frame(body)
	default:
		c.frame(body)
	}
	if c.kept != nil && c.chance(5) {
		c.frame(c.kept) // out of its order
		c.kept = nil
	}
}

// frame writes one frame, sometimes in pieces. An error is seen by who reads.
func (c *troubled) frame(body []byte) {
	if c.packed {
		c.packed = false
		var text bytes.Buffer
		packer := gzip.NewWriter(&text)
		_, _ = packer.Write(body)
		_ = packer.Close()
		body = text.Bytes()
	}
	frame := binary.LittleEndian.AppendUint64(nil, uint64(len(body)))
	frame = append(frame, body...)
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(frame) > 0 {
		piece := len(frame)
		if c.chance(12) {
			piece = 1 + c.IntN(len(frame))
		}
		if _, err := c.socket.Write(frame[:piece]); err != nil {
			return
		}
		if frame = frame[piece:]; len(frame) > 0 {
			<-time.After(c.upTo(5 * time.Millisecond))
		}
	}
}

// broken writes what breaks the channel.
func (c *troubled) broken() {
	frames := [][]byte{
		{0, 0, 0, 0, 0, 0, 0, 0},
		{255, 255, 255, 255, 255, 255, 255, 255},
		{0, 0, 0, 0, 0, 0, 0, 127},
		{9, 0, 0, 0},
		{9, 0, 0, 0, 0, 0, 0, 0, '{', '"'},
		{9, 0, 0, 0, 0, 0, 0, 0, 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0},
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.socket.Write(frames[c.IntN(len(frames))])
}

// falters makes trouble of its own accord, now and then. true: it is to leave.
func (c *troubled) falters() (leaves bool) {
	switch c.IntN(800) {
	case 0:
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case 1:
		_, _ = fmt.Fprintln(os.Stderr, "Segmentation fault (chaos dumped)")
		return true
	case 2:
		c.broken()
		return c.chance(2)
	case 3:
		_ = c.socket.Close() // and lives on
		select {}
	case 4:
		select {} // does not read and does not answer, for ever
	case 5, 6, 7, 8:
		<-time.After(c.upTo(1500 * time.Millisecond))
	case 9, 10, 11, 12:
		c.orphan()
	case 13, 14:
		_, _ = os.Stdout.Write(bytes.Repeat([]byte("drivel \xff"), c.IntN(50_000)))
	}
	if c.chance(30) {
		c.frame(c.nonsense())
	}
	return false
}

// orphan starts a process that does not end by itself.
func (c *troubled) orphan() {
	command := playing("chaos-orphan", c.dir)
	_ = exec.Command(command[0], command[1:]...).Start()
}
