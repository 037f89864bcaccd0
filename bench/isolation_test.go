//go:build bench

package bench_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"assay/internal/protocol"
)

const (
	// bystanders are the other sessions.
	bystanders = 8

	// bystanderPace is how often somebody asks, and isolatedFor for how long.
	bystanderPace = 4 * time.Millisecond
	isolatedFor   = 3 * time.Second

	// printPace is how often a kernel prints printedSize bytes.
	printPace   = 2500 * time.Microsecond
	printedSize = 16 << 10
)

// trouble is a session that has trouble, in a house with others.
type trouble struct {
	*house
	kernel protocol.Conn
	others []*line // of the other sessions: a console asks the agent
	same   *line   // of this one: the agent asks for the notebook
	runs   int
}

// ordeal is a trouble, and which other the times with it are compared with.
type ordeal struct {
	name   string
	beside int
	begin  func(t *testing.T) (end func())
	aim    string

	others, same series
	waited       int // for one of the session, at most, in bytes
}

// measureIsolation measures whether one who is slow slows others.
func measureIsolation(t *testing.T, r *report, p *program) {
	t.Helper()
	s := newTrouble(t, p)
	stalled := func(path, hello string) func(t *testing.T) func() {
		return func(t *testing.T) func() {
			t.Helper()
			connect(t, s.at, path, hello)
			return s.print(t)
		}
	}
	nothing := func(*testing.T) func() { return func() {} }
	ordeals := []ordeal{
		{name: "nothing", begin: nothing},
		{name: "nothing, again: the noise", begin: nothing},
		{name: fmt.Sprintf("its kernel is busy: %d requests wait", inFlight), begin: s.busy, aim: "1.00 x"},
		{name: "its kernel prints, everybody reads", begin: s.print}, // which is work, and no trouble
		{name: "its kernel prints, a console at /run reads nothing", beside: 3, begin: stalled("/run?session=0", runHello), aim: "1.00 x"},
		{name: "its kernel prints, a watcher reads nothing", beside: 3, begin: stalled("/watch?session=0", ""), aim: "1.00 x"},
	}
	for range 3 {
		for i := range ordeals {
			o := &ordeals[i]
			t.Run(o.name, func(t *testing.T) { s.undergo(t, o) })
		}
	}
	table := [][]string{{"one session's trouble", "beside", "others p50", "p99", "p99 ratio", "spread", "same session p50", "p99", "p99 ratio", "spread", "aim", "waited for one"}}
	for i, o := range ordeals {
		row := []string{o.name, "", o.others.show(50), o.others.show(99), "", "", o.same.show(50), o.same.show(99), "", "", "", fmt.Sprintf("%d KiB", o.waited>>10)}
		if i > 0 {
			row[1], row[10] = ordeals[o.beside].name, o.aim
			row[4], row[5] = over(o.others.each(99), ordeals[o.beside].others.each(99))
			row[8], row[9] = over(o.same.each(99), ordeals[o.beside].same.each(99))
		}
		table = append(table, row)
	}
	r.section("Who is slow, and who is not slowed",
		fmt.Sprintf("%d sessions, in each of which a console asks the agent (*query*, 200 B) every %v, and one more, which has trouble and whose agent\n"+
			"asks for the notebook as often (*same session*); a view of it reads what comes. Each trouble lasts %v; 3 rounds of all of them. A\n"+
			"kernel that prints prints %d KiB every %v. A console that reads nothing is sent away when 8 MiB wait for it.",
			bystanders, bystanderPace, isolatedFor, printedSize>>10, printPace))
	r.table(table...)
}

func newTrouble(t *testing.T, p *program) *trouble {
	t.Helper()
	h := newHouse(t, p, bystanders+1)
	s := &trouble{house: h, kernel: h.session(0).kernel.borrow(t)}
	query := conversations()[0]
	s.others = query.lines(t, bystanders, func(i int) ends { return h.ends(t, i+1, query.hello) })
	for _, l := range s.others {
		l.frame = query.frame(200)
	}
	reader := h.console(t, 0, "agent", viewHello) // and so the server holds the notebook
	_, err := reader.Read()
	require.NoError(t, err)
	inBackground(t, []protocol.Conn{reader}, func() { copyFrames(reader, nobody{}) })
	s.same = &line{asker: h.session(0).agent.borrow(t), frame: contextFrame()}
	return s
}

// nobody takes every frame.
type nobody struct{ protocol.Conn }

func (nobody) Write([]byte) error { return nil }

// undergo measures with a trouble.
func (s *trouble) undergo(t *testing.T, o *ordeal) {
	t.Helper()
	defer o.begin(t)()
	var others, same []time.Duration
	waited := 0
	var all errgroup.Group
	all.Go(func() (err error) { others, err = paced(s.others, bystanderPace, isolatedFor); return err })
	all.Go(func() (err error) { same, err = paced([]*line{s.same}, bystanderPace, isolatedFor); return err })
	all.Go(func() error { waited = s.longestQueue(isolatedFor); return nil })
	require.NoError(t, all.Wait())
	o.others.rounds, o.same.rounds = append(o.others.rounds, others), append(o.same.rounds, same)
	o.waited = max(o.waited, waited)
	t.Logf("others %s, same session %s; %d KiB waited for one", show(percentile(others, 99)), show(percentile(same, 99)), waited>>10)
}

// longestQueue is how many bytes wait for somebody of the session at most.
func (s *trouble) longestQueue(within time.Duration) (longest int) {
	const every = 50 * time.Millisecond
	tick := time.NewTicker(every)
	defer tick.Stop()
	for range within / every {
		<-tick.C
		for _, depth := range s.session(0).Router().QueueDepths() {
			longest = max(longest, depth.Bytes)
		}
	}
	return longest
}

// busy lets requests of the agent wait for the kernel until the end.
func (s *trouble) busy(t *testing.T) (end func()) {
	t.Helper()
	for i := range inFlight {
		require.NoError(t, s.same.asker.Write(fmt.Appendf(nil,
			`{"type":"agent_action","action":"get_global_info","params":{"key":"x"},"tx_id":"busy_%d"}`, i)))
	}
	asked := make([]string, 0, inFlight)
	for len(asked) < inFlight {
		frame, err := s.kernel.Read()
		require.NoError(t, err)
		env, err := protocol.NewEnvelopeDecoder().Decode(frame)
		require.NoError(t, err)
		if env.Type == protocol.TypeGetGlobalInfo {
			asked = append(asked, env.AgentTxID)
		}
	}
	return func() {
		for _, id := range asked {
			require.NoError(t, s.kernel.Write(fmt.Appendf(nil, `{"type":"get_global_info_response","agent_tx_id":%q,"status":"success","info":{}}`, id)))
		}
	}
}

// print lets the kernel print until the end.
func (s *trouble) print(t *testing.T) (end func()) {
	t.Helper()
	s.runs++
	begin := fmt.Sprintf(`{"type":"start_cell","cell_id":"c","run_sequencer":%d}`, s.runs)
	text := fmt.Sprintf(`{"type":"kernel_stdio","active_cell":"c","stream":"stdout","data":%q}`, strings.Repeat("total 12345678\n", printedSize/15))
	result := fmt.Sprintf(`{"type":"cell_result","cell_id":"c","run_sequencer":%d,"status":"ok","has_exception":false}`, s.runs)
	stop, printing := make(chan struct{}), errgroup.Group{}
	printing.Go(func() error {
		tick := time.NewTicker(printPace)
		defer tick.Stop()
		for frame := begin; ; frame = text {
			if err := s.kernel.Write([]byte(frame)); err != nil {
				return err
			}
			select {
			case <-tick.C:
			case <-stop:
				return s.kernel.Write([]byte(result))
			}
		}
	})
	return func() {
		close(stop)
		require.NoError(t, printing.Wait())
	}
}
