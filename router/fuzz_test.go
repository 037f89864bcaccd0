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

// Bits of the first byte of a fuzz input, which sets up the router.
const (
	withHolder              = 1 << iota // a console holds the document; otherwise the server does
	withFuzzedDocument                  // without withHolder: the frames of the server's document are fuzzed too
	withOwner                           // the session is not shared: some requests are the owner's only
	withSmallFrames                     // messages have at most 300 bytes
	withShortTimeouts                   // requests time out after 1 ms
	withKernelTakingActions             // the kernel is asked for summaries by agent_action
)

// FuzzFrames lets peers send anything. No message may make the router panic, all
// that the router sends must be well formed, each action of the agent must be
// answered once, and Close must return.
//
// Each line of an input is the letter of a peer and a frame: a(gent), k(ernel),
// r(un console), s(econd run console), v(iew), h(older) and d(ocument). As in the
// transcripts, eval_1 is the first id that the router made.
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
		fz := newFuzzSession(t, input[0])
		for line := range bytes.SplitSeq(input[1:], []byte("\n")) {
			fz.sendLine(line)
		}
		if input[0]&withShortTimeouts != 0 {
			fz.awaitAnswers()
		}
		fz.close()
		fz.requireNoFaults()
	})
}

// frameSeeds returns fuzz inputs that once broke the router, and inputs of kinds that the
// transcripts lack: raw frames, deep nesting, repeated fields.
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

// transcriptSeeds returns a fuzz input for each transcript in testdata: the messages that its
// peers send to the router.
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

// fuzzSession is a router with a peer of every kind, for fuzzing. The test holds the other ends
// of the peers' connections.
type fuzzSession struct {
	t           *testing.T
	router      *router.Router
	journal     *trace.Journal
	follower    *trace.Follower
	faults      *faultLog
	peers       map[byte]protocol.Conn
	readers     sync.WaitGroup
	serverTxIDs []string // ids that the router made, in the order in which they were seen

	hasServerDocument bool // the server's own document is attached and answers

	lastSeq       int64          // of the newest entry that was read
	requestCounts map[string]int // actions of the agent, by tx_id
	answerCounts  map[string]int // answers to the agent, by tx_id
}

// newFuzzSession makes a router and attaches its peers. setup is a set of bits; the constants
// withHolder, withOwner and so on say what each bit means.
func newFuzzSession(t *testing.T, setup byte) *fuzzSession {
	t.Helper()
	fz := &fuzzSession{
		t: t, journal: trace.NewJournal("s"), faults: &faultLog{}, peers: map[byte]protocol.Conn{},
		requestCounts: map[string]int{}, answerCounts: map[string]int{},
	}
	fz.follower = fz.journal.Follow()
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
	fz.router = router.New(fz.journal, executions, fuzzConfig(setup, fz))
	fz.attachPeer('a', func(c protocol.Conn) (*router.Peer, error) { return fz.router.AttachAgent(c) })
	fz.attachPeer('k', func(c protocol.Conn) (*router.Peer, error) {
		return fz.router.AttachKernel(c, protocol.Ready{Actions: setup&withKernelTakingActions != 0})
	})
	for i, letter := range []byte("rs") {
		fz.attachPeer(letter, func(c protocol.Conn) (*router.Peer, error) {
			return fz.router.AttachConsole(c, 1+i, fixedHello)
		})
	}
	switch {
	case setup&withHolder != 0:
		fz.attachPeer('h', func(c protocol.Conn) (*router.Peer, error) { return fz.router.AttachHolder(c, 3, "1", 1) })
	case setup&withFuzzedDocument != 0:
		fz.attachPeer('d', fz.router.AttachDocument)
	default:
		fz.serveDocument(executions)
	}
	if setup&withHolder == 0 {
		fz.attachPeer('v', func(c protocol.Conn) (*router.Peer, error) {
			return fz.router.AttachView(c, 4, 1, func() ([]byte, *trace.Follower) {
				return []byte(`{"type":"notebook_state"}`), fz.journal.Follow()
			})
		})
	}
	return fz
}

// fuzzConfig returns the router's Config for a fuzz input with these setup bits.
func fuzzConfig(setup byte, fz *fuzzSession) router.Config {
	cfg := router.Config{Shared: setup&withOwner == 0, Log: slog.New(fz.faults), RestartChild: func(name string) error {
		if name != "kernel" {
			return errors.New("there is no " + name)
		}
		fz.router.ResendHello()
		return nil
	}}
	if setup&withSmallFrames != 0 {
		cfg.MaxFrameBytes = 300
	}
	if setup&withShortTimeouts != 0 {
		cfg.RequestTimeout, cfg.HolderTimeout, cfg.CellTimeout, cfg.StaleDelay = time.Millisecond, time.Millisecond, time.Millisecond, time.Nanosecond
	}
	return cfg
}

// attachPeer attaches the peer with this letter to the fuzzed router and starts a goroutine that
// records a fault if the router sends the peer a malformed message.
func (fz *fuzzSession) attachPeer(letter byte, attach func(protocol.Conn) (*router.Peer, error)) {
	ours, theirs := protocol.Pipe()
	_, err := attach(ours)
	require.NoError(fz.t, err)
	fz.peers[letter] = theirs
	fz.readers.Go(func() {
		decoder := protocol.NewEnvelopeDecoder()
		for {
			body, err := theirs.Read()
			if err != nil {
				return
			}
			if _, err := decoder.Decode(body); err != nil {
				fz.faults.addFault(fmt.Sprintf("%c was sent %.200q: %v", letter, body, err))
			}
		}
	})
}

// serveDocument attaches a notebook.Document as the server's own document to the fuzzed router
// and serves it until the connection ends.
func (fz *fuzzSession) serveDocument(executions *notebook.Executions) {
	made := 0
	document := notebook.NewDocument(notebook.DocumentConfig{
		Executions: executions, NewCellID: func() string { made++; return fmt.Sprintf("cell-%d", made) },
		OnEvent: func(e notebook.Event) {
			fz.journal.Append(trace.Entry{Hop: trace.HopNotebook, Envelope: protocol.Envelope{Type: notebook.EventType, Action: e.Kind}, Body: e.JSON()})
		},
	})
	fz.hasServerDocument = true
	ours, theirs := protocol.Pipe()
	_, err := fz.router.AttachDocument(ours)
	require.NoError(fz.t, err)
	fz.readers.Go(func() {
		if err := document.Serve(theirs); err != nil {
			fz.faults.addFault("the document failed: " + err.Error())
		}
	})
}

// sendLine sends the frame in one line of a fuzz input from the peer that the line's first letter
// names. It returns when the router has routed the frame: it also sends the text "nothing",
// which the peer's goroutine reads only after that.
func (fz *fuzzSession) sendLine(line []byte) {
	if len(line) < 2 || fz.peers[line[0]] == nil {
		return
	}
	fz.readTrace()
	body := serverIDPlaceholder().ReplaceAllFunc(line[1:], func(id []byte) []byte {
		n, _ := strconv.Atoi(string(id[len("eval_"):]))
		if n < 1 || n > len(fz.serverTxIDs) {
			return id
		}
		return []byte(fz.serverTxIDs[n-1])
	})
	for _, body := range [][]byte{body, []byte("nothing")} {
		require.NoError(fz.t, fz.peers[line[0]].Write(body))
	}
}

// serverIDPlaceholder matches the placeholders eval_1, eval_2 and so on, which stand for the
// router's random ids in fuzz inputs.
func serverIDPlaceholder() *regexp.Regexp { return regexp.MustCompile(`eval_[0-9]{1,3}\b`) }

// readTrace reads the trace's new entries and counts the agent's requests and the answers to
// them.
func (fz *fuzzSession) readTrace() {
	for e := fz.follower.TryNext(); e != nil; e = fz.follower.TryNext() {
		fz.countActionEntry(e)
	}
}

// countActionEntry counts a trace entry if it is a request of the agent or an answer to one, and
// remembers the ids that the router gave its requests to the kernel.
func (fz *fuzzSession) countActionEntry(e *trace.Entry) {
	require.Equal(fz.t, fz.lastSeq+1, e.Seq)
	fz.lastSeq = e.Seq
	switch {
	case e.Hop == trace.ServerToKernel && e.AgentTxID != "":
		fz.serverTxIDs = append(fz.serverTxIDs, e.AgentTxID)
	case e.Hop == trace.AgentToServer && e.Type == protocol.TypeAgentAction && e.TxID != "":
		fz.requestCounts[e.TxID]++
	case e.Hop == trace.ServerToAgent && e.Type == protocol.TypeActionResponse:
		fz.answerCounts[e.TxID]++
	}
}

// awaitAnswers waits until every action of the agent has been answered, at the latest when its
// deadline passes. It fails the test after 10 s.
func (fz *fuzzSession) awaitAnswers() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for fz.readTrace(); !maps.Equal(fz.requestCounts, fz.answerCounts); {
		e, err := fz.follower.Next(ctx)
		require.NoError(fz.t, err, "asked: %v, answered: %v", fz.requestCounts, fz.answerCounts)
		fz.countActionEntry(e)
	}
}

// close waits until the server's own document has answered everything, then closes the fuzzed
// router and all connections. It fails the test if closing takes more than 10 s.
func (fz *fuzzSession) close() {
	if fz.hasServerDocument {
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
	fz.readers.Wait()
}

// requireNoFaults fails the test if the router logged an error or sent a malformed message, or
// if an action of the agent was not answered exactly once.
func (fz *fuzzSession) requireNoFaults() {
	fz.readTrace()
	require.Empty(fz.t, fz.faults.allFaults())
	require.Equal(fz.t, fz.requestCounts, fz.answerCounts, "each action is answered once")
}

// faultLog is a log handler that keeps the texts of the router's errors, which are faults of
// the router, and drops all other records. It is safe for concurrent use.
type faultLog struct {
	mu    sync.Mutex
	texts []string
}

func (f *faultLog) addFault(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.texts = append(f.texts, text)
}

func (f *faultLog) allFaults() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.texts
}

func (f *faultLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }

func (f *faultLog) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += fmt.Sprintf(" %s=%.2000s", a.Key, a.Value)
		return true
	})
	f.addFault(text)
	return nil
}

func (f *faultLog) WithAttrs([]slog.Attr) slog.Handler { return f }

func (f *faultLog) WithGroup(string) slog.Handler { return f }
