package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/internal/model"
	"assay/internal/model/mockapi"
	"assay/internal/model/open"
	"assay/internal/model/script"
)

// dot is a PNG of one pixel.
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// thirtyTurns is a script that goes through all that a conversation has: single
// and parallel calls, text with them, results with errors and images, calls that
// nobody knows, a reply that is cut, a refusal and a broken stream.
func thirtyTurns() string {
	lines := []string{
		uses("get_context", `{}`, "create_cell", `{"position":0,"source":"print 数据 é 🧪","auto_run":true}`),
		`{"error":{"status":429}}`,
		`{"content":[{"type":"text","text":"Naïve, so far."},{"type":"tool_use","name":"create_cell","input":{"position":1,"source":"draw"}},{"type":"tool_use","name":"get_context","input":{}}],"usage":{"input_tokens":9,"output_tokens":5,"cache_read_input_tokens":3}}`,
		uses("run_cell", `{"cell_id":"$cell[1]"}`),
		`{"content":"this reply breaks off","fault":{"cut":5}}`,
		uses("edit_cell", `{"cell_id":"$cell[0]","source":"fail é","auto_run":true}`, "fly", `{"to":[1,{"a":null}]}`),
		strings.TrimSuffix(uses("create_cell", `{"position":0,"source":"cut"}`), "}") + `,"stop_reason":"max_tokens"}`,
	}
	for turn := range 24 {
		lines = append(lines, uses("execute_code", fmt.Sprintf(`{"code":"%d + é"}`, turn), "run_cell", fmt.Sprintf(`{"cell_id":"$cell[%d]"}`, turn%2)))
	}
	return strings.Join(append(lines, `{"content":"no call: a nudge follows"}`, submits("42")), "\n")
}

// played is what became of the script by way of one API.
type played struct {
	history []model.Message
	usage   []frame
	bodies  [][]byte
}

// play has the agent work on the script.
func play(t *testing.T, name string) played {
	t.Helper()
	script, err := script.Parse("script.jsonl", []byte(thirtyTurns()))
	require.NoError(t, err)
	mock := &bodies{Handler: mockapi.New(script, nil)}
	server := httptest.NewServer(mock)
	t.Cleanup(server.Close)
	client, err := open.Open(name, open.Options{APIKey: "key", BaseURL: server.URL})
	require.NoError(t, err)
	p := start(t, builtin.Run, builtin.Config{
		Model: client, ModelName: name, Unpriced: true, Pause: func(context.Context, time.Duration) error { return nil },
		Clock: func() time.Time { return time.Unix(0, 0) },
	})
	p.onAction(func(action string, params frame, tx string) bool {
		if action != "run_cell" || params.text("cell_id") != "c2" {
			return false
		}
		p.answer(tx, frame{"cell_id": "c2"})
		p.send(frame{"type": "kernel_message", "message": frame{"type": "start_cell", "cell_id": "c2", "run_sequencer": 1}})
		p.result("c2", 1, frame{"cell_outputs": []any{frame{"output_type": "display_data", "data": frame{"image/png": dot}}}})
		return true
	})
	p.init(frame{"eval_mode": true})
	require.Equal(t, "done", p.ask("Compute. <b> & é"))
	require.Empty(t, p.of("agent_error"))
	return played{history: p.history(), usage: p.of("agent_usage_update"), bodies: mock.all}
}

// The agent does not see by which API its model is asked.
func TestCO4_OneConversationByTwoAPIs(t *testing.T) {
	t.Parallel()
	here, there := play(t, "anthropic/m"), play(t, "openai/m")
	require.Equal(t, asText(t, here.history), asText(t, there.history))
	require.Equal(t, here.usage, there.usage)
	require.Len(t, there.bodies, len(here.bodies))
	require.Greater(t, len(there.history), 60)
	require.Contains(t, string(there.bodies[len(there.bodies)-1]), "data:image/png;base64,"+dot)
}

// What was sent before is sent again byte for byte with every further call.
func TestCO9_OpenAIPrefixStays(t *testing.T) {
	t.Parallel()
	bodies := play(t, "openai/m").bodies
	require.Greater(t, len(bodies), 30)
	before, tools := []json.RawMessage{}, ""
	for _, body := range bodies {
		var in struct {
			Messages []json.RawMessage
			Tools    json.RawMessage
		}
		require.NoError(t, json.Unmarshal(body, &in))
		require.GreaterOrEqual(t, len(in.Messages), len(before))
		require.Equal(t, before, slices.Clip(in.Messages[:len(before)]))
		require.Contains(t, []string{"", string(in.Tools)}, tools)
		before, tools = in.Messages, string(in.Tools)
	}
}

func asText(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	require.NoError(t, err)
	return string(text)
}

// What a model costs that another than its vendor serves is not known, whatever
// it is called.
func TestCO8_ForeignModelHasNoPrice(t *testing.T) {
	t.Parallel()
	for _, foreign := range []bool{false, true} {
		p := startTools(t, builtin.Config{ModelName: "openai/gpt-5", Unpriced: foreign, Limits: builtin.Limits{CostUSD: 1}},
			`{"content":"a","usage":{"input_tokens":1000000,"output_tokens":100000}}`)
		p.init(nil)
		require.Equal(t, "done", p.ask("go"))
		update := p.of("agent_usage_update")[0]
		if foreign {
			require.Nil(t, update["cost_usd"])
			require.Contains(t, p.of("agent_error")[0].text("error"), "the cost limit of 1 USD is not enforced")
			continue
		}
		require.InDelta(t, 2.25, update["cost_usd"], 1e-9)
		require.Empty(t, p.of("agent_error"))
	}
}
