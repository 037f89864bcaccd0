package script_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/modeltest"
	"assay/internal/model/script"
)

func TestParseErrorsNameFileAndLine(t *testing.T) {
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
		_, err := script.Parse("s.jsonl", []byte(text))
		require.ErrorContains(t, err, want, "script %q", text)
	}
}

// The conversation alone selects the reply: several conversations may be played at
// once, in any order and more than once.
func TestConversationSelectsReply(t *testing.T) {
	t.Parallel()
	lines := `{"content":"zero"}
{"content":[{"type":"tool_use","name":"get_context","input":{}}]}
{"content":"two"}
{"content":"three"}`
	zero, one := modeltest.AssistantMessage(model.Text("zero")), modeltest.AssistantMessage(modeltest.ToolCallBlock("toolu_1_0", "get_context"))
	answered := modeltest.UserMessage(modeltest.ToolResultBlock("toolu_1_0", "x"))
	for name, client := range modeltest.ScriptAndMockClients(t, lines) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 2 {
				modeltest.RequireReplyText(t, client, "zero", modeltest.UserTextMessage("a"))
				modeltest.RequireReplyText(t, client, "zero", modeltest.UserTextMessage("a"), modeltest.UserTextMessage("never answered"))
				reply, err := modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("a"), zero, modeltest.UserTextMessage("b"))
				require.NoError(t, err)
				require.Equal(t, "toolu_1_0", reply.Content[0].ID)
				require.Equal(t, model.StopToolUse, reply.StopReason)
				modeltest.RequireReplyText(t, client, "two", modeltest.UserTextMessage("a"), zero, modeltest.UserTextMessage("b"), one, answered)
				modeltest.RequireReplyText(t, client, "two", modeltest.UserTextMessage("the beginning is lost"), one, answered)
				modeltest.RequireReplyText(t, client, "three", modeltest.UserTextMessage("lost"), one, answered, modeltest.AssistantMessage(model.Text("two")), modeltest.UserTextMessage("c"))
			}
			_, err := modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("lost"), one, answered, modeltest.AssistantMessage(model.Text("two")), modeltest.UserTextMessage("c"), modeltest.AssistantMessage(model.Text("three")), modeltest.UserTextMessage("d"))
			require.ErrorContains(t, err, "script.jsonl: the script has 4 replies and one more was asked for")
		})
	}
}

func TestScriptedErrorsComeOnceEach(t *testing.T) {
	t.Parallel()
	lines := `{"error":{"status":429,"retry_after":1.5}}
{"error":{"status":529,"body":{"type":"error","error":{"type":"overloaded_error","message":"busy"}}}}
{"content":"zero"}
{"error":{"status":500,"body":"plain text"}}
{"content":"one"}`
	zero := []model.Message{modeltest.UserTextMessage("a"), modeltest.AssistantMessage(model.Text("zero")), modeltest.UserTextMessage("b")}
	for name, client := range modeltest.ScriptAndMockClients(t, lines) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("a"))
			modeltest.RequireAPIError(t, err, 429, "rate_limit_error", 1500*time.Millisecond)
			_, err = modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("a"))
			modeltest.RequireAPIError(t, err, 529, "overloaded_error", 0)
			require.ErrorContains(t, err, "busy")
			modeltest.RequireReplyText(t, client, "zero", modeltest.UserTextMessage("a"))
			_, err = modeltest.Ask(t.Context(), client, zero...)
			modeltest.RequireAPIError(t, err, 500, "api_error", 0)
			modeltest.RequireReplyText(t, client, "one", zero...)
		})
	}
}

func TestCellVariablesInToolInputs(t *testing.T) {
	t.Parallel()
	lines := `{"content":[{"type":"tool_use","name":"create_cell","input":{}},{"type":"tool_use","name":"create_cell","input":{}},{"type":"tool_use","name":"mcp__nb__create_markdown_cell","input":{}}]}
{"content":[{"type":"tool_use","name":"run_cell","input":{"cell_id":"$cell[1]","also":["see $cell[0]."]}}]}
{"content":[{"type":"tool_use","name":"run_cell","input":{"cell_id":"$cell[2]"}}]}`
	made := []model.Message{
		modeltest.UserTextMessage("go"),
		modeltest.AssistantMessage(modeltest.ToolCallBlock("toolu_0_0", "create_cell"), modeltest.ToolCallBlock("toolu_0_1", "create_cell"), modeltest.ToolCallBlock("toolu_0_2", "mcp__nb__create_markdown_cell")),
		modeltest.UserMessage(modeltest.ToolResultBlock("toolu_0_0", "cell_id: c-1\nstatus: ok"), model.ToolResult("toolu_0_1", true, model.Text("cell_id: none")), modeltest.ToolResultBlock("toolu_0_2", `{"cell_id": "m\"2"}`)),
	}
	for name, client := range modeltest.ScriptAndMockClients(t, lines) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply, err := modeltest.Ask(t.Context(), client, made...)
			require.NoError(t, err)
			require.JSONEq(t, `{"cell_id":"m\\","also":["see c-1."]}`, string(reply.Content[0].Input))
			more := append(made[:3:3], modeltest.AssistantMessage(modeltest.ToolCallBlock("toolu_1_0", "run_cell")), modeltest.UserMessage(modeltest.ToolResultBlock("toolu_1_0", "ok")))
			_, err = modeltest.Ask(t.Context(), client, more...)
			require.ErrorContains(t, err, "script.jsonl:3: input of run_cell: $cell[2]: only 2 cells were created so far")
		})
	}
}

func TestReplyExpectations(t *testing.T) {
	t.Parallel()
	lines := `{"content":"a","expect":{"last_user_contains":"sum"}}
{"content":"b","expect":{"tool_result_contains":"42","last_user_contains":"nudge"}}`
	for name, client := range modeltest.ScriptAndMockClients(t, lines) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			modeltest.RequireReplyText(t, client, "a", modeltest.UserTextMessage("the sum of it"))
			_, err := modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("the product"))
			require.ErrorContains(t, err, `script.jsonl:1: expected the last user message to contain "sum", found "the product"`)

			begin := []model.Message{modeltest.UserTextMessage("sum"), modeltest.AssistantMessage(modeltest.ToolCallBlock("x", "run_cell"))}
			_, err = modeltest.Ask(t.Context(), client, append(begin[:2:2], modeltest.UserMessage(modeltest.ToolResultBlock("x", "41")), modeltest.UserTextMessage("nudge"))...)
			require.ErrorContains(t, err, `script.jsonl:2: expected a tool result to contain "42", found "41"`)
			modeltest.RequireReplyText(t, client, "b", append(begin[:2:2], modeltest.UserMessage(modeltest.ToolResultBlock("x", "42")), modeltest.UserTextMessage("nudge"))...)
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"content":"a"}`))
	f.Add([]byte(`{"content":[{"type":"tool_use","name":"x","input":{"a":"$cell[0]"}}],"stop_reason":"max_tokens","expect":{"last_user_contains":""}}`))
	f.Add([]byte(`{"content":"a","fault":{"stall_ms":1e9,"after":2}}`))
	f.Add([]byte(`{"content":[{"type":"x"},{"type":"text","text":"a"}],"fault":{"garbage":"event","after":3}}`))
	f.Add([]byte(`{"content":"a","fault":{"error":{"type":"t","message":"m"},"after":1}}` + "\n" + `{"fault":{"cut":3}}`))
	f.Add([]byte("{\"error\":{\"status\":429,\"body\":\"x\",\"retry_after\":1}}\n{\"content\":[]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := script.Parse("s", data)
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "s:"))
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond) // a script may have a delay
		defer cancel()
		if reply, err := modeltest.Ask(ctx, s.Client(), modeltest.UserTextMessage("go")); err == nil {
			modeltest.MustMarshalJSON(t, reply)
		}
	})
}

// Invalid Unicode in the scripted input of a tool is replaced, and nothing else is
// changed.
func TestInputUnicodeIsRepaired(t *testing.T) {
	t.Parallel()
	line := `{"content":[{"type":"tool_use","id":"a","name":"n","input":{"x":"\ud83e","y":1.0}}]}`
	for name, client := range modeltest.ScriptAndMockClients(t, line) {
		reply, err := modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go"))
		require.NoError(t, err)
		require.Equal(t, `{"x":"\ufffd","y":1.0}`, string(reply.Content[0].Input), name)
	}
}
