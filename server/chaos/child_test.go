package chaos_test

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
	"assay/server/servertest"
)

// faultyChild is a kernel or agent process that follows the protocol most of the time.
type faultyChild struct {
	*rng
	in     protocol.Conn // from the server
	socket net.Conn
	dir    string // named on the command line of everything that the test starts
	number int    // of processes with the same role and session before it

	mu        sync.Mutex // held while a frame is written
	gzipNext  bool       // compress the next frame
	postponed []byte     // a frame to be sent out of order; nil: none
}

// playRole plays the role of a subprocess and returns its exit status:
//
//	faulty-kernel DIR SEED SESSION FD
//	faulty-agent DIR SEED SESSION FD
//	orphan DIR                        waits until it is killed
//	quiet FD                          a kernel or agent that is ready and then does nothing
func playRole(role string, args []string) int {
	switch role {
	case "orphan":
		select {}
	case "quiet":
		return playQuietChild(args[0])
	}
	socket, err := servertest.ConnectSocket(args[3])
	if err != nil {
		return 110
	}
	seed, err := strconv.ParseUint(args[1], 10, 64)
	if err != nil {
		return 111
	}
	number := 0
	for ; ; number++ { // the first folder that this process can create gives its number
		if os.Mkdir(filepath.Join(args[0], fmt.Sprintf("%s-%s-%d", args[2], role, number)), 0o700) == nil {
			break
		}
		if number > 10_000 {
			return 112
		}
	}
	c := &faultyChild{
		rng: newRNG(seed, role, args[2], strconv.Itoa(number)), in: protocol.NewStream(socket, 0),
		socket: socket, dir: args[0], number: number,
	}
	if c.oneIn(15) {
		signal.Ignore(syscall.SIGTERM)
	}
	if !c.becomeReady() {
		return c.IntN(4)
	}
	if role == "faulty-kernel" {
		return (&faultyKernel{faultyChild: c}).run()
	}
	return (&faultyAgent{faultyChild: c}).run()
}

func playQuietChild(fd string) int {
	socket, err := servertest.ConnectSocket(fd)
	if err != nil {
		return 110
	}
	conn := protocol.NewStream(socket, 0)
	_ = conn.Write([]byte(`{"type":"ready"}`))
	_ = conn.Write([]byte(`{"type":"agent_status","status":"ready"}`))
	for _, err := conn.Read(); err == nil; _, err = conn.Read() { //nolint:revive // it only reads
	}
	return 0
}

// becomeReady sends ready. It returns false if it did something wrong instead, after
// which the process must exit.
func (c *faultyChild) becomeReady() bool {
	switch c.IntN(80) {
	case 0:
		_, _ = fmt.Fprintln(os.Stderr, "no such module: chaos")
		return false
	case 1:
		c.writeFrame([]byte(`{"type":"hello"}`))
		return false
	case 2:
		select {} // never ready, until the server kills it
	case 3:
		c.breakFraming()
		return false
	}
	c.gzipNext = c.oneIn(4)
	c.writeFrame([]byte(c.pickText(
		`{"type":"ready"}`, `{"type":"ready","language":"python","version":"3","pid":1,"protocol":1}`, `{"type":"ready","actions":true}`,
	)))
	return true
}

// send sends a message: sometimes not at all, twice, late, out of order or after
// garbage.
func (c *faultyChild) send(message any) {
	body, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	switch c.IntN(100) {
	case 0:
	case 1:
		c.writeFrame(body)
		c.writeFrame(body)
	case 2:
		c.postponed = body
	case 3, 4:
		<-time.After(c.durationBelow(50 * time.Millisecond))
		c.writeFrame(body)
	case 5:
		c.writeFrame(c.garbage())
		c.writeFrame(body)
	default:
		c.writeFrame(body)
	}
	if c.postponed != nil && c.oneIn(5) {
		c.writeFrame(c.postponed)
		c.postponed = nil
	}
}

// writeFrame writes one frame, sometimes in pieces. It ignores errors: the read loop
// gets them too.
func (c *faultyChild) writeFrame(body []byte) {
	if c.gzipNext {
		c.gzipNext = false
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
		if c.oneIn(12) {
			piece = 1 + c.IntN(len(frame))
		}
		if _, err := c.socket.Write(frame[:piece]); err != nil {
			return
		}
		if frame = frame[piece:]; len(frame) > 0 {
			<-time.After(c.durationBelow(5 * time.Millisecond))
		}
	}
}

// breakFraming writes bytes after which no frame can be read: a wrong length, or a
// frame that is cut.
func (c *faultyChild) breakFraming() {
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

// misbehave sometimes crashes, hangs, pauses, floods stdout, starts a process that
// does not end, or sends garbage. It returns true if the process must exit.
func (c *faultyChild) misbehave() (mustExit bool) {
	switch c.IntN(800) {
	case 0:
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case 1:
		_, _ = fmt.Fprintln(os.Stderr, "Segmentation fault (chaos dumped)")
		return true
	case 2:
		c.breakFraming()
		return c.oneIn(2)
	case 3:
		_ = c.socket.Close() // but does not exit
		select {}
	case 4:
		select {} // never reads or answers again
	case 5, 6, 7, 8:
		<-time.After(c.durationBelow(1500 * time.Millisecond))
	case 9, 10, 11, 12:
		c.startOrphan()
	case 13, 14:
		_, _ = os.Stdout.Write(bytes.Repeat([]byte("drivel \xff"), c.IntN(50_000)))
	}
	if c.oneIn(30) {
		c.writeFrame(c.garbage())
	}
	return false
}

// startOrphan starts a process that does not end by itself.
func (c *faultyChild) startOrphan() {
	command := servertest.RoleCommand("orphan", c.dir)
	_ = exec.Command(command[0], command[1:]...).Start()
}
