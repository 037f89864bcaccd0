package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"assay/eval/runs"
	"assay/server/endpoint"
)

const (
	// maxOutputBytes is how much is kept of what the kernels of an id print, and as
	// much of what its agents print: the newest lines.
	maxOutputBytes = 64 << 10

	// minLineBytes is what a line counts at least towards maxOutputBytes: it limits
	// the number of short lines.
	minLineBytes = 64

	// outputInterval is the interval between two messages of /printed at least.
	outputInterval = 100 * time.Millisecond
)

// ProcessOutput is the response of GET /api/sessions/{id}/printed, and each message
// of the WebSocket /printed.
type ProcessOutput struct {
	Lines []OutputLine `json:"lines"` // ascending by N; never null
}

// OutputLine is a line that a kernel or agent process wrote to stdout or stderr.
type OutputLine struct {
	Number        int64     `json:"n"` // from 1; lines that are missing between two were dropped
	PrintedAt     time.Time `json:"at"`
	ProcessName   string    `json:"name"`    // kernel or agent
	ProcessNumber int       `json:"process"` // number of the process, from 1, counted over all sessions of the id
	Text          string    `json:"text"`    // without the line end
}

// processOutputLog keeps the newest lines that the kernels and agents of one session id
// have printed. It is safe for concurrent use.
type processOutputLog struct {
	mu        sync.Mutex
	lastN     int64                  // number of the newest line
	processes int                    // number of processes so far
	byName    map[string]*outputTail // by the name of the processes: kernel or agent
	closed    bool                   // no more lines will come
	changed   chan struct{}          // closed and replaced with each line, and by close
}

// outputTail is the newest lines of the processes of one name.
type outputTail struct {
	lines []OutputLine
	size  int // in bytes; short lines count minLineBytes
}

func newProcessOutputLog() *processOutputLog {
	return &processOutputLog{byName: map[string]*outputTail{}, changed: make(chan struct{})}
}

// lineSink returns the function that gets the lines of a process that is about to start;
// name is kernel or agent.
func (o *processOutputLog) lineSink(name string) func(line []byte) {
	o.mu.Lock()
	o.processes++
	process := o.processes
	o.mu.Unlock()
	return func(line []byte) { o.addLine(name, process, string(line)) }
}

func (o *processOutputLog) addLine(name string, process int, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	tail := o.byName[name]
	if tail == nil {
		tail = &outputTail{}
		o.byName[name] = tail
	}
	o.lastN++
	tail.addLine(OutputLine{Number: o.lastN, PrintedAt: time.Now().UTC(), ProcessName: name, ProcessNumber: process, Text: text})
	o.notifyLocked()
}

// close tells readers that no more lines will come.
func (o *processOutputLog) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.notifyLocked()
}

func (o *processOutputLog) notifyLocked() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// addLine adds a line, and drops the oldest ones beyond maxOutputBytes.
func (t *outputTail) addLine(line OutputLine) {
	t.lines = append(t.lines, line)
	t.size += max(len(line.Text), minLineBytes)
	for t.size > maxOutputBytes && len(t.lines) > 1 {
		t.size -= max(len(t.lines[0].Text), minLineBytes)
		t.lines[0] = OutputLine{} // frees the text
		t.lines = t.lines[1:]
	}
}

// linesAfter returns the kept lines with a number above n, in order, and a channel
// that is closed when there are more, nil if there will be none.
func (o *processOutputLog) linesAfter(n int64) (lines []OutputLine, more <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for tail := range maps.Values(o.byName) {
		at, _ := slices.BinarySearchFunc(tail.lines, n+1, func(line OutputLine, n int64) int { return cmp.Compare(line.Number, n) })
		lines = append(lines, tail.lines[at:]...)
	}
	slices.SortFunc(lines, func(a, b OutputLine) int { return cmp.Compare(a.Number, b.Number) })
	if o.closed {
		return lines, nil
	}
	return lines, o.changed
}

// stream writes the kept lines, and then new ones as they come, as ProcessOutput
// messages. It returns io.EOF after close, the cause of ctx, or errWatcherLeft if
// write fails.
func (o *processOutputLog) stream(ctx context.Context, write func([]byte) error) error {
	ticker := time.NewTicker(outputInterval)
	defer ticker.Stop()
	last := int64(0)
	for {
		lines, more := o.linesAfter(last)
		if len(lines) > 0 {
			last = lines[len(lines)-1].Number
			message, err := json.Marshal(ProcessOutput{Lines: lines})
			if err != nil || write(message) != nil {
				return errWatcherLeft
			}
		}
		if more == nil {
			return io.EOF
		}
		select {
		case <-more:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		select {
		case <-ticker.C: // lines that come meanwhile are sent in one message
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// getProcessOutput handles GET /api/sessions/{id}/printed.
func (s *Server) getProcessOutput(w http.ResponseWriter, r *http.Request) error {
	if err := endpoint.ReadParameters(r).Err(); err != nil {
		return err
	}
	host, err := s.sessionHostOrNotFound(r.PathValue("id"))
	if err != nil {
		return err
	}
	lines, _ := host.output.linesAfter(0)
	endpoint.WriteJSON(w, http.StatusOK, ProcessOutput{Lines: append([]OutputLine{}, lines...)})
	return nil
}

// watchProcessOutput handles /printed: the output as a WebSocket that also sends new lines.
func (s *Server) watchProcessOutput(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	s.connections.Add(1)
	defer s.connections.Done()
	q := endpoint.ReadParameters(r, "session")
	id := sessionIDOrDefault(q.Text("session"))
	if err := q.Err(); err != nil {
		return err
	}
	host, err := s.sessionHostOrNotFound(id)
	if err != nil {
		return err
	}
	s.serveWatcher(ctx, w, r, watchSource{name: id, waitForStop: host.waitForStop, stream: host.output.stream})
	return nil
}

// sessionHostOrNotFound returns the host of a session id. The error wraps runs.ErrNotFound if there
// is none.
func (s *Server) sessionHostOrNotFound(id string) (*sessionHost, error) {
	if host := s.sessionHostByID(id); host != nil {
		return host, nil
	}
	return nil, fmt.Errorf("there is no session %s: %w", strconv.Quote(id), runs.ErrNotFound)
}
