package model_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
)

func TestScript_FaultsNameFileAndLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":      "s.jsonl: the script has no replies",
		"\n \n": "s.jsonl: the script has no replies",
		`{"content":"a"}` + "\n\n" + `{"contnet":"b"}`: `s.jsonl:3: json: unknown field "contnet"`,
		`{"content":"a"`:                         "s.jsonl:1: unexpected EOF",
		`{"content":"a"} {"content":"b"}`:        "s.jsonl:1: more than one reply on a line",
		`{}`:                                     "s.jsonl:1: a reply has content, error or fault",
		`{"content":"a","error":{"status":429}}`: "s.jsonl:1: a reply with an error has neither content nor fault",
		`{"error":{"status":429},"fault":{"cut":1}}`:   "s.jsonl:1: a reply with an error has neither content nor fault",
		`{"error":{"status":200}}`:                     "s.jsonl:1: the status of an error is from 400 to 599, not 200",
		`{"content":[{"type":"tool_use"}]}`:            "s.jsonl:1: content: the tool_use at 0 has no name",
		`{"content":[{"text":"a"}]}`:                   "s.jsonl:1: content: a block has no type",
		`{"content":"a","delay_ms":-1}`:                "s.jsonl:1: delay_ms must be from 0 to a day",
		`{"error":{"status":429,"retry_after":1e300}}`: "s.jsonl:1: retry_after must be from 0 to a day",
		`{"content":5}`:                                "s.jsonl:1: content: ",
	} {
		_, err := model.ParseScript("s.jsonl", []byte(text))
		require.ErrorContains(t, err, want, "script %q", text)
	}
}

func TestScript_OpenReadsTheFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "s.jsonl")
	_, err := model.Open("script:"+file, model.Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(file, []byte(`{"content":"hi"}`), 0o600))
	client, err := model.Open("script:"+file, model.Options{})
	require.NoError(t, err)
	reply, err := ask(t.Context(), client, says("go"))
	require.NoError(t, err)
	require.Equal(t, "hi", model.PlainText(reply.Content))
}

// The position hangs on the conversation alone, so that conversations may be
// played side by side, in any order and more than once.
func TestScript_TheConversationSaysWhatComesNext(t *testing.T) {
	t.Parallel()
	lines := `{"content":"zero"}
{"content":[{"type":"tool_use","name":"get_context","input":{}}]}
{"content":"two"}
{"content":"three"}`
	zero, one := assistant(model.Text("zero")), assistant(call("toolu_1_0", "get_context"))
	answered := user(result("toolu_1_0", "x"))
	for name, client := range both(t, lines) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 2 {
				requireText(t, client, "zero", says("a"))
				requireText(t, client, "zero", says("a"), says("never answered"))
				reply, err := ask(t.Context(), client, says("a"), zero, says("b"))
				require.NoError(t, err)
				require.Equal(t, "toolu_1_0", reply.Content[0].ID)
				require.Equal(t, model.StopToolUse, reply.StopReason)
				requireText(t, client, "two", says("a"), zero, says("b"), one, answered)
				requireText(t, client, "two", says("the beginning is lost"), one, answered)
				requireText(t, client, "three", says("lost"), one, answered, assistant(model.Text("two")), says("c"))
			}
			_, err := ask(t.Context(), client, says("lost"), one, answered, assistant(model.Text("two")), says("c"), assistant(model.Text("three")), says("d"))
			require.ErrorContains(t, err, "script.jsonl: the script has 4 replies and one more was asked for")
		})
	}
}

func requireText(t *testing.T, client model.Client, want string, messages ...model.Message) {
	t.Helper()
	reply, err := ask(t.Context(), client, messages...)
	require.NoError(t, err)
	require.Equal(t, want, model.PlainText(reply.Content))
}

func TestScript_RefusalsComeOnceEach(t *testing.T) {
	t.Parallel()
	lines := `{"error":{"status":429,"retry_after":1.5}}
{"error":{"status":529,"body":{"type":"error","error":{"type":"overloaded_error","message":"busy"}}}}
{"content":"zero"}
{"error":{"status":500,"body":"plain text"}}
{"content":"one"}`
	zero := []model.Message{says("a"), assistant(model.Text("zero")), says("b")}
	for name, client := range both(t, lines) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ask(t.Context(), client, says("a"))
			requireAPI(t, err, 429, "rate_limit_error", 1500*time.Millisecond)
			_, err = ask(t.Context(), client, says("a"))
			requireAPI(t, err, 529, "overloaded_error", 0)
			require.ErrorContains(t, err, "busy")
			requireText(t, client, "zero", says("a"))
			_, err = ask(t.Context(), client, zero...)
			requireAPI(t, err, 500, "api_error", 0)
			requireText(t, client, "one", zero...)
		})
	}
}

func requireAPI(t *testing.T, err error, status int, kind string, wait time.Duration) {
	t.Helper()
	var api *model.APIError
	require.ErrorAs(t, err, &api)
	require.Equal(t, status, api.Status)
	require.Equal(t, kind, api.Type)
	require.Equal(t, wait, api.RetryAfter)
}

func TestScript_CellsAreFilledIn(t *testing.T) {
	t.Parallel()
	lines := `{"content":[{"type":"tool_use","name":"create_cell","input":{}},{"type":"tool_use","name":"create_cell","input":{}},{"type":"tool_use","name":"mcp__nb__create_markdown_cell","input":{}}]}
{"content":[{"type":"tool_use","name":"run_cell","input":{"cell_id":"$cell[1]","also":["see $cell[0]."]}}]}
{"content":[{"type":"tool_use","name":"run_cell","input":{"cell_id":"$cell[2]"}}]}`
	made := []model.Message{
		says("go"),
		assistant(call("toolu_0_0", "create_cell"), call("toolu_0_1", "create_cell"), call("toolu_0_2", "mcp__nb__create_markdown_cell")),
		user(result("toolu_0_0", "cell_id: c-1\nstatus: ok"), model.ToolResult("toolu_0_1", true, model.Text("cell_id: none")), result("toolu_0_2", `{"cell_id": "m\"2"}`)),
	}
	for name, client := range both(t, lines) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply, err := ask(t.Context(), client, made...)
			require.NoError(t, err)
			require.JSONEq(t, `{"cell_id":"m\\","also":["see c-1."]}`, string(reply.Content[0].Input))
			more := append(made[:3:3], assistant(call("toolu_1_0", "run_cell")), user(result("toolu_1_0", "ok")))
			_, err = ask(t.Context(), client, more...)
			require.ErrorContains(t, err, "script.jsonl:3: input of run_cell: $cell[2]: only 2 cells were created so far")
		})
	}
}

func TestScript_Expectations(t *testing.T) {
	t.Parallel()
	lines := `{"content":"a","expect":{"last_user_contains":"sum"}}
{"content":"b","expect":{"tool_result_contains":"42","last_user_contains":"nudge"}}`
	for name, client := range both(t, lines) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireText(t, client, "a", says("the sum of it"))
			_, err := ask(t.Context(), client, says("the product"))
			require.ErrorContains(t, err, `script.jsonl:1: expected the last user message to contain "sum", found "the product"`)

			begin := []model.Message{says("sum"), assistant(call("x", "run_cell"))}
			_, err = ask(t.Context(), client, append(begin[:2:2], user(result("x", "41")), says("nudge"))...)
			require.ErrorContains(t, err, `script.jsonl:2: expected a tool result to contain "42", found "41"`)
			requireText(t, client, "b", append(begin[:2:2], user(result("x", "42")), says("nudge"))...)
		})
	}
}

func TestOpen_UnknownModelsAreOneClearError(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "gpt", "anthropic/", "script:", "replay:", "anthropic"} {
		_, err := model.Open(name, model.Options{APIKey: "k"})
		require.EqualError(t, err, `unknown model "`+name+`": known are anthropic/<id>, openai/<id>, script:FILE and replay:FILE`)
	}
	_, err := model.Open("anthropic/claude", model.Options{})
	require.EqualError(t, err, "the model anthropic/claude needs an API key: set ANTHROPIC_API_KEY")
}

func TestContextExceeded(t *testing.T) {
	t.Parallel()
	client := script(t, `{"error":{"status":400,"body":{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 5 tokens"}}}}
{"error":{"status":413}}
{"error":{"status":400}}`).Client()
	for _, want := range []bool{true, true, false} {
		_, err := ask(t.Context(), client, says("go"))
		require.Equal(t, want, model.ContextExceeded(err), "%v", err)
	}
	require.False(t, model.ContextExceeded(errors.New("prompt is too long")))
}

func FuzzParseScript(f *testing.F) {
	f.Add([]byte(`{"content":"a"}`))
	f.Add([]byte(`{"content":[{"type":"tool_use","name":"x","input":{"a":"$cell[0]"}}],"stop_reason":"max_tokens","expect":{"last_user_contains":""}}`))
	f.Add([]byte(`{"content":"a","fault":{"stall_ms":1e9,"after":2}}`))
	f.Add([]byte(`{"content":[{"type":"x"},{"type":"text","text":"a"}],"fault":{"garbage":"event","after":3}}`))
	f.Add([]byte(`{"content":"a","fault":{"error":{"type":"t","message":"m"},"after":1}}` + "\n" + `{"fault":{"cut":3}}`))
	f.Add([]byte("{\"error\":{\"status\":429,\"body\":\"x\",\"retry_after\":1}}\n{\"content\":[]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := model.ParseScript("s", data)
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "s:"))
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond) // a script may ask for a delay
		defer cancel()
		if reply, err := ask(ctx, s.Client(), says("go")); err == nil {
			asJSON(t, reply)
		}
	})
}
