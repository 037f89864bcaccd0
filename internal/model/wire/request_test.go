package wire_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/modeltest"
	"assay/internal/model/wire"
)

// requireDecodes requires that a body decodes to a request whose JSON, as that of the
// Messages API, is want.
func requireDecodes(t *testing.T, api wire.API, body, want string) {
	t.Helper()
	req, err := wire.DecodeRequest(api, []byte(body))
	require.NoError(t, err, body)
	got, err := req.Encode(req.Model)
	require.NoError(t, err)
	require.JSONEq(t, want, string(got))
}

func TestDecodeMessagesRequest(t *testing.T) {
	t.Parallel()
	requireDecodes(t, wire.Messages, `{"model":"m","max_tokens":32000,"stream":true,"temperature":1,"metadata":{"user_id":"u"},"service_tier":"auto",
		"system":[{"type":"text","text":"You are","cache_control":{"type":"ephemeral","ttl":"1h"}}],
		"thinking":{"type":"enabled","budget_tokens":2048,"display":"summarized"},"output_config":{"effort":"high"},
		"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},
		"tools":[{"name":"f","description":"d","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}},{"type":"custom","name":"g","input_schema":{"type":"object"}}],
		"tool_choice":{"type":"auto","disable_parallel_tool_use":true},
		"messages":[{"role":"user","content":"hi"},
			{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"a","citations":null},{"type":"tool_use","id":"t","name":"f","input":{"x":1.50}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"no"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]},
			{"role":"system","content":"be brief"}]}`,
		`{"model":"m","max_tokens":32000,"temperature":1,"thinking":{"type":"enabled","budget_tokens":2048},"reasoning_effort":"high",
		"system":[{"type":"text","text":"You are","cache_control":{"type":"ephemeral"}},{"type":"text","text":"be brief"}],
		"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]},
			{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"a"},{"type":"tool_use","id":"t","name":"f","input":{"x":1.50}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":[{"type":"text","text":"no"}]},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]}],
		"tools":[{"name":"f","description":"d","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}},{"name":"g","input_schema":{"type":"object"}}]}`)
}

func TestDecodeChatRequest(t *testing.T) {
	t.Parallel()
	requireDecodes(t, wire.Chat, `{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":9,"temperature":0.5,"reasoning_effort":"low",
		"n":1,"top_p":1.0,"presence_penalty":0,"logprobs":false,"stop":null,"logit_bias":{},"response_format":{"type":"text"},"modalities":["text"],"seed":7,
		"user":"u","store":true,"metadata":{},"service_tier":"auto","parallel_tool_calls":false,"prompt_cache_key":"k","verbosity":"low","prediction":null,"novelty":{},
		"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"},"strict":true}},{"type":"function","function":{"name":"g"}}],"tool_choice":"auto",
		"messages":[{"role":"system","content":"You are"},{"role":"developer","content":[{"type":"text","text":"State"}]},
			{"role":"user","name":"me","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk=","detail":"low"}}]},
			{"role":"assistant","content":"","reasoning_content":"hm","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1.50}"}},{"id":"b","function":{"name":"g","arguments":"{"}}]},
			{"role":"tool","tool_call_id":"a","content":"r"},{"role":"tool","tool_call_id":"b","content":[{"type":"text","text":"[The tool failed.]\nno"}]},{"role":"user","content":"go on"},
			{"role":"assistant","content":null,"refusal":"I cannot"},{"role":"user","content":""}]}`,
		`{"model":"m","max_tokens":9,"temperature":0.5,"reasoning_effort":"low","system":[{"type":"text","text":"You are"},{"type":"text","text":"State"}],
		"messages":[{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{"x":1.50}},{"type":"tool_use","id":"b","name":"g","input":{"invalid_json":"{"}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"r"}]},{"type":"tool_result","tool_use_id":"b","is_error":true,"content":[{"type":"text","text":"no"}]},{"type":"text","text":"go on"}]},
			{"role":"assistant","content":[{"type":"text","text":"I cannot"}]}],
		"tools":[{"name":"f","description":"d","input_schema":{"type":"object"}},{"name":"g","input_schema":{"type":"object","properties":{}}}]}`)
	requireDecodes(t, wire.Chat, `{"model":"m","max_tokens":7,"tool_choice":"none","messages":[]}`, `{"model":"m","max_tokens":7,"messages":[]}`)
}

func TestDecodeResponsesRequest(t *testing.T) {
	t.Parallel()
	requireDecodes(t, wire.Responses, `{"model":"m","input":"hi"}`, `{"model":"m","max_tokens":16000,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`)
	requireDecodes(t, wire.Responses, `{"model":"m","stream":true,"store":false,"include":["reasoning.encrypted_content"],"max_output_tokens":99,"temperature":0.5,
		"instructions":"You are","reasoning":{"effort":"medium","summary":"auto"},"text":{"format":{"type":"text"},"verbosity":"low"},"truncation":"auto","background":false,"previous_response_id":null,
		"parallel_tool_calls":true,"prompt_cache_key":"k","metadata":{},"service_tier":"auto","tool_choice":"auto",
		"tools":[{"type":"function","name":"f","description":"d","parameters":{"type":"object"},"strict":true}],
		"input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"State"}]},{"role":"user","content":"look"},
			{"type":"message","role":"user","content":[{"type":"input_text","text":"here"},{"type":"input_image","image_url":"data:image/png;base64,aGk=","detail":"auto"}]},
			{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"thinking:c2ln"},
			{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"redacted_thinking:x"},
			{"type":"reasoning","id":"rs_3","summary":[{"type":"summary_text","text":"theirs"}],"encrypted_content":"gAAAA"},
			{"type":"reasoning","id":"rs_4","summary":[{"type":"summary_text","text":"unsigned"}],"encrypted_content":"thinking:"},
			{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"a","annotations":[]},{"type":"refusal","refusal":"b"}]},
			{"type":"function_call","id":"fc_1","call_id":"t","name":"f","arguments":"{\"x\":1.50}"},{"type":"function_call","call_id":"u","name":"f","arguments":""},
			{"type":"function_call_output","call_id":"t","output":"r"},
			{"type":"function_call_output","call_id":"u","output":[{"type":"input_text","text":"[The tool failed.]\nplot"},{"type":"input_image","image_url":"data:image/png;base64,aGk="}]}]}`,
		`{"model":"m","max_tokens":99,"temperature":0.5,"reasoning_effort":"medium","system":[{"type":"text","text":"You are"},{"type":"text","text":"State"}],
		"messages":[{"role":"user","content":[{"type":"text","text":"look"},{"type":"text","text":"here"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]},
			{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"tool_use","id":"t","name":"f","input":{"x":1.50}},{"type":"tool_use","id":"u","name":"f","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"r"}]},{"type":"tool_result","tool_use_id":"u","is_error":true,"content":[{"type":"text","text":"plot"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]}]}],
		"tools":[{"name":"f","description":"d","input_schema":{"type":"object"}}]}`)
}

// What cannot be translated is named. The members of each body are put into a valid request.
func TestDecodeRequestRejects(t *testing.T) {
	t.Parallel()
	type rejected struct{ member, want string }
	message := func(content string) string { return `"messages":[{"role":"user","content":[` + content + `]}]` }
	item := func(item string) string { return `"input":[` + item + `]` }
	for api, cases := range map[wire.API][]rejected{
		wire.Messages: {
			{`"max_tokens":"9"`, "max_tokens: must not be a JSON string"},
			{`"max_tokens":-1`, "the limit of tokens must not be negative"},
			{`"top_k":3`, "top_k: 3 cannot be translated"},
			{`"top_p":0.5`, "top_p: 0.5 cannot be translated"},
			{`"stop_sequences":["x"]`, "stop_sequences: cannot be translated"},
			{`"mcp_servers":[{}]`, "mcp_servers: cannot be translated"},
			{`"container":"c"`, "container: c cannot be translated"},
			{`"output_format":{"type":"json_schema"}`, "output_format: cannot be translated"},
			{`"output_config":{"format":{"type":"json_schema"}}`, "output_config.format: cannot be translated"},
			{`"tool_choice":{"type":"any"}`, "tool_choice: any cannot be translated"},
			{`"tool_choice":{"type":"tool","name":"f"}`, "tool_choice: tool cannot be translated"},
			{`"tool_choice":{"type":"none"},"tools":[{"name":"f","input_schema":{"type":"object"}}]`, "tool_choice: none cannot be translated"},
			{`"tools":[{"name":"f","input_schema":{}},{"type":"web_search_20250305","name":"w"}]`, "tools.1.type: web_search_20250305 cannot be translated"},
			{`"tools":[7]`, "tools.0: must not be a JSON number"},
			{`"tools":[{"name":7}]`, "tools.0.name: must not be a JSON number"},
			{`"system":7`, "system: must not be a JSON number"},
			{`"system":[{"type":"novel"}]`, "system.0.type: novel cannot be translated"},
			{`"messages":[{"role":"tool","content":"x"}]`, "messages.0.role: tool cannot be translated"},
			{`"messages":[7]`, "messages.0: must not be a JSON number"},
			{message(`{"type":"text","text":"a"},{"type":"document","source":{}}`), "messages.0.content.1.type: document cannot be translated"},
			{message(`{"type":"image","source":{"type":"url","url":"https://x"}}`), "messages.0.content.0.source.type: url cannot be translated"},
			{message(`{"type":"tool_result","tool_use_id":"a","content":[{"type":"search_result"}]}`), "messages.0.content.0.content.0.type: search_result cannot be translated"},
			{message(`{"text":"x"}`), "messages.0: a block has no type"},
		},
		wire.Chat: {
			{`"n":2`, "n: 2 cannot be translated"},
			{`"logprobs":true`, "logprobs: true cannot be translated"},
			{`"top_logprobs":3`, "top_logprobs: 3 cannot be translated"},
			{`"top_p":0.5`, "top_p: 0.5 cannot be translated"},
			{`"frequency_penalty":0.1`, "frequency_penalty: 0.1 cannot be translated"},
			{`"logit_bias":{"1":2}`, "logit_bias: cannot be translated"},
			{`"stop":"x"`, "stop: x cannot be translated"},
			{`"response_format":{"type":"json_schema","json_schema":{}}`, "response_format: cannot be translated"},
			{`"modalities":["text","audio"]`, "modalities: cannot be translated"},
			{`"audio":{"voice":"x"}`, "audio: cannot be translated"},
			{`"functions":[{"name":"f"}]`, "functions: cannot be translated"},
			{`"function_call":"auto"`, "function_call: auto cannot be translated"},
			{`"web_search_options":{}`, "web_search_options: cannot be translated"},
			{`"tool_choice":"required"`, "tool_choice: required cannot be translated"},
			{`"tool_choice":{"type":"function","function":{"name":"f"}}`, "tool_choice: function cannot be translated"},
			{`"tools":[{"type":"custom","custom":{"name":"f"}}]`, "tools.0.type: custom cannot be translated"},
			{`"messages":{}`, "messages: must not be a JSON object"},
			{`"messages":[{"role":"function","content":"x"}]`, "messages.0.role: function cannot be translated"},
			{message(`{"type":"input_audio","input_audio":{}}`), "messages.0.content.0.type: input_audio cannot be translated"},
			{message(`{"type":"file","file":{}}`), "messages.0.content.0.type: file cannot be translated"},
			{message(`{"type":"image_url","image_url":{"url":"https://x/a.png"}}`), "messages.0.content.0.image_url: only an image in a data URL can be translated"},
			{message(`{"type":"image_url"}`), "messages.0.content.0.image_url: only an image in a data URL can be translated"},
			{message(`7`), "messages.0.content.0: must be a part of the content"},
			{`"messages":[{"role":"user","content":7}]`, "messages.0.content: must be a string or a list of parts"},
			{`"messages":[{"role":"assistant","audio":{"id":"x"}}]`, "messages.0.audio: cannot be translated"},
			{`"messages":[{"role":"assistant","function_call":{"name":"f"}}]`, "messages.0.function_call: cannot be translated"},
			{`"messages":[{"role":"assistant","tool_calls":[{"id":"a","type":"custom","custom":{}}]}]`, "messages.0.tool_calls.0.type: custom cannot be translated"},
		},
		wire.Responses: {
			{`"previous_response_id":"resp_1"`, "previous_response_id: resp_1 cannot be translated"},
			{`"conversation":{"id":"c"}`, "conversation: cannot be translated"},
			{`"prompt":{"id":"p"}`, "prompt: cannot be translated"},
			{`"background":true`, "background: true cannot be translated"},
			{`"top_p":0.5`, "top_p: 0.5 cannot be translated"},
			{`"max_tool_calls":3`, "max_tool_calls: 3 cannot be translated"},
			{`"text":{"format":{"type":"json_schema","name":"x","schema":{}}}`, "text.format.type: json_schema cannot be translated"},
			{`"include":["reasoning.encrypted_content","message.output_text.logprobs"]`, "include.1: message.output_text.logprobs cannot be translated"},
			{`"tool_choice":"required"`, "tool_choice: required cannot be translated"},
			{`"tools":[{"type":"function","name":"f"},{"type":"web_search"}]`, "tools.1.type: web_search cannot be translated"},
			{`"instructions":7`, "instructions: must be a string or a list of parts"},
			{`"input":7`, "input: must be a string or a list of items"},
			{item(`7`), "input.0: must not be a JSON number"},
			{item(`{"type":"item_reference","id":"x"}`), "input.0.type: item_reference cannot be translated"},
			{item(`{"role":"user","content":"x"},{"type":"local_shell_call"}`), "input.1.type: local_shell_call cannot be translated"},
			{item(`{"role":"critic","content":"x"}`), "input.0.role: critic cannot be translated"},
			{item(`{"role":"user","content":[{"type":"input_file","file_id":"x"}]}`), "input.0.content.0.type: input_file cannot be translated"},
			{item(`{"role":"user","content":[{"type":"input_image","file_id":"x"}]}`), "input.0.content.0.image_url: only an image in a data URL can be translated"},
			{item(`{"type":"function_call","call_id":"a","name":"f","arguments":{}}`), "input.0.arguments: must not be a JSON object"},
			{item(`{"type":"function_call_output","call_id":"a","output":[{"type":"input_file"}]}`), "input.0.output.0.type: input_file cannot be translated"},
		},
	} {
		for _, c := range cases {
			_, err := wire.DecodeRequest(api, []byte(strings.Replace(minimalRequest(api, false), `{"model"`, `{`+c.member+`,"model"`, 1)))
			if strings.Contains(c.member, `"messages"`) || strings.Contains(c.member, `"input"`) || strings.Contains(c.member, `"max_tokens"`) {
				_, err = wire.DecodeRequest(api, []byte(`{"model":"m",`+c.member+`}`))
			}
			require.Error(t, err, c.member)
			require.True(t, strings.HasPrefix(err.Error(), c.want), "%s: %v", c.member, err)
			require.NotContains(t, err.Error(), "\n")
		}
	}
	_, err := wire.DecodeRequest(wire.Chat, []byte(`{"model"`))
	require.ErrorContains(t, err, "the body is no JSON object")
}

// DecodeMessages keeps what DecodeRequest rejects.
func TestDecodeMessagesKeepsWhatIsUntranslatable(t *testing.T) {
	t.Parallel()
	for api, c := range map[wire.API][2]string{
		wire.Messages:  {`{"top_k":1,"messages":[{"role":"user","content":[{"type":"document","x":1}]}]}`, `[{"role":"user","content":[{"type":"document","x":1}]}]`},
		wire.Chat:      {`{"n":2,"tools":[{"type":"custom"}],"messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"file","file":{}},{"type":"image_url","image_url":{"url":"https://x"}}]},{"role":"assistant","content":""}]}`, `[{"role":"user","content":[{"type":"file","file":{}},{"type":"image_url","image_url":{"url":"https://x"}}]},{"role":"assistant","content":[]}]`},
		wire.Responses: {`{"previous_response_id":"x","input":[{"type":"local_shell_call","id":"l"},{"type":"local_shell_call_output","id":"l"}]}`, `[{"role":"assistant","content":[{"type":"local_shell_call","id":"l"}]},{"role":"user","content":[{"type":"local_shell_call_output","id":"l"}]}]`},
	} {
		got, err := wire.DecodeMessages(api, []byte(c[0]))
		require.NoError(t, err)
		require.JSONEq(t, c[1], modeltest.MustMarshalJSON(t, got))
	}
}

// What the clients send decodes to the request that they got.
func TestDecodeWhatClientsSend(t *testing.T) {
	t.Parallel()
	half := 0.5
	req := model.Request{
		Params: model.Params{MaxTokens: 99, Temperature: &half},
		System: []model.Block{model.Text("You are <b>")},
		Messages: []model.Message{
			modeltest.UserMessage(model.Text("look"), model.Image("image/png", "aGk=")),
			modeltest.AssistantMessage(model.Text("c"), model.ToolUse("a", "f", []byte(`{"z":1,"a":2.50}`)), model.ToolUse("b", "f", []byte(`{}`))),
			modeltest.UserMessage(modeltest.ToolResultBlock("a", "r"), model.ToolResult("b", true, model.Text("no")), model.Text("go on")),
		},
		Tools: []model.Tool{{Name: "f", Description: "d", InputSchema: []byte(`{"type":"object"}`)}},
	}
	for api, newClient := range map[wire.API]func(*testing.T, http.Handler) model.Client{wire.Messages: modeltest.AnthropicClientOfHandler, wire.Chat: modeltest.OpenAIClientOfHandler} {
		var body []byte
		client := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ = io.ReadAll(r.Body)
			w.WriteHeader(http.StatusTeapot)
		}))
		_, err := client.Complete(t.Context(), req, nil)
		require.Error(t, err)
		got, err := wire.DecodeRequest(api, body)
		require.NoError(t, err)
		got.Model = ""
		require.Equal(t, req, got, string(body))
	}
}

// Any body gives a request that can be encoded, or an error of one line.
func FuzzDecodeRequest(f *testing.F) {
	for i, api := range apis() {
		f.Add(byte(i), minimalRequest(api, true))
	}
	f.Add(byte(0), `{"model":"m","max_tokens":9,"system":"x","tools":[{"name":"a","input_schema":{"type":"object"}}],"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"r"}]}]}`)
	f.Add(byte(1), `{"model":"m","tools":[{"type":"function","function":{"name":"a"}}],"messages":[{"role":"user","content":[{"type":"text","text":"x"}]},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"n","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"r"}]}`)
	f.Add(byte(2), `{"model":"m","input":[{"type":"reasoning","summary":[],"encrypted_content":"thinking:x"},{"type":"function_call","call_id":"a","name":"n","arguments":"{"},{"type":"function_call_output","call_id":"a","output":"r"},{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,"}]}]}`)
	f.Fuzz(func(t *testing.T, which byte, body string) {
		api := apis()[int(which)%len(apis())]
		req, err := wire.DecodeRequest(api, []byte(body))
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		text, err := req.Encode("m")
		require.NoError(t, err)
		require.True(t, json.Valid(text))
		_, err = wire.DecodeMessages(api, []byte(body))
		require.NoError(t, err)
	})
}
