package builtin_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
	"assay/internal/model"
	"assay/internal/model/mockapi"
)

// cacheMarkerJSON is a cache marker as it stands in a request.
const cacheMarkerJSON = `,"cache_control":{"type":"ephemeral"}`

// Over fifty requests of all kinds, what was sent once is sent again byte for byte, except
// for the cache markers, which are where they belong.
func TestCO9_FiftyRequestsKeepTheirPrefix(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 13 {
		at := fmt.Sprintf(`{"cell_id":"c%d"}`, i)
		cut := strings.TrimSuffix(agenttest.ToolCallScriptLine("delete_cell", at), "}") + `,"stop_reason":"max_tokens"}`
		lines = append(lines,
			agenttest.ToolCallScriptLine("run_cell", at, "get_context", `{}`, "fly", `{"é":"\ud83d"}`), cut,
			`{"content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"so <far>"}]}`, agenttest.ToolCallScriptLine("get_context", `{}`))
	}
	script := agenttest.ParseModelScript(t, append(lines, agenttest.SubmitScriptLine("1"))...)
	mock := &requestBodyRecorder{Handler: mockapi.New(script, nil)}
	server := httptest.NewServer(mock)
	t.Cleanup(server.Close)
	p := startAgentOnHTTPAPI(t, server.URL, "key")
	data := agenttest.BlankPNG(t, 3, 2)
	p.SetActionHook(func(action string, params frame, tx string) bool {
		if action == "run_cell" {
			p.RespondToAction(tx, nil)
			p.FinishRun(params.StringField("cell_id"), 1, frame{"cell_outputs": []any{frame{"output_type": "display_data", "data": frame{"image/png": data}}}})
		}
		return action == "run_cell"
	})
	p.InitAndAwaitReady(frame{"eval_mode": true})
	for len(mock.all) < 50 { // a text ends a query, except the first text, which is followed by a reminder
		require.Equal(t, "done", p.QueryAndWait("go on"))
	}
	require.Empty(t, p.FramesOfType("agent_error"))

	require.Zero(t, countChangedPrefixes(t, mock.all))
	for _, body := range mock.all {
		requireCacheMarkers(t, body)
	}
	require.Contains(t, string(mock.all[len(mock.all)-1]), `"type":"image"`)
	require.Contains(t, string(mock.all[len(mock.all)-1]), "Nothing has been submitted yet")
	require.Contains(t, string(mock.all[len(mock.all)-1]), "Your last reply was cut off")
	for _, m := range p.Transcript() {
		text, err := json.Marshal(m)
		require.NoError(t, err)
		require.NotContains(t, string(text), "cache_control", "the stored transcript has no markers")
	}
}

// countChangedPrefixes counts the requests that change what the request before had sent.
func countChangedPrefixes(t *testing.T, all [][]byte) int {
	t.Helper()
	count := 0
	for i := 1; i < len(all); i++ {
		before, after := parseRequestPrefix(t, all[i-1]), parseRequestPrefix(t, all[i])
		kept := after.messages[:min(len(before.messages), len(after.messages))]
		if before.head != after.head || !slices.Equal(before.messages, kept) {
			count++
		}
	}
	return count
}

// requireCacheMarkers fails the test unless a request has cache markers on the last tool, on the
// last block of the system prompt and at the ends of the last two turns of the user, and
// nowhere else.
func requireCacheMarkers(t *testing.T, body []byte) {
	t.Helper()
	require.LessOrEqual(t, bytes.Count(body, []byte(cacheMarkerJSON)), 4)
	var in struct {
		System   []model.Block
		Tools    []model.Tool
		Messages []model.Message
	}
	require.NoError(t, json.Unmarshal(body, &in))
	for i, tool := range in.Tools {
		require.Equal(t, i == len(in.Tools)-1, tool.Cache)
	}
	for i, b := range in.System {
		require.Equal(t, i == len(in.System)-1, b.Cache)
	}
	turns := 0 // turns of the user, counted from the end
	for i, m := range slices.Backward(in.Messages) {
		if m.Role != model.RoleUser {
			continue
		}
		ends := i == len(in.Messages)-1 || in.Messages[i+1].Role != model.RoleUser
		if ends {
			turns++
		}
		for j, b := range m.Content {
			require.Equal(t, ends && turns <= 2 && j == len(m.Content)-1, b.Cache, "message %d, block %d", i, j)
		}
	}
}

// The part of the system prompt that may change has no marker and follows the stable part.
func TestCO9_VolatileSystemPromptIsNotMarked(t *testing.T) {
	t.Parallel()
	stable, volatile := []model.Block{model.Text("rules"), model.Text("more")}, []model.Block{model.Text("tick 1")}
	tools := []model.Tool{{Name: "a"}, {Name: "b"}}
	req := newModelRequest(stable, volatile, tools)
	require.Equal(t, []bool{false, true, false}, []bool{req.System[0].Cache, req.System[1].Cache, req.System[2].Cache})
	require.Equal(t, []bool{false, true}, []bool{req.Tools[0].Cache, req.Tools[1].Cache})
	require.False(t, stable[1].Cache)
	require.False(t, tools[1].Cache)

	req = newModelRequest(nil, volatile, nil)
	require.False(t, req.System[0].Cache)
	require.Empty(t, req.Tools)
}

// The user's text for the system prompt is the last part of it that does not change.
func TestCO9_SystemTextIsStable(t *testing.T) {
	t.Parallel()
	conversation := builtin.NewConversation(builtin.NewAgentCore(nil, builtin.Config{SystemText: "Be brief."}))
	call := &builtin.ModelCall{Conversation: conversation, System: []model.Block{model.Text("rules")}, VolatileSystem: []model.Block{model.Text("tick 1")}}
	marked := model.Text("Be brief.")
	marked.Cache = true
	for range 2 {
		require.Equal(t, []model.Block{model.Text("rules"), marked, model.Text("tick 1")}, call.Request().System)
	}
	require.Len(t, call.System, 1)
}

// newModelRequest returns a request with these parts.
func newModelRequest(system, volatile []model.Block, tools []model.Tool) model.Request {
	conversation := builtin.NewConversation(builtin.NewAgentCore(nil, builtin.Config{}))
	return (&builtin.ModelCall{Conversation: conversation, System: system, VolatileSystem: volatile, Tools: tools}).Request()
}

// Any transcript gets at most two markers, only where the API accepts them, and does not
// change otherwise.
func TestCO9_CacheMarkersOnAnyTranscript(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		messages := rapid.SliceOf(rapid.Custom(randomMessage)).Draw(t, "messages")
		before, _ := json.Marshal(messages)
		marked := builtin.AddCacheMarkersToUserTurns(messages)
		after, _ := json.Marshal(marked)
		count := bytes.Count(after, []byte(cacheMarkerJSON))
		if count > 2 {
			t.Fatalf("%d markers", count)
		}
		if plain := bytes.ReplaceAll(after, []byte(cacheMarkerJSON), nil); !bytes.Equal(before, plain) {
			t.Fatalf("%s became %s", before, plain)
		}
		if again, _ := json.Marshal(messages); !bytes.Equal(before, again) {
			t.Fatalf("the transcript itself became %s", again)
		}
		for _, m := range marked {
			for _, b := range m.Content {
				if b.Cache && (m.Role != model.RoleUser || b.Type == model.BlockThinking || b.Type == model.BlockText && strings.TrimSpace(b.Text) == "") {
					t.Fatalf("%v is marked", b)
				}
			}
		}
	})
}

// randomMessage draws a message of any kind.
func randomMessage(t *rapid.T) model.Message {
	id := rapid.SampledFrom([]string{"a", "b", "c"})
	block := rapid.Custom(func(t *rapid.T) model.Block {
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			return agenttest.NewGetContextCall(id.Draw(t, "id"))
		case 1:
			return getContextResult(id.Draw(t, "id"))
		case 2:
			return model.Text(rapid.SampledFrom([]string{"", " ", "x"}).Draw(t, "text"))
		case 3:
			return model.Block{Type: model.BlockThinking, Signature: rapid.SampledFrom([]string{"", "s"}).Draw(t, "signature")}
		case 4:
			return model.Block{Type: model.BlockRedactedThinking, Data: "d"}
		default:
			return model.Text("text")
		}
	})
	role := rapid.SampledFrom([]string{model.RoleUser, model.RoleAssistant}).Draw(t, "role")
	return model.Message{Role: role, Content: rapid.SliceOfN(block, 0, 4).Draw(t, "content")}
}

// The repair of a transcript that was cut off changes no message before the cut.
func TestCO9_RepairKeepsEarlierMessages(t *testing.T) {
	t.Parallel()
	full := newValidTranscript()
	for n := range full {
		for blocks := range len(full[n].Content) + 1 {
			cut := append([]model.Message{}, full[:n]...)
			cut = append(cut, model.Message{Role: full[n].Role, Content: full[n].Content[:blocks]})
			repaired := builtin.RepairMessages(cut)
			require.GreaterOrEqual(t, len(repaired), n)
			require.Equal(t, full[:n], append([]model.Message{}, repaired[:n]...))
		}
	}
}
