package builtin_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"assay/agent/builtin"
	"assay/internal/model"
	"assay/internal/model/mockapi"
	"assay/internal/model/script"
)

// judge asks the strict server whether it takes a transcript.
func judge(messages []model.Message) (int, string) {
	return judgeRequest(model.Request{Params: model.Params{MaxTokens: 9}, Messages: messages})
}

// judgeRequest is judge for a whole request.
func judgeRequest(req model.Request) (int, string) {
	req.Model = "m"
	script, err := script.Parse("s", []byte(strings.Repeat(`{"content":"ok"}`+"\n", len(req.Messages)+1)))
	if err != nil {
		return 0, err.Error()
	}
	body, err := json.Marshal(req)
	if err != nil {
		return 0, err.Error()
	}
	r := httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader(string(body)))
	r.Header.Set("X-Api-Key", "k")
	w := httptest.NewRecorder()
	mockapi.New(script, nil).ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func user(blocks ...model.Block) model.Message {
	return model.Message{Role: model.RoleUser, Content: blocks}
}

func assistant(blocks ...model.Block) model.Message {
	return model.Message{Role: model.RoleAssistant, Content: blocks}
}

func call(id string) model.Block { return model.ToolUse(id, "get_context", []byte(`{}`)) }

func answered(id string) model.Block { return model.ToolResult(id, false, model.Text("result "+id)) }

// sound is a transcript with all that occurs.
func sound() []model.Message {
	return []model.Message{
		user(model.Text("task")),
		assistant(model.Text("let me see"), call("a"), call("b")),
		user(answered("a"), answered("b")),
		assistant(model.Block{Type: model.BlockThinking, Thinking: "hm", Signature: "s"}, call("c")),
		user(answered("c")),
		assistant(model.Text("is it so?")),
		user(model.Text("yes")),
		assistant(call("d"), call("e"), call("f")),
		user(answered("d"), model.ToolResult("e", true, model.Text("no")), answered("f")),
		assistant(model.Text("done")),
	}
}

func TestCO4_SoundTranscriptsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	status, text := judge(sound())
	require.Equal(t, http.StatusOK, status, text)
	require.Equal(t, sound(), builtin.Repair(sound()))
	require.Empty(t, builtin.Repair(nil))
}

// A transcript cut by a kill, after any block of any message, is continued
// without a 400.
func TestCO4_CutAnywhere(t *testing.T) {
	t.Parallel()
	whole := sound()
	cuts := 0
	for n := range whole {
		for blocks := range len(whole[n].Content) + 1 {
			cut := append([]model.Message{}, whole[:n]...)
			cut = append(cut, model.Message{Role: whole[n].Role, Content: whole[n].Content[:blocks]})
			repaired := builtin.Repair(cut)
			require.Equal(t, repaired, builtin.Repair(repaired))
			goOn := append(repaired, user(model.Text("go on")))
			status, text := judge(goOn)
			require.Equal(t, http.StatusOK, status, "cut at %d.%d: %s", n, blocks, text)

			// The same when the next query came before the repair.
			status, text = judge(builtin.Repair(append(cut, user(model.Text("go on")))))
			require.Equal(t, http.StatusOK, status, "cut at %d.%d: %s", n, blocks, text)
			cuts++
		}
	}
	require.Equal(t, 28, cuts)
}

// Whatever a transcript has become, it is repaired into one that is taken.
func TestCO4_AnythingCanBeRepaired(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		messages := rapid.SliceOf(rapid.Custom(message)).Draw(t, "messages")
		repaired := builtin.Repair(messages)
		status, text := judge(append(repaired, user(model.Text("go on"))))
		if status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
		again, _ := json.Marshal(builtin.Repair(repaired))
		once, _ := json.Marshal(repaired)
		if string(again) != string(once) {
			t.Fatalf("repaired twice: %s, not %s", again, once)
		}
	})
}

func TestCO5_CompactingDropsWholeRounds(t *testing.T) {
	t.Parallel()
	messages := []model.Message{user(model.Text("task"))}
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		messages = append(messages, assistant(model.Text("now "+id), call(id)), user(answered(id)))
	}
	short, dropped := builtin.Compact(messages)
	require.Equal(t, 2, dropped)
	require.Len(t, short, len(messages)-4+1)
	require.Equal(t, messages[0], short[0])
	require.Contains(t, model.PlainText(short[1].Content), "dropped")
	require.Equal(t, messages[5:], short[2:])
	status, text := judge(short)
	require.Equal(t, http.StatusOK, status, text)

	same, dropped := builtin.Compact(short)
	require.Zero(t, dropped)
	require.Equal(t, short, same)
}
