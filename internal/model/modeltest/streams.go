package modeltest

import (
	"fmt"
	"strings"
)

// EventStreamBody returns the body of an event stream with these data lines and [DONE] at
// its end.
func EventStreamBody(data ...string) string {
	var all strings.Builder
	for _, d := range data {
		all.WriteString("data: " + d + "\n\n")
	}
	return all.String() + "data: [DONE]\n\n"
}

// ChunkWithDelta returns the JSON of a chat completion chunk with this delta.
func ChunkWithDelta(delta string) string { return `{"choices":[{"index":0,"delta":` + delta + `}]}` }

// ChunkWithFinishReason returns the JSON of the chat completion chunk that ends a reply
// with this finish_reason.
func ChunkWithFinishReason(reason string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}

// ChatStream is the body of a response of a server that is compatible with Chat Completions,
// and the JSON of the reply in it.
type ChatStream struct{ Body, Reply string }

// ChatStreams returns responses of compatible servers, which differ in many ways from
// OpenAI's, by what is special about them.
func ChatStreams() map[string]ChatStream {
	text := []string{ChunkWithDelta(`{"role":"assistant","content":"Hel"}`), ChunkWithDelta(`{"content":"lo"}`), ChunkWithFinishReason("stop")}
	hello := `{"content":[{"type":"text","text":"Hello"}],"stop_reason":"end_turn","usage":{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}}`
	calls := func(stop string, blocks ...string) string {
		return `{"content":[` + strings.Join(blocks, ",") + `],"stop_reason":"` + stop + `","usage":{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}}`
	}
	use := func(id, name, input string) string {
		return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":%s}`, id, name, input)
	}
	tool := func(call string) string { return ChunkWithDelta(`{"tool_calls":[` + call + `]}`) }
	return map[string]ChatStream{
		"plain":                        {EventStreamBody(text...), hello},
		"without [DONE]":               {strings.TrimSuffix(EventStreamBody(text...), "data: [DONE]\n\n"), hello},
		"more after [DONE]":            {EventStreamBody(text...) + "data: {broken\n\n", hello},
		"CRLF":                         {strings.ReplaceAll(EventStreamBody(text...), "\n", "\r\n"), hello},
		"no space behind the colon":    {strings.ReplaceAll(EventStreamBody(text...), "data: ", "data:"), hello},
		"one line break":               {strings.ReplaceAll(EventStreamBody(text...), "\n\n", "\n"), hello},
		"comments and names":           {": OPENROUTER PROCESSING\n\nevent: message\nid: 1\nretry: 5\n" + EventStreamBody(text...), hello},
		"white space first":            {"\n\n " + EventStreamBody(text...), hello},
		"empty deltas":                 {EventStreamBody(ChunkWithDelta(`{}`), ChunkWithDelta(`{"content":null,"tool_calls":null}`), text[0], ChunkWithDelta(`{"content":""}`), text[1], `{"choices":[{"index":0}]}`, text[2]), hello},
		"no choices":                   {EventStreamBody(`{"choices":[],"prompt_filter_results":[]}`, `{}`, text[0], text[1], text[2]), hello},
		"the first of several":         {EventStreamBody(text[0], `{"choices":[{"index":1,"delta":{"content":"Bye"},"finish_reason":"length"}]}`, text[1], text[2]), hello},
		"finish with the last text":    {EventStreamBody(text[0], `{"choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":"stop"}],"usage":null}`), hello},
		"parts for a text":             {EventStreamBody(ChunkWithDelta(`{"content":[{"type":"text","text":"Hel"},{"type":"text","text":"lo"}]}`), text[2]), hello},
		"whole, of no type":            {`{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}]}`, hello},
		"refused":                      {EventStreamBody(ChunkWithDelta(`{"refusal":"Hello"}`), text[2]), strings.Replace(hello, "end_turn", "refusal", 1)},
		"usage last":                   {EventStreamBody(append(text, `{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30}}}`)...), strings.Replace(hello, `"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0`, `"input_tokens":10,"output_tokens":7,"cache_creation_input_tokens":30,"cache_read_input_tokens":60`, 1)},
		"usage that makes no sense":    {EventStreamBody(append(text, `{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":-7,"prompt_tokens_details":{"cached_tokens":-60}}}`)...), strings.Replace(hello, `"input_tokens":0`, `"input_tokens":1`, 1)},
		"usage all along":              {EventStreamBody(`{"choices":[{"index":0,"delta":{"content":"Hello"}}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`), strings.Replace(hello, `"input_tokens":0,"output_tokens":0`, `"input_tokens":3,"output_tokens":2`, 1)},
		"reasoning_content":            {EventStreamBody(ChunkWithDelta(`{"reasoning_content":"hm"}`), ChunkWithDelta(`{"content":"x"}`), ChunkWithFinishReason("stop")), calls("end_turn", `{"type":"thinking","thinking":"hm","signature":""}`, `{"type":"text","text":"x"}`)},
		"reasoning":                    {EventStreamBody(ChunkWithDelta(`{"reasoning":"hm"}`), ChunkWithDelta(`{"content":"x"}`), ChunkWithFinishReason("stop")), calls("end_turn", `{"type":"thinking","thinking":"hm","signature":""}`, `{"type":"text","text":"x"}`)},
		"reasoning said twice":         {EventStreamBody(ChunkWithDelta(`{"reasoning":"hm","reasoning_content":"hm"}`), ChunkWithFinishReason("stop")), calls("end_turn", `{"type":"thinking","thinking":"hm","signature":""}`)},
		"a call in pieces":             {EventStreamBody(tool(`{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}`), tool(`{"index":0,"function":{"arguments":"{\"x\":"}}`), tool(`{"index":0,"function":{"arguments":"1}"}}`), ChunkWithFinishReason("tool_calls")), calls("tool_use", use("a", "f", `{"x":1}`))},
		"two, by index":                {EventStreamBody(tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`), tool(`{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}`), tool(`{"index":0,"function":{"arguments":":1}"}}`), ChunkWithFinishReason("tool_calls")), calls("tool_use", use("a", "f", `{"x":1}`), use("b", "g", `{}`))},
		"two whole ones":               {EventStreamBody(tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}`), ChunkWithFinishReason("tool_calls")), calls("tool_use", use("a", "f", `{}`), use("b", "g", `{}`))},
		"two whole ones, index 0":      {EventStreamBody(tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), tool(`{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}`), ChunkWithFinishReason("tool_calls")), calls("tool_use", use("a", "f", `{}`), use("b", "g", `{}`))},
		"no index":                     {EventStreamBody(tool(`{"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`), tool(`{"function":{"arguments":"1}"}}`), tool(`{"id":"b","function":{"name":"g","arguments":"{"}}`), tool(`{"id":"b","function":{"arguments":"}"}}`), ChunkWithFinishReason("tool_calls")), calls("tool_use", use("a", "f", `{"x":1}`), use("b", "g", `{}`))},
		"no ids":                       {EventStreamBody(tool(`{"index":0,"function":{"name":"f","arguments":"{}"}}`), tool(`{"index":1,"function":{"name":"f","arguments":"{}"}}`), ChunkWithFinishReason("tool_calls")), calls("tool_use", use("call_1", "f", `{}`), use("call_2", "f", `{}`))},
		"neither index nor ids":        {EventStreamBody(tool(`{"function":{"name":"f","arguments":"{}"}}`), tool(`{"function":{"name":"f","arguments":"{}"}}`), ChunkWithFinishReason("tool_calls")), calls("tool_use", use("call_1", "f", `{}`), use("call_2", "f", `{}`))},
		"one id for two":               {EventStreamBody(tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), tool(`{"index":1,"id":"a","function":{"name":"g","arguments":"{}"}}`), ChunkWithFinishReason("tool_calls")), calls("tool_use", use("a", "f", `{}`), use("call_1", "g", `{}`))},
		"name and id in every piece":   {EventStreamBody(tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}`), tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"}"}}`), ChunkWithFinishReason("tool_calls")), calls("tool_use", use("a", "f", `{}`))},
		"the name comes late":          {EventStreamBody(tool(`{"index":0,"id":"a","function":{"arguments":"{"}}`), tool(`{"index":0,"function":{"name":"f","arguments":"}"}}`), ChunkWithFinishReason("tool_calls")), calls("tool_use", use("a", "f", `{}`))},
		"arguments are an object":      {EventStreamBody(tool(`{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}`), ChunkWithFinishReason("tool_calls")), calls("tool_use", use("a", "f", `{"x":1}`))},
		"no arguments":                 {EventStreamBody(tool(`{"index":0,"id":"a","function":{"name":"f","arguments":null}}`), tool(`{"index":1,"id":"b","function":{"name":"f"}}`), ChunkWithFinishReason("tool_calls")), calls("tool_use", use("a", "f", `{}`), use("b", "f", `{}`))},
		"arguments are no object":      {EventStreamBody(tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"[1]"}}`), ChunkWithFinishReason("tool_calls")), calls("tool_use", use("a", "f", `{"invalid_json":"[1]"}`))},
		"arguments are cut":            {EventStreamBody(tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`), ChunkWithFinishReason("length")), calls("max_tokens", use("a", "f", `{"invalid_json":"{\"x\""}`))},
		"a function call of old":       {EventStreamBody(ChunkWithDelta(`{"function_call":{"name":"f","arguments":"{"}}`), ChunkWithDelta(`{"function_call":{"arguments":"}"}}`), ChunkWithFinishReason("function_call")), calls("tool_use", use("call_1", "f", `{}`))},
		"stop, though there is a call": {EventStreamBody(tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), ChunkWithFinishReason("stop")), calls("end_turn", use("a", "f", `{}`))},
	}
}
