package metrics_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/server/metrics"
)

// modelEntry returns an entry about a call of a model, with the members of its message.
func modelEntry(hop trace.Hop, kind, members string) trace.Entry {
	return trace.Entry{Hop: hop, Envelope: protocol.Envelope{Type: kind}, Body: fmt.Appendf(nil, `{"type":%q,%s}`, kind, members)}
}

func TestCountsModelCalls(t *testing.T) {
	t.Parallel()
	call := func(number int, api string) trace.Entry {
		return modelEntry(trace.AgentToModel, "model_call", fmt.Sprintf(`"call":%d,"api":%q,"model":"m","request":{"model":"x"}`, number, api))
	}
	wait := func(number int, isOver bool) trace.Entry {
		return modelEntry(trace.AgentToModel, "model_wait", fmt.Sprintf(`"call":%d,"over":%v`, number, isOver))
	}
	reply := func(number int, members string) trace.Entry {
		return modelEntry(trace.ModelToAgent, "model_reply", fmt.Sprintf(`"call":%d,%s`, number, members))
	}
	const response = `"response":{"content":[],"usage":{"input_tokens":7,"output_tokens":5,"cache_read_input_tokens":3,"cache_creation_input_tokens":2}}`
	for name, tc := range map[string]struct {
		entries []trace.Entry
		want    map[string]float64
	}{
		"a complete reply": {
			[]trace.Entry{call(1, "messages"), reply(1, `"status":200,"complete":true,"cost_usd":0.5,"first_byte_ms":3,`+response)},
			map[string]float64{
				"calls_total{messages,ok}": 1, "call_seconds{messages}": 1, "first_byte_seconds{messages}": 1, "cost_usd_total{messages}": 0.5,
				"tokens_total{messages,input}": 7, "tokens_total{messages,output}": 5, "tokens_total{messages,cache_read}": 3, "tokens_total{messages,cache_creation}": 2,
			},
		},
		"a reply that breaks off, without a price": {
			[]trace.Entry{call(1, "chat"), reply(1, `"status":200,"complete":false,"cost_usd":null,"refused":true,"response":{"usage":{"output_tokens":5}}`)},
			map[string]float64{"calls_total{chat,cut}": 1, "call_seconds{chat}": 1, "tokens_total{chat,output}": 5, "calls_unpriced_total{}": 1},
		},
		"an agent that has gone":  {[]trace.Entry{call(1, "chat"), reply(1, `"status":0`)}, map[string]float64{"calls_total{chat,cut}": 1, "call_seconds{chat}": 1}},
		"refused for now":         {[]trace.Entry{call(1, "chat"), reply(1, `"status":529,"refused":true`)}, map[string]float64{"calls_total{chat,refused}": 1, "call_seconds{chat}": 1}},
		"refused in a stream":     {[]trace.Entry{call(1, "chat"), reply(1, `"status":200,"refused":true,"api_error":{"status":529}`)}, map[string]float64{"calls_total{chat,refused}": 1, "call_seconds{chat}": 1}},
		"any other error":         {[]trace.Entry{call(1, "chat"), reply(1, `"status":400`)}, map[string]float64{"calls_total{chat,error}": 1, "call_seconds{chat}": 1}},
		"a limit":                 {[]trace.Entry{call(1, "chat"), reply(1, `"status":403,"limit":"turns"`)}, map[string]float64{"calls_total{chat,limit}": 1}},
		"an unknown API":          {[]trace.Entry{call(1, "graphql"), reply(1, `"status":400`)}, map[string]float64{"calls_total{other,error}": 1, "call_seconds{other}": 1}},
		"a wait":                  {[]trace.Entry{call(1, "chat"), wait(1, false), wait(1, true)}, map[string]float64{"wait_seconds{}": 1}},
		"a wait without an end":   {[]trace.Entry{call(1, "chat"), wait(1, false)}, map[string]float64{}},
		"a request that is none":  {[]trace.Entry{modelEntry(trace.ModelToAgent, "model_rejected", `"status":404`)}, map[string]float64{"requests_rejected_total{}": 1}},
		"a reply to no call":      {[]trace.Entry{reply(1, `"status":200`), wait(2, true)}, map[string]float64{}},
		"costs that are nonsense": {[]trace.Entry{call(1, "chat"), reply(1, `"complete":true,"cost_usd":-1,"response":{"usage":{"input_tokens":-5}}`)}, map[string]float64{"calls_total{chat,ok}": 1, "call_seconds{chat}": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, seriesWithPrefix(t, "model_", tc.entries...), "no call counts as in flight or waiting after the session")
		})
	}
}

// The time of a call begins when it waits no longer. Until its reply it is in flight.
func TestModelCallDuration(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := metrics.NewRegistry()
		journal := trace.NewJournal("s")
		counter := m.NewSessionCounter(journal)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			counter.Run(t.Context())
		}()
		for _, step := range []struct {
			entry             trace.Entry
			inFlight, waiting float64
		}{
			{modelEntry(trace.AgentToModel, "model_call", `"call":1,"api":"chat"`), 1, 0},
			{modelEntry(trace.AgentToModel, "model_wait", `"call":1,"over":false`), 1, 1},
			{modelEntry(trace.AgentToModel, "model_wait", `"call":1,"over":true`), 1, 0},
			{modelEntry(trace.ModelToAgent, "model_reply", `"call":1,"status":500`), 0, 0},
		} {
			journal.Append(step.entry)
			<-time.After(7 * time.Second)
			got := scrapeMetrics(t, m)
			require.InDelta(t, step.inFlight, got["assay_model_calls_in_flight{}"], 0, step.entry.Type)
			require.InDelta(t, step.waiting, got["assay_model_calls_waiting{}"], 0, step.entry.Type)
		}
		journal.Close()
		<-ended
		answer := httptest.NewRecorder()
		m.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		require.Contains(t, answer.Body.String(), `assay_model_call_seconds_sum{api="chat"} 7`+"\n")
		require.Contains(t, answer.Body.String(), "assay_model_wait_seconds_sum 7\n")
	})
}
