package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"assay/internal/model"
)

// FailedResultPrefix begins the text of a failed tool's result in the APIs of OpenAI, which
// have no member that marks a failure.
const FailedResultPrefix = "[The tool failed.]\n"

// DecodeRequest converts the body of a request to what a [model.Client] takes: system
// prompt, messages, tools and settings. A member that [model.Request] cannot represent and
// that changes the reply is an error that begins with its place, such as
// "tools.2.type: computer_20250124 cannot be translated".
//
// It ignores what changes only storage, speed, caching, the format of the stream or the
// reply's verbosity, and members that it does not know. All texts of the roles system and
// developer become the system prompt, in their order. Reasoning is kept if it has the
// signature of a Messages model. DecodeRequest does not check what the vendor checks, such
// as names, limits, and that calls have results.
func DecodeRequest(api API, body []byte) (model.Request, error) {
	members, err := readBody(body)
	if err != nil {
		return model.Request{}, err
	}
	d := requestDecoder{body: body, members: members, isStrict: true}
	if err := d.checkNeutral(api); err != nil {
		return model.Request{}, err
	}
	return d.decode(api)
}

// DecodeMessages returns the messages of a request without its system prompt, as
// [DecodeRequest] does, but accepts all requests: a part of a message that cannot be
// translated becomes a block that keeps its JSON. JSON of wrong types is an error.
func DecodeMessages(api API, body []byte) ([]model.Message, error) {
	d := requestDecoder{body: body}
	req, err := d.decode(api)
	return req.Messages, err
}

// requestDecoder decodes one request.
type requestDecoder struct {
	body     []byte
	members  members // of the body, only if isStrict
	isStrict bool    // what cannot be translated is an error
	out      model.Request
}

func (d *requestDecoder) decode(api API) (model.Request, error) {
	var err error
	switch api {
	case Messages:
		err = d.decodeMessages()
	case Chat:
		err = d.decodeChat()
	default:
		err = d.decodeResponses()
	}
	if err == nil && d.isStrict && d.out.MaxTokens < 0 {
		err = errors.New("the limit of tokens must not be negative")
	}
	return d.out, err
}

// unmarshal decodes the body. Its error names the member.
func (d *requestDecoder) unmarshal(v any) error {
	if err := json.Unmarshal(d.body, v); err != nil {
		return memberError("", err)
	}
	return nil
}

// checkNeutral returns an error for a member at the top of the request that changes the
// reply and that a model.Request does not have, unless its value changes nothing.
func (d *requestDecoder) checkNeutral(api API) error {
	neutral := neutralValues(api)
	for _, name := range slices.Sorted(maps.Keys(neutral)) {
		at, ok := d.members[name]
		if !ok {
			continue
		}
		var value, unchanged any
		_ = json.Unmarshal(d.body[at.start:at.end], &value)   // it was read before
		_ = json.Unmarshal([]byte(neutral[name]), &unchanged) // "" is nil
		if value != nil && !reflect.DeepEqual(value, unchanged) {
			return untranslatable(name, d.body[at.start:at.end])
		}
	}
	return nil
}

// neutralValues returns the members of a request that change the reply and that a
// model.Request does not have, each with the JSON of the value that changes nothing, or
// "". Null never changes anything.
func neutralValues(api API) map[string]string {
	switch api {
	case Messages:
		return map[string]string{
			"container": "", "mcp_servers": "[]", "output_format": "", "stop_sequences": "[]", "top_k": "", "top_p": "1",
		}
	case Chat:
		return map[string]string{
			"audio": "", "frequency_penalty": "0", "function_call": "", "functions": "[]", "logit_bias": "{}", "logprobs": "false",
			"modalities": `["text"]`, "n": "1", "presence_penalty": "0", "response_format": `{"type":"text"}`, "stop": "[]",
			"top_logprobs": "0", "top_p": "1", "web_search_options": "",
		}
	default:
		return map[string]string{
			"background": "false", "conversation": "", "max_tool_calls": "", "previous_response_id": "", "prompt": "", "top_logprobs": "0", "top_p": "1",
		}
	}
}

// checkToolChoice returns an error unless the model chooses freely whether to call one of
// the tools. The choice is a string, or an object with a type.
func (d *requestDecoder) checkToolChoice(choice json.RawMessage) error {
	if !d.isStrict || isNull(choice) {
		return nil
	}
	var object struct {
		Type string `json:"type"`
	}
	kind := ""
	if json.Unmarshal(choice, &kind) != nil && json.Unmarshal(choice, &object) == nil {
		kind = object.Type
	}
	if kind == "auto" || kind == "none" && len(d.out.Tools) == 0 {
		return nil
	}
	return untranslatable("tool_choice", []byte(kind))
}

// addTool adds a tool to the request. A tool without a schema has no input.
func (d *requestDecoder) addTool(name, description string, schema json.RawMessage) {
	if isNull(schema) {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	d.out.Tools = append(d.out.Tools, model.Tool{Name: name, Description: description, InputSchema: schema})
}

// addToTurn adds content to the last message if it has the same role, or else a message.
func (d *requestDecoder) addToTurn(role string, content []model.Block) {
	if last := len(d.out.Messages) - 1; last >= 0 && d.out.Messages[last].Role == role {
		d.out.Messages[last].Content = append(d.out.Messages[last].Content, content...)
		return
	}
	d.addMessage(role, content)
}

// addMessage adds a message, unless it is empty and the vendor would refuse it.
func (d *requestDecoder) addMessage(role string, content []model.Block) {
	if len(content) > 0 || !d.isStrict {
		d.out.Messages = append(d.out.Messages, model.Message{Role: role, Content: content})
	}
}

// untranslatable returns the error for a value that cannot be translated.
func untranslatable(place string, value []byte) error {
	const mostShown = 60
	text := string(bytes.Trim(value, `"`))
	if text == "" || len(text) > mostShown || strings.ContainsAny(text, "{[\n") {
		return fmt.Errorf("%s: cannot be translated", place)
	}
	return fmt.Errorf("%s: %s cannot be translated", place, text)
}
