package metrics_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/router"
	"assay/server/metrics"
)

func TestCountsFrames(t *testing.T) {
	t.Parallel()
	require.Equal(t, map[string]float64{
		"sessions_total{}":                               1,
		"frames_total{kernel>server,kernel_stdio}":       2,
		"frame_bytes_total{kernel>server,kernel_stdio}":  30,
		"frames_total{server>agent,kernel_message}":      1,
		"frame_bytes_total{server>agent,kernel_message}": 25,
		"frames_total{agent>server,other}":               3,
		"frame_bytes_total{agent>server,other}":          61,
		"frames_noted_total{relayed}":                    1,
		"frames_noted_total{malformed}":                  1,
	}, seriesOfSession(t,
		trace.Entry{Hop: trace.KernelToServer, Envelope: protocol.Envelope{Type: "kernel_stdio"}, BodyBytes: 10},
		trace.Entry{Hop: trace.KernelToServer, Envelope: protocol.Envelope{Type: "kernel_stdio"}, BodyBytes: 20},
		frameEntry(t, trace.ServerToAgent, trace.NoteRelayed, `{"type":"kernel_message"}`),
		frameEntry(t, trace.AgentToServer, "", `{"type":"unknown_type1"}`),
		frameEntry(t, trace.AgentToServer, "", `{"type":"another_unknown"}`),
		trace.Entry{Hop: trace.AgentToServer, Note: trace.NoteMalformed, Body: []byte("not JSON!!!")},
	))
}

func TestMeasuresActions(t *testing.T) {
	t.Parallel()
	byServer := sessionEntry(t, "holder", `{"by":"server"}`)
	byConsole := trace.Entry{Hop: trace.HopSession, ConsoleID: 3, Envelope: protocol.Envelope{Type: "holder"}}
	for name, tc := range map[string]struct {
		entries []trace.Entry
		want    map[string]float64
	}{
		"the server's own notebook": {
			[]trace.Entry{byServer, actionEntry(t, "", "get_context", "a"), responseEntry(t, "", "success", "a")},
			map[string]float64{"request_seconds{get_context,notebook}": 1},
		},
		"a console": {
			[]trace.Entry{byConsole, actionEntry(t, "", "create_cell", "a"), responseEntry(t, "", "error", "a")},
			map[string]float64{"request_seconds{create_cell,console}": 1},
		},
		"asked before a console connected": {
			[]trace.Entry{actionEntry(t, "", "create_cell", "a"), byConsole, responseEntry(t, "", "success", "a")},
			map[string]float64{"request_seconds{create_cell,console}": 1},
		},
		"no console ever connected": {
			[]trace.Entry{actionEntry(t, "", "run_cell", "a"), responseEntry(t, trace.NoteTimedOut, "error", "a")},
			map[string]float64{"request_seconds{run_cell,console}": 1, "deadlines_missed_total{console}": 1},
		},
		"the kernel": {
			[]trace.Entry{
				byServer,
				actionEntry(t, trace.NoteIntercepted, "execute_code", "a"), actionEntry(t, trace.NoteIntercepted, "request_globals_summary", "b"),
				responseEntry(t, trace.NoteTimedOut, "error", "b"), responseEntry(t, "", "success", "a"),
			},
			map[string]float64{
				"request_seconds{execute_code,kernel}": 1, "request_seconds{request_globals_summary,kernel}": 1,
				"deadlines_missed_total{kernel}": 1,
			},
		},
		"no such action": {
			[]trace.Entry{byServer, actionEntry(t, "", "make_coffee", "a"), responseEntry(t, "", "error", "a")},
			map[string]float64{"request_seconds{other,server}": 1},
		},
		"a tx_id in flight used again: the refusal is not the answer": {
			[]trace.Entry{
				byServer, actionEntry(t, trace.NoteIntercepted, "execute_code", "a"), actionEntry(t, trace.NoteTamper, "get_context", "a"),
				responseEntry(t, "", "error", "a"), responseEntry(t, trace.NoteTimedOut, "error", "a"), responseEntry(t, "", "error", "a"),
			},
			map[string]float64{"request_seconds{execute_code,kernel}": 1, "deadlines_missed_total{kernel}": 1},
		},
		"a tx_id reserved for the server": {
			[]trace.Entry{byServer, actionEntry(t, trace.NoteTamper, "get_context", "eval_1"), responseEntry(t, "", "error", "eval_1")},
			map[string]float64{},
		},
		"an action without tx_id": {[]trace.Entry{actionEntry(t, "", "run_cell", ""), responseEntry(t, "", "success", "")}, map[string]float64{}},
		"an answer to no action":  {[]trace.Entry{responseEntry(t, trace.NoteTimedOut, "error", "a")}, map[string]float64{"deadlines_missed_total{other}": 1}},
		"a tx_id used again after its answer": {
			[]trace.Entry{
				byServer, actionEntry(t, "", "get_context", "a"), responseEntry(t, "", "success", "a"),
				actionEntry(t, "", "get_context", "a"), responseEntry(t, "", "success", "a"),
			},
			map[string]float64{"request_seconds{get_context,notebook}": 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := map[string]float64{}
			for name, value := range seriesOfSession(t, tc.entries...) {
				if strings.HasPrefix(name, "request") || strings.HasPrefix(name, "deadlines") {
					got[name] = value
				}
			}
			require.Equal(t, tc.want, got)
		})
	}
}

func TestActionDuration(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := metrics.NewRegistry()
		journal := trace.NewJournal("s")
		counter := m.NewSessionCounter(journal)
		journal.Append(actionEntry(t, trace.NoteIntercepted, "execute_code", "a"))
		<-time.After(7 * time.Second)
		journal.Append(responseEntry(t, "", "success", "a"))
		journal.Close()
		counter.Run(t.Context())
		answer := httptest.NewRecorder()
		m.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		require.Contains(t, answer.Body.String(), `assay_request_seconds_sum{action="execute_code",hop="kernel"} 7`+"\n")
		require.Contains(t, answer.Body.String(), `assay_request_seconds_bucket{action="execute_code",hop="kernel",le="5"} 0`+"\n")
		require.Contains(t, answer.Body.String(), `assay_request_seconds_bucket{action="execute_code",hop="kernel",le="8"} 1`+"\n")
	})
}

func TestCountsChildProcesses(t *testing.T) {
	t.Parallel()
	kernelReady := frameEntry(t, trace.KernelToServer, "", `{"type":"ready"}`)
	agentReady := frameEntry(t, trace.AgentToServer, "", `{"type":"ready"}`)
	exit := func(name string) trace.Entry {
		return sessionEntry(t, "managed_process_exit", fmt.Sprintf(`{"name":%q,"exit_code":1}`, name))
	}
	state := func(state string) trace.Entry { return sessionEntry(t, "state", fmt.Sprintf(`{"state":%q}`, state)) }
	restart := frameEntry(t, trace.ConsoleToServer, "", `{"type":"managed_process_restart","name":"kernel"}`)
	for name, tc := range map[string]struct {
		entries []trace.Entry
		want    map[string]float64
	}{
		"until the session ends": {
			[]trace.Entry{state("starting"), kernelReady, agentReady, state("working"), state("collecting"), exit("agent"), state("ended"), exit("kernel")},
			map[string]float64{"started_total{agent}": 1, "started_total{kernel}": 1},
		},
		"killed while working": {
			[]trace.Entry{kernelReady, agentReady, state("working"), exit("kernel"), state("ended"), exit("agent")},
			map[string]float64{"started_total{agent}": 1, "started_total{kernel}": 1, "died_total{kernel}": 1},
		},
		"restarted by a console": {
			[]trace.Entry{kernelReady, state("working"), restart, exit("kernel"), kernelReady, exit("agent")},
			map[string]float64{"started_total{kernel}": 2},
		},
		"an agent that sends ready several times": {
			[]trace.Entry{agentReady, agentReady, agentReady},
			map[string]float64{"started_total{agent}": 1},
		},
		"an agent that claims to be the session": {
			[]trace.Entry{
				agentReady, frameEntry(t, trace.AgentToServer, "", `{"type":"managed_process_exit","name":"agent"}`),
				frameEntry(t, trace.AgentToServer, "", `{"type":"state","state":"ended"}`), exit("agent"),
			},
			map[string]float64{"started_total{agent}": 1, "died_total{agent}": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, seriesWithPrefix(t, "children_", tc.entries...), "no child counts as running after the session")
		})
	}
}

func TestLiveSessionGauges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testLiveSessionGauges)
}

func testLiveSessionGauges(t *testing.T) {
	t.Helper()
	m := metrics.NewRegistry()
	journal := trace.NewJournal("s")
	counter := m.NewSessionCounter(journal)
	removeFirst := m.AddQueues(func() []router.QueueDepth {
		return []router.QueueDepth{{PeerName: "agent", Frames: 2, Bytes: 30}, {PeerName: "run", ConsoleID: 1, Frames: 1, Bytes: 1}, {PeerName: "run", ConsoleID: 2, Frames: 4, Bytes: 9}}
	})
	removeSecond := m.AddQueues(func() []router.QueueDepth { return []router.QueueDepth{{PeerName: "agent", Frames: 1, Bytes: 5}} })
	removeConsole := m.AddConsole("run")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		counter.Run(ctx)
	}()
	journal.Append(frameEntry(t, trace.KernelToServer, "", `{"type":"ready"}`))
	<-time.After(time.Second) // longer than batchDelay
	got := scrapeMetrics(t, m)
	require.Positive(t, got["go_goroutines{}"])
	require.Positive(t, got["process_open_fds{}"])
	for name, want := range map[string]float64{
		"sessions{}": 1, "consoles{run}": 1, "children_running{kernel}": 1,
		"queue_frames{agent}": 3, "queue_bytes{agent}": 35, "queue_frames{run}": 5, "queue_bytes{run}": 10,
	} {
		require.InDelta(t, want, got["assay_"+name], 0, name)
	}
	removeConsole()
	removeFirst()
	removeSecond()
	cancel()
	<-ended
	left := nonZeroSeries(scrapeMetrics(t, m))
	for _, name := range []string{"sessions{}", "consoles{run}", "queue_frames{agent}", "children_running{kernel}"} {
		require.NotContains(t, left, name)
	}
}

// An agent that leaves more than maxPendingActions actions unanswered does not
// make the counter grow: the actions beyond are counted as unmeasured.
func TestPendingActionsAreBounded(t *testing.T) {
	t.Parallel()
	const beyond = 1000
	m := metrics.NewRegistry()
	count := m.NewSessionCounter(trace.NewJournal("s")).CountEntry
	for i := range metrics.MaxPendingActions + beyond {
		entry := actionEntry(t, "", "get_context", fmt.Sprint("tx", i))
		count(&entry)
	}
	for i := range metrics.MaxPendingActions + beyond {
		entry := responseEntry(t, "", "success", fmt.Sprint("tx", i))
		count(&entry)
	}
	got := scrapeMetrics(t, m)
	require.InDelta(t, beyond, got["assay_requests_unmeasured_total{}"], 0)
	require.InDelta(t, metrics.MaxPendingActions, got["assay_request_seconds{get_context,console}"], 0)
}

// Types and actions that an agent makes up share the label "other", so that they
// add no time series.
func TestUnknownNamesAddNoSeries(t *testing.T) {
	t.Parallel()
	m := metrics.NewRegistry()
	count := m.NewSessionCounter(trace.NewJournal("s")).CountEntry
	countUnknown := func(i int) {
		for _, entry := range []trace.Entry{
			frameEntry(t, trace.AgentToServer, "", fmt.Sprintf(`{"type":"type-%d"}`, i)),
			actionEntry(t, "", fmt.Sprint("action-", i), fmt.Sprint(i)), responseEntry(t, "", "error", fmt.Sprint(i)),
		} {
			count(&entry)
		}
	}
	countUnknown(0)
	before := len(scrapeMetrics(t, m))
	for i := range 2000 {
		countUnknown(i + 1)
	}
	got := scrapeMetrics(t, m)
	require.Len(t, got, before)
	require.InDelta(t, 2001, got["assay_request_seconds{other,server}"], 0)
}

func BenchmarkCountEntry(b *testing.B) {
	for name, entries := range map[string][]trace.Entry{
		"stdio":   {frameEntry(b, trace.KernelToServer, "", `{"type":"kernel_stdio"}`)},
		"unknown": {frameEntry(b, trace.AgentToServer, "", `{"type":"made_up"}`)},
		"request": {actionEntry(b, trace.NoteIntercepted, "get_global_info", "tx_0123456789ab"), responseEntry(b, "", "success", "tx_0123456789ab")},
	} {
		b.Run(name, func(b *testing.B) {
			count := metrics.NewRegistry().NewSessionCounter(trace.NewJournal("s")).CountEntry
			b.ReportAllocs()
			for b.Loop() {
				for i := range entries {
					count(&entries[i])
				}
			}
		})
	}
}

// BenchmarkAppendAndCount measures one entry from its append to the journal to its
// count, which happens in another goroutine.
func BenchmarkAppendAndCount(b *testing.B) {
	m := metrics.NewRegistry()
	journal := trace.NewJournal("s")
	counter := m.NewSessionCounter(journal)
	done := make(chan struct{})
	go func() {
		defer close(done)
		counter.Run(b.Context())
	}()
	entry := frameEntry(b, trace.KernelToServer, "", `{"type":"kernel_stdio"}`)
	b.ReportAllocs()
	for b.Loop() {
		journal.Append(entry)
	}
	journal.Close()
	<-done
}

// seriesWithPrefix is seriesOfSession for the series whose names begin with prefix, which is removed.
func seriesWithPrefix(t *testing.T, prefix string, entries ...trace.Entry) map[string]float64 {
	t.Helper()
	found := map[string]float64{}
	for name, value := range seriesOfSession(t, entries...) {
		if rest, hasPrefix := strings.CutPrefix(name, prefix); hasPrefix {
			found[rest] = value
		}
	}
	return found
}
