package router_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/router"
)

func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite the expectations in testdata")
	goleak.VerifyTestMain(m)
}

// harness is a router under test with its journal, the server's own document and the executions
// folded from the kernel's frames. The test plays the other peers.
type harness struct {
	t          *testing.T
	router     *router.Router
	journal    *trace.Journal
	follower   *trace.Follower // of journal, for takeMessagesAndEntries
	document   *notebook.Document
	executions *notebook.Executions
	goroutines sync.WaitGroup

	attachedCount int

	mu          sync.Mutex
	peers       map[string]*testPeer // by name
	serverTxIDs []string             // the router's ids, in the order in which they were seen
}

// testPeer is the test's end of one peer's connection to the router.
type testPeer struct {
	conn     protocol.Conn
	peer     *router.Peer
	received []string // by collect, since takeMessagesAndEntries was last called
}

// newHarness returns a harness whose router has no peers yet. A restart of the kernel succeeds
// at once; one of the agent fails.
func newHarness(t *testing.T) *harness {
	t.Helper()
	h := &harness{t: t, peers: map[string]*testPeer{}}
	h.journal = trace.NewJournal("s")
	h.follower = h.journal.Follow()
	n := 0
	h.executions = notebook.NewExecutions(notebook.ExecutionsConfig{})
	h.document = notebook.NewDocument(notebook.DocumentConfig{
		Executions: h.executions, NewCellID: func() string { n++; return fmt.Sprintf("cell-%d", n) },
		OnEvent: func(e notebook.Event) {
			h.journal.Append(trace.Entry{
				Hop: trace.HopNotebook, Envelope: protocol.Envelope{Type: notebook.EventType, Action: e.Kind}, Body: e.JSON(),
			})
		},
	})
	h.router = router.New(h.journal, h.executions, router.Config{RestartChild: func(name string) error {
		if name != "kernel" {
			return errors.New("there is no " + name)
		}
		h.router.ResendHello()
		return nil
	}})
	return h
}

// attachListeningPeer attaches the peer that the text of an "attach" command of a transcript
// describes, and starts a goroutine that collects every message sent to that peer.
func (h *harness) attachListeningPeer(command string) {
	ours, theirs := protocol.Pipe()
	a := &testPeer{conn: theirs}
	var err error
	name, after, _ := strings.Cut(command, " ")
	h.attachedCount++
	number, runID := h.attachedCount, 0
	if after != "" {
		runID, err = strconv.Atoi(after)
		require.NoError(h.t, err)
		if name == "console" {
			number = runID
		}
	}
	switch strings.TrimRight(name, "2") {
	case "agent":
		a.peer, err = h.router.AttachAgent(ours)
	case "kernel":
		a.peer, err = h.router.AttachKernel(ours, protocol.Ready{})
	case "old-kernel":
		name = "kernel"
		a.peer, err = h.router.AttachKernel(ours, protocol.Ready{Actions: true})
	case "serving-kernel":
		name = "kernel"
		a.peer, err = h.router.AttachKernel(ours, protocol.Ready{Requests: []string{"get_global"}})
	case "plotting-kernel":
		name = "kernel"
		a.peer, err = h.router.AttachKernel(ours, protocol.Ready{Requests: []string{"get_plot_data"}})
	case "holder":
		a.peer, err = h.router.AttachHolder(ours, number, "1", runID)
	case "console":
		a.peer, err = h.router.AttachConsole(ours, number, func(n int, owner bool) (body, recorded []byte) {
			recorded = fmt.Appendf(nil, `{"type":"ready","connection_idx":%d,"session_owner":%t}`, n, owner)
			return append(recorded[:len(recorded)-1:len(recorded)-1], `,"cell_outputs":{}}`...), recorded
		})
	case "view":
		a.peer, err = h.router.AttachView(ours, number, runID, func() ([]byte, *trace.Follower) {
			return []byte(`{"type":"notebook_state"}`), h.journal.Follow()
		})
	case "document":
		a.peer, err = h.router.AttachDocument(ours)
		h.goroutines.Go(func() { _ = h.document.Serve(theirs) })
	}
	require.NoError(h.t, err)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.peers[name] = a
	if name != "document" {
		h.goroutines.Go(func() { h.collectMessages(a) })
	}
}

// attachUnreadPeer attaches an agent, kernel, holder or console, as name says. Nothing reads the
// messages sent to it; the test must do that.
func (h *harness) attachUnreadPeer(name string) {
	ours, theirs := protocol.Pipe()
	a := &testPeer{conn: theirs}
	var err error
	switch name {
	case "agent":
		a.peer, err = h.router.AttachAgent(ours)
	case "kernel":
		a.peer, err = h.router.AttachKernel(ours, protocol.Ready{})
	case "plotting-kernel":
		name = "kernel"
		a.peer, err = h.router.AttachKernel(ours, protocol.Ready{Requests: []string{"get_plot_data"}})
	case "holder":
		a.peer, err = h.router.AttachHolder(ours, 1, "1", 0)
	case "console":
		a.peer, err = h.router.AttachConsole(ours, 2, fixedHello)
	}
	require.NoError(h.t, err)
	h.peers[name] = a
}

// fixedHello is a [router.HelloFunc] that always returns the same message, for tests that do
// not look at it.
func fixedHello(int, bool) (body, recorded []byte) {
	return []byte(`{"type":"ready"}`), []byte(`{"type":"ready"}`)
}

// attachView attaches a view with this console number, which names no connection at /run.
// Nothing reads the messages sent to it; the test must do that.
func (h *harness) attachView(id int) (*router.Peer, protocol.Conn) {
	return h.attachViewOfRunConsole(id, 0)
}

// attachViewOfRunConsole attaches a view with console number id that belongs to the connection at /run
// with the number runID. Nothing reads the messages sent to it; the test must do that.
func (h *harness) attachViewOfRunConsole(id, runID int) (*router.Peer, protocol.Conn) {
	h.t.Helper()
	ours, theirs := protocol.Pipe()
	p, err := h.router.AttachView(ours, id, runID, func() ([]byte, *trace.Follower) {
		return []byte(`{"type":"notebook_state"}`), h.journal.Follow()
	})
	require.NoError(h.t, err)
	h.peers[fmt.Sprint("view", id)] = &testPeer{conn: theirs}
	return p, theirs
}

// sendFromPeer writes a message to the router on the connection of the peer of this name.
func (h *harness) sendFromPeer(peer, message string) {
	h.t.Helper()
	require.NoError(h.t, h.peers[peer].conn.Write([]byte(message)))
}

// collectMessages reads the messages sent to one peer and keeps them for takeMessagesAndEntries, until its
// connection ends.
func (h *harness) collectMessages(a *testPeer) {
	for {
		body, err := a.conn.Read()
		h.mu.Lock()
		if err != nil {
			a.received = append(a.received, "closed")
			h.mu.Unlock()
			return
		}
		a.received = append(a.received, string(body))
		h.mu.Unlock()
	}
}

// closePeersAndRouter closes the test's ends of all connections, and then the router.
func (h *harness) closePeersAndRouter() {
	for _, a := range h.peers {
		_ = a.conn.Close(protocol.CloseNormal, "")
	}
	h.router.Close(protocol.CloseGoingAway, "over")
}

// takeMessagesAndEntries returns the messages sent to each listening peer, and the new trace entries, since
// its last call, one per line.
func (h *harness) takeMessagesAndEntries() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(h.peers)) {
		for _, body := range h.peers[name].received {
			fmt.Fprintf(&out, "  %s < %s\n", name, h.replaceRandomIDs(body))
		}
		h.peers[name].received = nil
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(io.EOF) // take only what is there
	for {
		entry, err := h.follower.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out.String()
		}
		fmt.Fprintf(&out, "    %s\n", h.replaceRandomIDs(formatEntry(entry)))
	}
}

// formatEntry formats a trace entry in one line: number, hop, type and ids, note, "=N" if entry
// N has its body, and "of N" if entry N caused it. Empty parts are left out.
func formatEntry(e *trace.Entry) string {
	fields := []string{fmt.Sprintf("%d", e.Seq), string(e.Hop), e.Type, e.Action, e.TxID, e.AgentTxID, e.CellID, string(e.Note)}
	if e.RefSeq != 0 {
		fields = append(fields, fmt.Sprintf("=%d", e.RefSeq))
	}
	if e.CauseSeq != 0 {
		fields = append(fields, fmt.Sprintf("of %d", e.CauseSeq))
	}
	return strings.Join(slices.DeleteFunc(fields, func(f string) bool { return f == "" }), " ")
}

// replaceRandomIDs replaces the router's random ids in a text by eval_1, eval_2 and so on, in
// the order in which they first appeared, so that transcripts are stable.
func (h *harness) replaceRandomIDs(text string) string {
	return regexp.MustCompile(`eval_[0-9a-f]{12}`).ReplaceAllStringFunc(text, func(id string) string {
		at := slices.Index(h.serverTxIDs, id)
		if at < 0 {
			h.serverTxIDs = append(h.serverTxIDs, id)
			at = len(h.serverTxIDs) - 1
		}
		return fmt.Sprintf("eval_%d", at+1)
	})
}

// restoreRandomIDs replaces eval_1, eval_2 and so on in a text by the router's random ids for
// which replaceRandomIDs once put them.
func (h *harness) restoreRandomIDs(text string) string {
	for i, id := range slices.Backward(h.serverTxIDs) {
		text = strings.ReplaceAll(text, fmt.Sprintf("eval_%d\"", i+1), id+"\"")
	}
	return text
}
