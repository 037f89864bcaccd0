package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model/calllog"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/internal/trace/flow"
	"assay/server/api"
)

// modelEntry returns an entry about the call of a model with this number.
func modelEntry(tb testing.TB, hop trace.Hop, call int64, message any) trace.Entry {
	tb.Helper()
	body, err := protocol.Marshal(message)
	require.NoError(tb, err)
	return frameEntry(tb, hop, string(body), func(e *trace.Entry) { e.TxID = fmt.Sprintf("model_%d", call) })
}

// modelCallEntries returns the entries of a task and of calls with these requests, each with a reply.
func modelCallEntries(tb testing.TB, requests ...string) []trace.Entry {
	tb.Helper()
	entries := []trace.Entry{frameEntry(tb, trace.ServerToAgent, `{"type":"agent_query","query":"q"}`)}
	var encoder calllog.Encoder
	for i, request := range requests {
		call := int64(i + 1)
		entries = append(entries,
			modelEntry(tb, trace.AgentToModel, call, calllog.Call{
				Type: calllog.TypeCall, Call: call, API: "messages", Path: "/v1/messages", Model: "m", Stored: encoder.Encode(call, []byte(request)),
			}),
			modelEntry(tb, trace.ModelToAgent, call, calllog.Reply{Type: calllog.TypeReply, Call: call, Status: 200, Model: "claude-x", IsComplete: true}))
	}
	return entries
}

// The whole request of a call is served, also what its entry leaves out.
func TestModelRequest(t *testing.T) {
	t.Parallel()
	first := `{"model":"m","messages":[{"role":"user","content":"task"}]}`
	second := `{"model":"m","messages":[{"role":"user","content":"task"},{"role":"assistant","content":"ok"}]}`
	another := `{"model":"m","messages":[{"role":"user","content":"task of the next agent"}]}`
	entries := append(modelCallEntries(t, first, second), modelCallEntries(t, another, strings.Replace(another, "}]", "},1]", 1))...)
	s, path, _ := newTestServerWithTrace(t, traceText(t, entries...))
	base := strings.TrimSuffix(path, "trace")
	for seq, want := range map[int]string{2: first, 4: second, 7: another, 9: `{"model":"m","messages":[{"role":"user","content":"task of the next agent"},1]}`} {
		var got api.ModelRequest
		s.getJSON(t, fmt.Sprintf("%srequest?seq=%d", base, seq), &got)
		require.EqualValues(t, seq, got.Seq)
		require.JSONEq(t, want, string(got.Request))
	}
	for _, seq := range []string{"1", "3", "11"} {
		requireProblem(t, s.request(t, http.MethodGet, base+"request?seq="+seq), http.StatusNotFound, "not_found")
	}
	requireProblem(t, s.request(t, http.MethodGet, base+"request?seq=x"), http.StatusBadRequest, "bad_parameter")
}

// A request that refers to one that is missing cannot be read.
func TestModelRequestWithoutTheEarlierOne(t *testing.T) {
	t.Parallel()
	entries := modelCallEntries(t, `{"messages":[1]}`, `{"messages":[1,2]}`)
	s, path, _ := newTestServerWithTrace(t, traceText(t, append(entries[:1], entries[3:]...)...))
	problem := requireProblem(t, s.request(t, http.MethodGet, strings.TrimSuffix(path, "trace")+"request?seq=2"), http.StatusInternalServerError, "unreadable")
	require.Contains(t, problem, "that of call 1, to which it refers, is missing")
}

// The flow has calls of models as requests and counts them, and the statistics add them up.
func TestFlowAndStatisticsOfModelCalls(t *testing.T) {
	t.Parallel()
	s, path, _ := newTestServerWithTrace(t, traceText(t, modelCallEntries(t, `{"messages":[1]}`, `{"messages":[1,2]}`)...))
	var page struct {
		Requests   map[string]api.FlowRequest
		ModelCalls int64 `json:"model_calls"`
	}
	s.getJSON(t, flowPathOfTracePath(path)+"?tx=model_1", &page)
	require.EqualValues(t, 2, page.ModelCalls)
	require.Equal(t, &flow.ModelCall{Call: 1, API: "messages", Model: "claude-x", Outcome: calllog.OutcomeOK, Status: 200}, page.Requests["2"].Call)
	require.Equal(t, []int64{2, 0, 0, 3, 0}, page.Requests["2"].EntrySeqs)
	var stats flow.Summary
	base := strings.TrimSuffix(path, "trace")
	s.getJSON(t, base+"stats", &stats)
	require.Equal(t, 2, stats.Models.Calls)
	require.Nil(t, stats.Models.CostUSD)
	require.Positive(t, stats.Time.TotalMS())
	requireProblem(t, s.request(t, http.MethodGet, base+"stats?from=1"), http.StatusBadRequest, "bad_parameter")
}
