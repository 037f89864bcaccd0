package router_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/router"
)

// Each file of testdata is a conversation. A line that begins with "> " is
// done, everything between it and the next is what came of it: what each peer
// was sent, then what the trace has of it. With -update the files are rewritten
// as they come out. What is done:
//
//	> attach agent|kernel|old-kernel|holder|console|console2|view|document [NUMBER]
//	> agent|kernel|holder|console {message}
//	> end agent|kernel|holder|console
//	> wait 8s
//	> refuse TEXT
//
// Peers are numbered as they come. NUMBER is another one for a console, or for a
// view or holder that of its console's /run.
// Ids of the router's own are written eval_1, eval_2, … in the order of their
// coming, in both directions.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			var got string
			synctest.Test(t, func(t *testing.T) { got = play(t, string(want)) })
			if flag.Lookup("update").Value.String() == "true" {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
				return
			}
			require.Equal(t, string(want), got)
		})
	}
}

// stage is a router with scripted peers.
type stage struct {
	t       *testing.T
	router  *router.Router
	journal *trace.Journal
	follow  *trace.Follower
	doc     *notebook.Document
	runs    *notebook.Executions
	serving sync.WaitGroup

	joined int // how many peers were attached

	mu    sync.Mutex
	peers map[string]*actor
	ids   []string // the router's own, in the order of their coming
}

// actor is one end of a pipe, and what came out of it.
type actor struct {
	conn protocol.Conn
	peer *router.Peer
	got  []string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, peers: map[string]*actor{}}
	s.journal = trace.NewJournal("s")
	s.follow = s.journal.Follow()
	n := 0
	s.runs = notebook.NewExecutions(notebook.ExecutionsConfig{})
	s.doc = notebook.NewDocument(notebook.DocumentConfig{
		Executions: s.runs, NewCellID: func() string { n++; return fmt.Sprintf("cell-%d", n) },
		OnEvent: func(e notebook.Event) {
			s.journal.Append(trace.Entry{
				Hop: trace.HopNotebook, Envelope: protocol.Envelope{Type: notebook.EventType, Action: e.Kind}, Body: e.JSON(),
			})
		},
	})
	s.router = router.New(s.journal, s.runs, router.Config{RestartChild: func(name string) error {
		if name != "kernel" {
			return errors.New("there is no " + name)
		}
		s.router.ResendHello()
		return nil
	}})
	return s
}

func play(t *testing.T, script string) string {
	t.Helper()
	s := newStage(t)
	var out strings.Builder
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "#") || line == "":
			out.WriteString(line + "\n")
		case strings.HasPrefix(line, "> "):
			out.WriteString(line + "\n")
			s.do(strings.TrimPrefix(line, "> "))
			out.WriteString(s.came())
		}
	}
	s.router.Close(protocol.CloseGoingAway, "the test is over")
	for _, a := range s.peers {
		_ = a.conn.Close(protocol.CloseNormal, "")
	}
	s.serving.Wait()
	return out.String()
}

func (s *stage) do(command string) {
	what, rest, _ := strings.Cut(command, " ")
	switch what {
	case "attach":
		s.attach(rest)
	case "end":
		require.NoError(s.t, s.peers[rest].conn.Close(protocol.CloseNormal, ""))
	case "wait":
		d, err := time.ParseDuration(rest)
		require.NoError(s.t, err)
		<-time.After(d)
	case "refuse":
		s.router.RefuseActions(rest)
	default:
		body := []byte(s.numbered(rest, true))
		if text, raw := strings.CutPrefix(rest, "raw "); raw {
			body = protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: protocol.Stdout, CellID: "cell-1", Text: []byte(text)})
		}
		require.NoError(s.t, s.peers[what].conn.Write(body))
	}
	synctest.Wait()
}

func (s *stage) attach(command string) {
	ours, theirs := protocol.Pipe()
	a := &actor{conn: theirs}
	var err error
	name, after, _ := strings.Cut(command, " ")
	s.joined++
	number, run := s.joined, 0
	if after != "" {
		run, err = strconv.Atoi(after)
		require.NoError(s.t, err)
		if name == "console" {
			number = run
		}
	}
	switch strings.TrimRight(name, "2") {
	case "agent":
		a.peer, err = s.router.AttachAgent(ours)
	case "kernel":
		a.peer, err = s.router.AttachKernel(ours, false)
	case "old-kernel":
		name = "kernel"
		a.peer, err = s.router.AttachKernel(ours, true)
	case "holder":
		a.peer, err = s.router.AttachHolder(ours, number, "1", run)
	case "console":
		a.peer, err = s.router.AttachConsole(ours, number, func(n int, owner bool) (body, recorded []byte) {
			recorded = fmt.Appendf(nil, `{"type":"ready","connection_idx":%d,"session_owner":%t}`, n, owner)
			return append(recorded[:len(recorded)-1:len(recorded)-1], `,"cell_outputs":{}}`...), recorded
		})
	case "view":
		a.peer, err = s.router.AttachView(ours, number, run, func() ([]byte, *trace.Follower) {
			return []byte(`{"type":"notebook_state"}`), s.journal.Follow()
		})
	case "document":
		a.peer, err = s.router.AttachDocument(ours)
		s.serving.Go(func() { _ = s.doc.Serve(theirs) })
	}
	require.NoError(s.t, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.peers[name] = a
	if name != "document" {
		s.serving.Go(func() { s.listen(a) })
	}
}

func (s *stage) listen(a *actor) {
	for {
		body, err := a.conn.Read()
		s.mu.Lock()
		if err != nil {
			a.got = append(a.got, "closed")
			s.mu.Unlock()
			return
		}
		a.got = append(a.got, string(body))
		s.mu.Unlock()
	}
}

// came is what has happened since it was last called.
func (s *stage) came() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out strings.Builder
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range s.peers {
			if !yield(name) {
				return
			}
		}
	}) {
		for _, body := range s.peers[name].got {
			fmt.Fprintf(&out, "  %s < %s\n", name, s.numbered(body, false))
		}
		s.peers[name].got = nil
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(io.EOF) // take what is there
	for {
		entry, err := s.follow.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out.String()
		}
		fmt.Fprintf(&out, "    %s\n", s.numbered(line(entry), false))
	}
}

func line(e *trace.Entry) string {
	fields := []string{fmt.Sprintf("%d", e.Seq), string(e.Hop), e.Type, e.Action, e.TxID, e.AgentTxID, e.CellID, string(e.Note)}
	if e.RefSeq != 0 {
		fields = append(fields, fmt.Sprintf("=%d", e.RefSeq))
	}
	if e.CauseSeq != 0 {
		fields = append(fields, fmt.Sprintf("of %d", e.CauseSeq))
	}
	return strings.Join(slices.DeleteFunc(fields, func(f string) bool { return f == "" }), " ")
}

// numbered replaces the router's ids by their numbers, or numbers by ids.
func (s *stage) numbered(text string, back bool) string {
	if back {
		for i, id := range slices.Backward(s.ids) {
			text = strings.ReplaceAll(text, fmt.Sprintf("eval_%d\"", i+1), id+"\"")
		}
		return text
	}
	return regexp.MustCompile(`eval_[0-9a-f]{12}`).ReplaceAllStringFunc(text, func(id string) string {
		at := slices.Index(s.ids, id)
		if at < 0 {
			s.ids = append(s.ids, id)
			at = len(s.ids) - 1
		}
		return fmt.Sprintf("eval_%d", at+1)
	})
}
