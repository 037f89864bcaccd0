package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// terminal is as much of one as a test needs: it moves a cursor up, erases
// behind and below it, breaks lines that are too long, and remembers what has scrolled off.
type terminal struct {
	columns, rows int

	mu       sync.Mutex
	lines    [][]rune
	row, col int
	rest     []byte // of a sequence that is not whole yet
	raw      bytes.Buffer
	writes   int
	changed  chan struct{} // closed by the next write
}

func newTerminal(columns, rows int) *terminal {
	return &terminal{columns: columns, rows: rows, lines: [][]rune{nil}, changed: make(chan struct{})}
}

func (t *terminal) size() (columns, rows int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.columns, t.rows
}

// resize makes it narrower, and breaks the lines that have become too long.
func (t *terminal) resize(columns int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var broken [][]rune
	for _, line := range t.lines {
		for len(line) > columns {
			broken = append(broken, line[:columns:columns])
			line = line[columns:]
		}
		broken = append(broken, line)
	}
	t.columns, t.lines, t.row = columns, broken, len(broken)-1
}

// drawings is how often it was written to.
func (t *terminal) drawings() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.writes
}

// Write takes what a program prints.
func (t *terminal) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writes++
	t.raw.Write(text)
	rest := append(t.rest, text...)
	for len(rest) > 0 {
		n := t.take(rest)
		if n == 0 {
			break
		}
		rest = rest[n:]
	}
	t.rest = bytes.Clone(rest)
	close(t.changed)
	t.changed = make(chan struct{})
	return len(text), nil
}

// take carries out what is first in text and returns its length; 0: it is not
// whole.
func (t *terminal) take(text []byte) int {
	if text[0] == '\x1b' {
		sequence := regexp.MustCompile(`^\x1b\[(\d*)([A-Za-z])`).FindSubmatch(text)
		if sequence == nil {
			return 0
		}
		t.control(string(sequence[2]), string(sequence[1]))
		return len(sequence[0])
	}
	r, n := utf8.DecodeRune(text)
	if r == utf8.RuneError && !utf8.FullRune(text) {
		return 0
	}
	switch r {
	case '\n':
		t.row, t.col = t.row+1, 0 // as the line discipline makes it
		if t.row == len(t.lines) {
			t.lines = append(t.lines, nil)
		}
	case '\r':
		t.col = 0
	default:
		t.put(r)
	}
	return n
}

func (t *terminal) control(name, argument string) {
	switch name {
	case "A":
		up, _ := strconv.Atoi(argument)
		t.row = max(t.row-up, len(t.lines)-t.rows, 0)
	case "J":
		t.lines = t.lines[:t.row+1]
		fallthrough
	case "K":
		t.lines[t.row] = t.lines[t.row][:min(t.col, len(t.lines[t.row]))]
	}
}

func (t *terminal) put(r rune) {
	wide := columnsOfRune(r)
	if t.col+wide > t.columns {
		t.row, t.col = t.row+1, 0
		if t.row == len(t.lines) {
			t.lines = append(t.lines, nil)
		}
	}
	line := t.lines[t.row]
	for len(line) < t.col+wide {
		line = append(line, ' ')
	}
	line[t.col] = r
	t.lines[t.row], t.col = line, t.col+wide
}

// text is everything that can be seen, scrolled back to the beginning.
func (t *terminal) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines []string
	for _, line := range t.lines {
		lines = append(lines, strings.TrimRight(string(line), " "))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

func (t *terminal) printed() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.raw.String()
}

// await waits until what the terminal shows matches.
func await(t *testing.T, shown *terminal, pattern string) {
	t.Helper()
	deadline := time.After(waitTimeout)
	for {
		shown.mu.Lock()
		changed := shown.changed
		shown.mu.Unlock()
		if regexp.MustCompile(pattern).MatchString(shown.text()) {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			require.Failf(t, "the terminal does not show it", "%s in\n%s", pattern, shown.text())
		}
	}
}

// onTerminal starts assay with stdout and stderr on a pseudo-terminal and
// returns what shows it. end waits until the program has ended and everything
// was shown.
func onTerminal(t *testing.T, env []string, args ...string) (shown *terminal, cmd *exec.Cmd, end func() error) {
	t.Helper()
	shown = newTerminal(60, 20)
	master, slave := openPTY(t, shown)
	cmd = exec.CommandContext(t.Context(), "assay", args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = slave, slave
	require.NoError(t, cmd.Start())
	require.NoError(t, slave.Close())
	read := make(chan struct{})
	go func() {
		defer close(read)
		buffer := make([]byte, 4096)
		for {
			n, err := master.Read(buffer)
			if err != nil {
				return // EIO: nobody is at the other end any more
			}
			_, _ = shown.Write(buffer[:n])
		}
	}()
	return shown, cmd, func() error {
		err := cmd.Wait()
		<-read
		return err
	}
}

func openPTY(t *testing.T, shown *terminal) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = master.Close() })
	fd := int(master.Fd())
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(shown.rows), Col: uint16(shown.columns)}))
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	return master, slave
}
