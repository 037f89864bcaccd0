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
	"assay/agent/builtin/agenttest"
	"assay/internal/model"
	"assay/internal/model/mockapi"
	"assay/internal/model/open"
)

// tinyPNG is a PNG of one pixel.
const tinyPNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// thirtyTurnScript returns a script with everything that occurs in a conversation: single and
// parallel calls, calls with text, results with errors and images, unknown tools, a reply
// that is cut off, a refusal and a broken stream.
func thirtyTurnScript() []string {
	lines := []string{
		agenttest.ToolCallScriptLine("get_context", `{}`, "create_cell", `{"position":0,"source":"print 数据 é 🧪","auto_run":true}`),
		`{"error":{"status":429}}`,
		`{"content":[{"type":"text","text":"Naïve, so far."},{"type":"tool_use","name":"create_cell","input":{"position":1,"source":"draw"}},{"type":"tool_use","name":"get_context","input":{}}],"usage":{"input_tokens":9,"output_tokens":5,"cache_read_input_tokens":3}}`,
		agenttest.ToolCallScriptLine("run_cell", `{"cell_id":"$cell[1]"}`),
		`{"content":"this reply breaks off","fault":{"cut":5}}`,
		agenttest.ToolCallScriptLine("edit_cell", `{"cell_id":"$cell[0]","source":"fail é","auto_run":true}`, "fly", `{"to":[1,{"a":null}]}`),
		strings.TrimSuffix(agenttest.ToolCallScriptLine("create_cell", `{"position":0,"source":"cut"}`), "}") + `,"stop_reason":"max_tokens"}`,
	}
	for turn := range 24 {
		lines = append(lines, agenttest.ToolCallScriptLine("execute_code", fmt.Sprintf(`{"code":"%d + é"}`, turn), "run_cell", fmt.Sprintf(`{"cell_id":"$cell[%d]"}`, turn%2)))
	}
	return append(lines, `{"content":"no call: a reminder follows"}`, agenttest.SubmitScriptLine("42"))
}

// scriptOutcome is what an agent and an API made of a script.
type scriptOutcome struct {
	history []model.Message
	usage   []frame
	bodies  [][]byte
}

// runThirtyTurnScript runs an agent on the script of thirtyTurnScript, played by the API of a model name.
func runThirtyTurnScript(t *testing.T, modelName string) scriptOutcome {
	t.Helper()
	mock := &requestBodyRecorder{Handler: mockapi.New(agenttest.ParseModelScript(t, thirtyTurnScript()...), nil)}
	server := httptest.NewServer(mock)
	t.Cleanup(server.Close)
	client, err := open.Open(modelName, open.Options{APIKey: "key", BaseURL: server.URL})
	require.NoError(t, err)
	p := startAgent(t, builtin.Config{
		Model: client, ModelName: modelName, PriceUnknown: true, Sleep: func(context.Context, time.Duration) error { return nil },
		Clock: func() time.Time { return time.Unix(0, 0) },
	})
	p.SetActionHook(func(action string, params frame, tx string) bool {
		if action != "run_cell" || params.StringField("cell_id") != "c2" {
			return false
		}
		p.RespondToAction(tx, frame{"cell_id": "c2"})
		p.SendFrame(frame{"type": "kernel_message", "message": frame{"type": "start_cell", "cell_id": "c2", "run_sequencer": 1}})
		p.FinishRun("c2", 1, frame{"cell_outputs": []any{frame{"output_type": "display_data", "data": frame{"image/png": tinyPNG}}}})
		return true
	})
	p.InitAndAwaitReady(frame{"eval_mode": true})
	require.Equal(t, "done", p.QueryAndWait("Compute. <b> & é"))
	require.Empty(t, p.FramesOfType("agent_error"))
	return scriptOutcome{history: p.Transcript(), usage: p.FramesOfType("agent_usage_update"), bodies: mock.all}
}

// The conversation is the same whichever API the model has.
func TestCO4_BothAPIsGiveTheSameConversation(t *testing.T) {
	t.Parallel()
	anthropic, openai := runThirtyTurnScript(t, "anthropic/m"), runThirtyTurnScript(t, "openai/m")
	require.Equal(t, toIndentedJSON(t, anthropic.history), toIndentedJSON(t, openai.history))
	require.Equal(t, anthropic.usage, openai.usage)
	require.Len(t, openai.bodies, len(anthropic.bodies))
	require.Greater(t, len(openai.history), 60)
	require.Contains(t, string(openai.bodies[len(openai.bodies)-1]), "data:image/png;base64,"+tinyPNG)
}

// Every request to OpenAI repeats byte for byte what earlier ones have sent.
func TestCO9_OpenAIRequestsKeepTheirPrefix(t *testing.T) {
	t.Parallel()
	bodies := runThirtyTurnScript(t, "openai/m").bodies
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

// toIndentedJSON returns a value as indented JSON.
func toIndentedJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	require.NoError(t, err)
	return string(text)
}

// The price of a model is unknown if another provider than its vendor serves it, whatever its
// name.
func TestCO8_ModelOfOtherProviderHasNoPrice(t *testing.T) {
	t.Parallel()
	for _, unpriced := range []bool{false, true} {
		p := startToolsAgent(t, builtin.Config{ModelName: "openai/gpt-5", PriceUnknown: unpriced, Limits: builtin.Limits{MaxCostUSD: 1}},
			`{"content":"a","usage":{"input_tokens":1000000,"output_tokens":100000}}`)
		p.InitAndAwaitReady(nil)
		require.Equal(t, "done", p.QueryAndWait("go"))
		update := p.FramesOfType("agent_usage_update")[0]
		if unpriced {
			require.Nil(t, update["cost_usd"])
			require.Contains(t, p.FramesOfType("agent_error")[0].StringField("error"), "the cost limit of 1 USD is not enforced")
			continue
		}
		require.InDelta(t, 2.25, update["cost_usd"], 1e-9)
		require.Empty(t, p.FramesOfType("agent_error"))
	}
}
