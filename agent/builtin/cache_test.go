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
	"assay/internal/model"
	"assay/internal/model/mockapi"
	"assay/internal/model/script"
)

// cacheMarker is a marker as it stands in a request.
const cacheMarker = `,"cache_control":{"type":"ephemeral"}`

// Fifty turns with all that occurs: of what was sent nothing changes, to the
// byte, but for the markers; and those are where they belong.
func TestCO9_FiftyTurns(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 13 {
		at := fmt.Sprintf(`{"cell_id":"c%d"}`, i)
		cut := strings.TrimSuffix(uses("delete_cell", at), "}") + `,"stop_reason":"max_tokens"}`
		lines = append(lines,
			uses("run_cell", at, "get_context", `{}`, "fly", `{"é":"\ud83d"}`), cut,
			`{"content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"so <far>"}]}`, uses("get_context", `{}`))
	}
	script, err := script.Parse("script.jsonl", []byte(strings.Join(append(lines, submits("1")), "\n")))
	require.NoError(t, err)
	mock := &bodies{Handler: mockapi.New(script, nil)}
	server := httptest.NewServer(mock)
	t.Cleanup(server.Close)
	p := startHTTP(t, server.URL, "key")
	data := pngOf(t, 3, 2)
	p.onAction(func(action string, params frame, tx string) bool {
		if action == "run_cell" {
			p.answer(tx, nil)
			p.result(params.text("cell_id"), 1, frame{"cell_outputs": []any{frame{"output_type": "display_data", "data": frame{"image/png": data}}}})
		}
		return action == "run_cell"
	})
	p.init(frame{"eval_mode": true})
	for len(mock.all) < 50 { // a text ends a query, but for the first in which it brings a nudge
		require.Equal(t, "done", p.ask("go on"))
	}
	require.Empty(t, p.of("agent_error"))

	require.Zero(t, violations(t, mock.all))
	for _, body := range mock.all {
		requireMarkers(t, body)
	}
	require.Contains(t, string(mock.all[len(mock.all)-1]), `"type":"image"`)
	require.Contains(t, string(mock.all[len(mock.all)-1]), "Nothing has been submitted yet")
	require.Contains(t, string(mock.all[len(mock.all)-1]), "Your last reply was cut off")
	for _, m := range p.history() {
		text, err := json.Marshal(m)
		require.NoError(t, err)
		require.NotContains(t, string(text), "cache_control", "the transcript has no markers")
	}
}

// violations counts the requests that change what the one before had sent.
func violations(t *testing.T, all [][]byte) int {
	t.Helper()
	count := 0
	for i := 1; i < len(all); i++ {
		before, after := prefixOf(t, all[i-1]), prefixOf(t, all[i])
		kept := after.messages[:min(len(before.messages), len(after.messages))]
		if before.head != after.head || !slices.Equal(before.messages, kept) {
			count++
		}
	}
	return count
}

// requireMarkers looks for the markers of a request: on the last tool, on the
// last block of the system prompt, and at the end of the last two turns of the
// user.
func requireMarkers(t *testing.T, body []byte) {
	t.Helper()
	require.LessOrEqual(t, bytes.Count(body, []byte(cacheMarker)), 4)
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
	turns := 0 // of the user, from the end
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

// What changes from call to call stands behind what is cached.
func TestCO9_WhatChangesIsNotMarked(t *testing.T) {
	t.Parallel()
	stable, state := []model.Block{model.Text("rules"), model.Text("more")}, []model.Block{model.Text("tick 1")}
	tools := []model.Tool{{Name: "a"}, {Name: "b"}}
	req := builtin.RequestOf(stable, state, tools)
	require.Equal(t, []bool{false, true, false}, []bool{req.System[0].Cache, req.System[1].Cache, req.System[2].Cache})
	require.Equal(t, []bool{false, true}, []bool{req.Tools[0].Cache, req.Tools[1].Cache})
	require.False(t, stable[1].Cache)
	require.False(t, tools[1].Cache)

	req = builtin.RequestOf(nil, state, nil)
	require.False(t, req.System[0].Cache)
	require.Empty(t, req.Tools)
}

// Any transcript gets at most two markers, none of them where the API does not
// take it, and loses and gains nothing else.
func TestCO9_MarkedTurns(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		messages := rapid.SliceOf(rapid.Custom(message)).Draw(t, "messages")
		before, _ := json.Marshal(messages)
		marked := builtin.MarkTurns(messages)
		after, _ := json.Marshal(marked)
		count := bytes.Count(after, []byte(cacheMarker))
		if count > 2 {
			t.Fatalf("%d markers", count)
		}
		if plain := bytes.ReplaceAll(after, []byte(cacheMarker), nil); !bytes.Equal(before, plain) {
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

// message draws a message of any kind.
func message(t *rapid.T) model.Message {
	id := rapid.SampledFrom([]string{"a", "b", "c"})
	block := rapid.Custom(func(t *rapid.T) model.Block {
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			return call(id.Draw(t, "id"))
		case 1:
			return answered(id.Draw(t, "id"))
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

// Repairing what was cut changes nothing of what stands before it.
func TestCO9_RepairKeepsWhatWasSent(t *testing.T) {
	t.Parallel()
	whole := sound()
	for n := range whole {
		for blocks := range len(whole[n].Content) + 1 {
			cut := append([]model.Message{}, whole[:n]...)
			cut = append(cut, model.Message{Role: whole[n].Role, Content: whole[n].Content[:blocks]})
			repaired := builtin.Repair(cut)
			require.GreaterOrEqual(t, len(repaired), n)
			require.Equal(t, whole[:n], append([]model.Message{}, repaired[:n]...))
		}
	}
}
