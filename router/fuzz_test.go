package router_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/router"
)

// The first byte of a fuzz input says how the router is set up, by its bits.
const (
	withHolder  = 1 << iota // a console holds the document; otherwise the server does
	withPuppet              // and then the document's frames are fuzzed too
	withOwner               // only the session's owner may do everything
	withLimit               // messages have at most 300 bytes
	withoutTime             // deadlines pass in a moment
	withOld                 // the kernel takes summaries as agent_action
)

// FuzzFrames lets peers say what they like: no message may break the routing of
// it, what the router sends is well formed, each action of the agent is answered
// once, and Close comes to an end.
//
// Each line is a peer's letter and a frame: a(gent), k(ernel), r(un console),
// s(econd run console), v(iew), h(older) and d(ocument). As in the transcripts,
// eval_1 is the first id of the router's own.
func FuzzFrames(f *testing.F) {
	for _, seed := range frameSeeds() {
		f.Add([]byte(seed))
	}
	for _, seed := range transcriptSeeds(f) {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) == 0 {
			return
		}
		fz := newFuzzed(t, input[0])
		for line := range bytes.SplitSeq(input[1:], []byte("\n")) {
			fz.say(line)
		}
		if input[0]&withoutTime != 0 {
			fz.settle()
		}
		fz.end()
		fz.check()
	})
}

// frameSeeds are what once went wrong, and what transcripts do not have.
func frameSeeds() []string {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	output := `{"type":"cell_output","cell_id":"cell-1","run_sequencer":1,"output":{"output_type":"display_data","data":{"image/x":%s},"metadata":{}}}`
	result := `{"type":"cell_result","cell_id":"cell-1","run_sequencer":1,"status":"ok"}`
	start := "k" + `{"type":"start_cell","cell_id":"cell-1","run_sequencer":1}` + "\n"
	create := "a" + `{"type":"agent_action","action":"create_cell","params":{"position":0,"cell_type":"code","source":"1"},"tx_id":"t"}` + "\n"
	look := "a" + `{"type":"agent_action","action":"get_context","params":{},"tx_id":"u"}`
	return []string{
		"\x00" + start + "k\x00\x01\x01\x00ctext\nk" + result,
		"\x00" + start + "k\x00\x03\x01\x00c\nk\x00\x01\xff\xffc\nk\x00\nr\x00\x01\x01\x00c\nv\x00\x01\x01\x00c\na\x00\x01\x01\x00c",
		"\x00" + start + "k" + fmt.Sprintf(output, deep(9_990)) + "\nk" + result,
		"\x00" + create + start + fmt.Sprintf("k"+output, deep(9_990)) + "\n" + look,
		"\x00" + create + start + fmt.Sprintf("k"+output, deep(9_995)) + "\n" + look,
		"\x00" + create + start + "k" + `{"type":"cell_widgets","cell_id":"cell-1","widget_state":{"cell-1/k":{"value":` + deep(9_994) + `}}}` + "\n" + look,
		"\x00k" + strings.Replace(result, `"ok"`, `"ok","x":`+deep(9_999), 1),
		"\x00k" + strings.Replace(result, `"ok"`, `"ok","x":`+deep(400)+`,"y":"`+strings.Repeat(`[\"`, 400)+`"`, 1),
		"\x00k" + strings.Replace(result, `"ok"`, `"ok","x":`+deep(10_001), 1),
		"\x00a" + `{"type":"agent_action","action":"execute_code","params":{"code":"1","timeout_s":1e300},"tx_id":"t"}` + "\nk" +
			`{"type":"execute_code_response","agent_tx_id":"eval_1","status":"ok","x":` + deep(9_999) + `}`,
		"\x00v" + `{"type":"notebook_action","action":"set_widget","tx_id":"t","params":{"key":"c/k","value":` + deep(9_997) + `}}`,
		"\x00a" + `{"type":"agent_action","action":"get_context","params":{"cell_id":"c"},"tx_id":"t","tx_id":"u"}` + "\na" +
			`{"type":"agent_action","action":"get_context","tx_id":"u"}`,
		"\x02a" + `{"type":"agent_action","action":"run_cell","params":{"cell_id":"c"},"tx_id":"t"}` + "\nd" +
			`{"type":"agent_action_response","tx_id":"t","status":"success"}` + "\nd" + `{"type":"run_cell","cell_id":"c","code":"1"}` + "\nd" + `{"type":"globals_summary"}`,
		"\x00a{}\na{ }\na{\"\":[{}] }",
		"\x01a" + `{"type":"agent_action","action":"get_context","tx_id":"\ud800"}` + "\nh" +
			`{"type":"agent_action_response","tx_id":"\ud800","status":"success","context":{"cells":[null,{"cell_id":"\ud800"}]}}`,
		"\x10a" + `{"type":"agent_action","action":"request_globals_summary","tx_id":"t"}` + "\nk" +
			`{"type":"globals_summary","agent_tx_id":"eval_1","summary":{},"stale":0,"tx_id":null}` + "\na" +
			`{"type":"agent_action","action":"request_globals_summary","tx_id":"t"}`,
		"\x20a" + `{"type":"agent_action","action":"request_reactivity_summary","tx_id":"t"}` + "\nk" +
			`{"type":"agent_action_response","tx_id":"eval_1","status":"success"}`,
		"\x0ar" + `{"type":"execute_code","code":"` + strings.Repeat("1", 400) + `","agent_tx_id":"m"}` + "\ns" + `{"type":"run_cell","cell_id":"c","code":"1"}`,
		"\x00r" + `{"type":"managed_process_restart","name":"kernel"}` + "\nr" + `{"type":"managed_process_restart","name":7}` +
			"\nr" + `{"type":"set_widget_value","data":{"c/k":"1"}}` + "\nr" + `{"type":"debug_state","agent_tx_id":{}}`,
	}
}

// transcriptSeeds is what the peers of each transcript say.
func transcriptSeeds(f *testing.F) (seeds []string) {
	f.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(f, err)
	letters := map[string]string{"agent": "a", "kernel": "k", "console": "r", "console2": "s", "view": "v", "holder": "h"}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		seed := "\x00"
		if bytes.Contains(text, []byte("attach holder")) {
			seed = "\x01"
		}
		for line := range strings.Lines(string(text)) {
			who, said, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "> "), " ")
			if letter := letters[who]; letter != "" && strings.HasPrefix(line, ">") {
				seed += letter + said + "\n"
			}
		}
		seeds = append(seeds, seed)
	}
	return seeds
}

// fuzzed is a router with every kind of peer, each at the other end of a pipe.
type fuzzed struct {
	t       *testing.T
	router  *router.Router
	journal *trace.Journal
	follow  *trace.Follower
	faults  *faults
	peers   map[byte]protocol.Conn
	reading sync.WaitGroup
	ids     []string // the router's own, in the order of their coming

	document bool // the server's own answers

	last     int64          // the newest entry that was read
	requests map[string]int // of the agent, by tx_id
	answers  map[string]int
}

func newFuzzed(t *testing.T, setup byte) *fuzzed {
	t.Helper()
	fz := &fuzzed{
		t: t, journal: trace.NewJournal("s"), faults: &faults{}, peers: map[byte]protocol.Conn{},
		requests: map[string]int{}, answers: map[string]int{},
	}
	fz.follow = fz.journal.Follow()
	runs := notebook.NewExecutions(notebook.ExecutionsConfig{})
	fz.router = router.New(fz.journal, runs, fuzzConfig(setup, fz))
	fz.join('a', func(c protocol.Conn) (*router.Peer, error) { return fz.router.AttachAgent(c) })
	fz.join('k', func(c protocol.Conn) (*router.Peer, error) { return fz.router.AttachKernel(c, setup&withOld != 0) })
	for i, letter := range []byte("rs") {
		fz.join(letter, func(c protocol.Conn) (*router.Peer, error) {
			return fz.router.AttachConsole(c, 1+i, func(int, bool) (body, recorded []byte) { return []byte(`{"type":"ready"}`), []byte(`{"type":"ready"}`) })
		})
	}
	switch {
	case setup&withHolder != 0:
		fz.join('h', func(c protocol.Conn) (*router.Peer, error) { return fz.router.AttachHolder(c, 3, "1", 1) })
	case setup&withPuppet != 0:
		fz.join('d', fz.router.AttachDocument)
	default:
		fz.serveDocument(runs)
	}
	if setup&withHolder == 0 {
		fz.join('v', func(c protocol.Conn) (*router.Peer, error) {
			return fz.router.AttachView(c, 4, 1, func() ([]byte, *trace.Follower) {
				return []byte(`{"type":"notebook_state"}`), fz.journal.Follow()
			})
		})
	}
	return fz
}

func fuzzConfig(setup byte, fz *fuzzed) router.Config {
	cfg := router.Config{Shared: setup&withOwner == 0, Log: slog.New(fz.faults), RestartChild: func(name string) error {
		if name != "kernel" {
			return errors.New("there is no " + name)
		}
		fz.router.ResendHello()
		return nil
	}}
	if setup&withLimit != 0 {
		cfg.MaxFrameBytes = 300
	}
	if setup&withoutTime != 0 {
		cfg.DocumentTimeout, cfg.HolderTimeout, cfg.CellTimeout, cfg.StaleDelay = time.Millisecond, time.Millisecond, time.Millisecond, time.Nanosecond
	}
	return cfg
}

// join attaches a peer, reads all that it is sent and checks that.
func (fz *fuzzed) join(letter byte, attach func(protocol.Conn) (*router.Peer, error)) {
	ours, theirs := protocol.Pipe()
	_, err := attach(ours)
	require.NoError(fz.t, err)
	fz.peers[letter] = theirs
	fz.reading.Go(func() {
		decoder := protocol.NewEnvelopeDecoder()
		for {
			body, err := theirs.Read()
			if err != nil {
				return
			}
			if _, err := decoder.Decode(body); err != nil {
				fz.faults.add(fmt.Sprintf("%c was sent %.200q: %v", letter, body, err))
			}
		}
	})
}

func (fz *fuzzed) serveDocument(runs *notebook.Executions) {
	made := 0
	document := notebook.NewDocument(notebook.DocumentConfig{
		Executions: runs, NewCellID: func() string { made++; return fmt.Sprintf("cell-%d", made) },
		OnEvent: func(e notebook.Event) {
			fz.journal.Append(trace.Entry{Hop: trace.HopNotebook, Envelope: protocol.Envelope{Type: notebook.EventType, Action: e.Kind}, Body: e.JSON()})
		},
	})
	fz.document = true
	ours, theirs := protocol.Pipe()
	_, err := fz.router.AttachDocument(ours)
	require.NoError(fz.t, err)
	fz.reading.Go(func() {
		if err := document.Serve(theirs); err != nil {
			fz.faults.add("the document broke off: " + err.Error())
		}
	})
}

// say lets a peer say something, and returns when that has been routed: the
// reader takes the nothing behind it only then.
func (fz *fuzzed) say(line []byte) {
	if len(line) < 2 || fz.peers[line[0]] == nil {
		return
	}
	fz.see()
	body := ownID().ReplaceAllFunc(line[1:], func(id []byte) []byte {
		n, _ := strconv.Atoi(string(id[len("eval_"):]))
		if n < 1 || n > len(fz.ids) {
			return id
		}
		return []byte(fz.ids[n-1])
	})
	for _, body := range [][]byte{body, []byte("nothing")} {
		require.NoError(fz.t, fz.peers[line[0]].Write(body))
	}
}

func ownID() *regexp.Regexp { return regexp.MustCompile(`eval_[0-9]{1,3}\b`) }

// see reads what has been entered in the trace.
func (fz *fuzzed) see() {
	for e := fz.follow.TryNext(); e != nil; e = fz.follow.TryNext() {
		fz.count(e)
	}
}

func (fz *fuzzed) count(e *trace.Entry) {
	require.Equal(fz.t, fz.last+1, e.Seq)
	fz.last = e.Seq
	switch {
	case e.Hop == trace.ServerToKernel && e.AgentTxID != "":
		fz.ids = append(fz.ids, e.AgentTxID)
	case e.Hop == trace.AgentToServer && e.Type == protocol.TypeAgentAction && e.TxID != "":
		fz.requests[e.TxID]++
	case e.Hop == trace.ServerToAgent && e.Type == protocol.TypeActionResponse:
		fz.answers[e.TxID]++
	}
}

// settle waits until every action has been answered, as far as deadlines do that.
func (fz *fuzzed) settle() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for fz.see(); !maps.Equal(fz.requests, fz.answers); {
		e, err := fz.follow.Next(ctx)
		require.NoError(fz.t, err, "asked: %v, answered: %v", fz.requests, fz.answers)
		fz.count(e)
	}
}

// end closes the router, which must not take longer than its grace, behind what
// the server's own document has been asked.
func (fz *fuzzed) end() {
	if fz.document {
		_, _ = fz.router.Ask(context.Background(), "get_context", nil) // a failure is an answer too
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		fz.router.Close(protocol.CloseGoingAway, "over")
	}()
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		require.Fail(fz.t, "Close hangs")
	}
	for _, conn := range fz.peers {
		_ = conn.Close(protocol.CloseNormal, "")
	}
	fz.reading.Wait()
}

func (fz *fuzzed) check() {
	fz.see()
	require.Empty(fz.t, fz.faults.all())
	require.Equal(fz.t, fz.requests, fz.answers, "each action is answered once")
}

// faults takes the router's log and keeps what is a fault of the router. It is
// safe for concurrent use.
type faults struct {
	mu   sync.Mutex
	list []string
}

func (f *faults) add(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, text)
}

func (f *faults) all() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.list
}

func (f *faults) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }

func (f *faults) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += fmt.Sprintf(" %s=%.2000s", a.Key, a.Value)
		return true
	})
	f.add(text)
	return nil
}

func (f *faults) WithAttrs([]slog.Attr) slog.Handler { return f }

func (f *faults) WithGroup(string) slog.Handler { return f }
