package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/router"
	"assay/server"
)

// scrape is /metrics: of each series its value, of a histogram how many.
func scrape(t *testing.T, m *server.Metrics) map[string]float64 {
	t.Helper()
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, answer.Code)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(answer.Body)
	require.NoError(t, err)
	series := map[string]float64{}
	for name, family := range families {
		for _, metric := range family.GetMetric() {
			series[name+labels(metric)] = value(metric)
		}
	}
	return series
}

func labels(metric *dto.Metric) string {
	var pairs []string
	for _, pair := range metric.GetLabel() {
		pairs = append(pairs, pair.GetValue())
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

func value(metric *dto.Metric) float64 {
	if histogram := metric.GetHistogram(); histogram != nil {
		return float64(histogram.GetSampleCount())
	}
	return metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
}

// ours leaves out what Go tells of the process, and what is 0.
func ours(series map[string]float64) map[string]float64 {
	left := map[string]float64{}
	for name, value := range series {
		if strings.HasPrefix(name, "assay_") && value != 0 {
			left[strings.TrimPrefix(name, "assay_")] = value
		}
	}
	return left
}

// seen is an entry of a journal, with its envelope read from the body.
func seen(tb testing.TB, hop trace.Hop, note trace.Note, body string) trace.Entry {
	tb.Helper()
	env, err := protocol.NewDecoder().Envelope([]byte(body))
	require.NoError(tb, err)
	entry := trace.Entry{Hop: hop, Note: note, Envelope: env, Body: []byte(body)}
	return entry
}

func happened(tb testing.TB, kind, body string) trace.Entry {
	tb.Helper()
	return trace.Entry{Hop: trace.Session, Envelope: protocol.Envelope{Type: kind}, Body: []byte(body)}
}

func action(tb testing.TB, note trace.Note, action, tx string) trace.Entry {
	tb.Helper()
	return seen(tb, trace.AgentToServer, note, fmt.Sprintf(`{"type":"agent_action","action":%q,"tx_id":%q}`, action, tx))
}

func response(tb testing.TB, note trace.Note, status, tx string) trace.Entry {
	tb.Helper()
	return seen(tb, trace.ServerToAgent, note, fmt.Sprintf(`{"type":"agent_action_response","tx_id":%q,"status":%q}`, tx, status))
}

// counted is what metrics tell of a session that went so.
func counted(t *testing.T, entries ...trace.Entry) map[string]float64 {
	t.Helper()
	m := server.NewMetrics()
	journal := trace.NewJournal("s")
	follow := m.Session(journal)
	for _, entry := range entries {
		journal.Append(entry)
	}
	journal.Close()
	follow(t.Context())
	return ours(scrape(t, m))
}

func TestMetricsCountFrames(t *testing.T) {
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
	}, counted(t,
		trace.Entry{Hop: trace.KernelToServer, Envelope: protocol.Envelope{Type: "kernel_stdio"}, Bytes: 10},
		trace.Entry{Hop: trace.KernelToServer, Envelope: protocol.Envelope{Type: "kernel_stdio"}, Bytes: 20},
		seen(t, trace.ServerToAgent, trace.Relayed, `{"type":"kernel_message"}`),
		seen(t, trace.AgentToServer, "", `{"type":"made_up_by_it"}`),
		seen(t, trace.AgentToServer, "", `{"type":"and_another_one"}`),
		trace.Entry{Hop: trace.AgentToServer, Note: trace.Malformed, Body: []byte("not JSON!!!")},
	))
}

func TestMetricsMeasureRequests(t *testing.T) {
	t.Parallel()
	byServer := happened(t, "holder", `{"by":"server"}`)
	byConsole := trace.Entry{Hop: trace.Session, Conn: 3, Envelope: protocol.Envelope{Type: "holder"}}
	for name, tc := range map[string]struct {
		entries []trace.Entry
		want    map[string]float64
	}{
		"the server's own notebook": {
			[]trace.Entry{byServer, action(t, "", "get_context", "a"), response(t, "", "success", "a")},
			map[string]float64{"request_seconds{get_context,notebook}": 1},
		},
		"a console": {
			[]trace.Entry{byConsole, action(t, "", "create_cell", "a"), response(t, "", "error", "a")},
			map[string]float64{"request_seconds{create_cell,console}": 1},
		},
		"asked before the console came": {
			[]trace.Entry{action(t, "", "create_cell", "a"), byConsole, response(t, "", "success", "a")},
			map[string]float64{"request_seconds{create_cell,console}": 1},
		},
		"no console ever came": {
			[]trace.Entry{action(t, "", "run_cell", "a"), response(t, trace.TimedOut, "error", "a")},
			map[string]float64{"request_seconds{run_cell,console}": 1, "deadlines_missed_total{console}": 1},
		},
		"the kernel": {
			[]trace.Entry{
				byServer,
				action(t, trace.Intercepted, "execute_code", "a"), action(t, trace.Intercepted, "request_globals_summary", "b"),
				response(t, trace.TimedOut, "error", "b"), response(t, "", "success", "a"),
			},
			map[string]float64{
				"request_seconds{execute_code,kernel}": 1, "request_seconds{request_globals_summary,kernel}": 1,
				"deadlines_missed_total{kernel}": 1,
			},
		},
		"no such action": {
			[]trace.Entry{byServer, action(t, "", "make_coffee", "a"), response(t, "", "error", "a")},
			map[string]float64{"request_seconds{other,server}": 1},
		},
		"an id in flight: the refusal is not the answer": {
			[]trace.Entry{
				byServer, action(t, trace.Intercepted, "execute_code", "a"), action(t, trace.Tamper, "get_context", "a"),
				response(t, "", "error", "a"), response(t, trace.TimedOut, "error", "a"), response(t, "", "error", "a"),
			},
			map[string]float64{"request_seconds{execute_code,kernel}": 1, "deadlines_missed_total{kernel}": 1},
		},
		"an id of the server's own": {
			[]trace.Entry{byServer, action(t, trace.Tamper, "get_context", "eval_1"), response(t, "", "error", "eval_1")},
			map[string]float64{},
		},
		"no answer is wanted":  {[]trace.Entry{action(t, "", "run_cell", ""), response(t, "", "success", "")}, map[string]float64{}},
		"an answer to nothing": {[]trace.Entry{response(t, trace.TimedOut, "error", "a")}, map[string]float64{"deadlines_missed_total{other}": 1}},
		"the same id again": {
			[]trace.Entry{
				byServer, action(t, "", "get_context", "a"), response(t, "", "success", "a"),
				action(t, "", "get_context", "a"), response(t, "", "success", "a"),
			},
			map[string]float64{"request_seconds{get_context,notebook}": 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := map[string]float64{}
			for name, value := range counted(t, tc.entries...) {
				if strings.HasPrefix(name, "request") || strings.HasPrefix(name, "deadlines") {
					got[name] = value
				}
			}
			require.Equal(t, tc.want, got)
		})
	}
}

func TestMetricsTimeARequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := server.NewMetrics()
		journal := trace.NewJournal("s")
		follow := m.Session(journal)
		journal.Append(action(t, trace.Intercepted, "execute_code", "a"))
		<-time.After(7 * time.Second)
		journal.Append(response(t, "", "success", "a"))
		journal.Close()
		follow(t.Context())
		answer := httptest.NewRecorder()
		m.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		require.Contains(t, answer.Body.String(), `assay_request_seconds_sum{action="execute_code",hop="kernel"} 7`+"\n")
		require.Contains(t, answer.Body.String(), `assay_request_seconds_bucket{action="execute_code",hop="kernel",le="5"} 0`+"\n")
		require.Contains(t, answer.Body.String(), `assay_request_seconds_bucket{action="execute_code",hop="kernel",le="8"} 1`+"\n")
	})
}

func TestMetricsCountChildren(t *testing.T) {
	t.Parallel()
	kernelReady := seen(t, trace.KernelToServer, "", `{"type":"ready"}`)
	agentReady := seen(t, trace.AgentToServer, "", `{"type":"ready"}`)
	exit := func(name string) trace.Entry {
		return happened(t, "managed_process_exit", fmt.Sprintf(`{"name":%q,"exit_code":1}`, name))
	}
	state := func(state string) trace.Entry { return happened(t, "state", fmt.Sprintf(`{"state":%q}`, state)) }
	restart := seen(t, trace.ConsoleToServer, "", `{"type":"managed_process_restart","name":"kernel"}`)
	for name, tc := range map[string]struct {
		entries []trace.Entry
		want    map[string]float64
	}{
		"to the end": {
			[]trace.Entry{state("starting"), kernelReady, agentReady, state("working"), state("collecting"), exit("agent"), state("ended"), exit("kernel")},
			map[string]float64{"started_total{agent}": 1, "started_total{kernel}": 1},
		},
		"killed at work": {
			[]trace.Entry{kernelReady, agentReady, state("working"), exit("kernel"), state("ended"), exit("agent")},
			map[string]float64{"started_total{agent}": 1, "started_total{kernel}": 1, "died_total{kernel}": 1},
		},
		"started anew": {
			[]trace.Entry{kernelReady, state("working"), restart, exit("kernel"), kernelReady, exit("agent")},
			map[string]float64{"started_total{kernel}": 2},
		},
		"an agent that says ready again and again": {
			[]trace.Entry{agentReady, agentReady, agentReady},
			map[string]float64{"started_total{agent}": 1},
		},
		"an agent that claims to be the session": {
			[]trace.Entry{
				agentReady, seen(t, trace.AgentToServer, "", `{"type":"managed_process_exit","name":"agent"}`),
				seen(t, trace.AgentToServer, "", `{"type":"state","state":"ended"}`), exit("agent"),
			},
			map[string]float64{"started_total{agent}": 1, "died_total{agent}": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := map[string]float64{}
			for name, value := range counted(t, tc.entries...) {
				if rest, ok := strings.CutPrefix(name, "children_"); ok {
					got[rest] = value
				}
			}
			require.Equal(t, tc.want, got, "and none runs when the session is over")
		})
	}
}

func TestMetricsOfALiveSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testLiveSession)
}

func testLiveSession(t *testing.T) {
	t.Helper()
	m := server.NewMetrics()
	journal := trace.NewJournal("s")
	follow := m.Session(journal)
	first := m.QueuesOf(func() []router.Depth {
		return []router.Depth{{Peer: "agent", Frames: 2, Bytes: 30}, {Peer: "run", Conn: 1, Frames: 1, Bytes: 1}, {Peer: "run", Conn: 2, Frames: 4, Bytes: 9}}
	})
	second := m.QueuesOf(func() []router.Depth { return []router.Depth{{Peer: "agent", Frames: 1, Bytes: 5}} })
	gone := m.Console("run")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		follow(ctx)
	}()
	journal.Append(seen(t, trace.KernelToServer, "", `{"type":"ready"}`))
	<-time.After(time.Second) // it lets entries come together for a moment
	got := scrape(t, m)
	require.Positive(t, got["go_goroutines{}"])
	require.Positive(t, got["process_open_fds{}"])
	for name, want := range map[string]float64{
		"sessions{}": 1, "consoles{run}": 1, "children_running{kernel}": 1,
		"queue_frames{agent}": 3, "queue_bytes{agent}": 35, "queue_frames{run}": 5, "queue_bytes{run}": 10,
	} {
		require.InDelta(t, want, got["assay_"+name], 0, name)
	}
	gone()
	first()
	second()
	cancel()
	<-ended
	left := ours(scrape(t, m))
	for _, name := range []string{"sessions{}", "consoles{run}", "queue_frames{agent}", "children_running{kernel}"} {
		require.NotContains(t, left, name)
	}
}

// What an agent asks without end costs no more than the bound.
func TestMetricsRequestsInFlightAreBounded(t *testing.T) {
	t.Parallel()
	const beyond = 1000
	m := server.NewMetrics()
	count := m.Counter(trace.NewJournal("s"))
	for i := range server.MostOpen + beyond {
		entry := action(t, "", "get_context", fmt.Sprint("tx", i))
		count(&entry)
	}
	for i := range server.MostOpen + beyond {
		entry := response(t, "", "success", fmt.Sprint("tx", i))
		count(&entry)
	}
	got := scrape(t, m)
	require.InDelta(t, beyond, got["assay_requests_unmeasured_total{}"], 0)
	require.InDelta(t, server.MostOpen, got["assay_request_seconds{get_context,console}"], 0)
}

// However many types and actions an agent makes up, there are no more series.
func TestMetricsLabelsAreNotTheAgents(t *testing.T) {
	t.Parallel()
	m := server.NewMetrics()
	count := m.Counter(trace.NewJournal("s"))
	made := func(i int) {
		for _, entry := range []trace.Entry{
			seen(t, trace.AgentToServer, "", fmt.Sprintf(`{"type":"type-%d"}`, i)),
			action(t, "", fmt.Sprint("action-", i), fmt.Sprint(i)), response(t, "", "error", fmt.Sprint(i)),
		} {
			count(&entry)
		}
	}
	made(0)
	before := len(scrape(t, m))
	for i := range 2000 {
		made(i + 1)
	}
	got := scrape(t, m)
	require.Len(t, got, before)
	require.InDelta(t, 2001, got["assay_request_seconds{other,server}"], 0)
}

func BenchmarkMetricsEntry(b *testing.B) {
	for name, entries := range map[string][]trace.Entry{
		"stdio":   {seen(b, trace.KernelToServer, "", `{"type":"kernel_stdio"}`)},
		"unknown": {seen(b, trace.AgentToServer, "", `{"type":"of_its_own"}`)},
		"request": {action(b, trace.Intercepted, "get_global_info", "tx_0123456789ab"), response(b, "", "success", "tx_0123456789ab")},
	} {
		b.Run(name, func(b *testing.B) {
			count := server.NewMetrics().Counter(trace.NewJournal("s"))
			b.ReportAllocs()
			for b.Loop() {
				for i := range entries {
					count(&entries[i])
				}
			}
		})
	}
}

// BenchmarkMetricsFollow is what an entry costs with its way through the journal,
// while another appends.
func BenchmarkMetricsFollow(b *testing.B) {
	m := server.NewMetrics()
	journal := trace.NewJournal("s")
	follow := m.Session(journal)
	done := make(chan struct{})
	go func() {
		defer close(done)
		follow(b.Context())
	}()
	entry := seen(b, trace.KernelToServer, "", `{"type":"kernel_stdio"}`)
	b.ReportAllocs()
	for b.Loop() {
		journal.Append(entry)
	}
	journal.Close()
	<-done
}
