package mockapi_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/mockapi"
	"assay/internal/model/modeltest"
)

// rejectedRequestCase is a test case: a request that the API accepts, and a change that makes
// the API reject it.
type rejectedRequestCase struct {
	valid    string // a whole body, or its messages
	old, new string // the change: old is replaced by new
	want     string // part of the refusal: the place and what is wrong there
}

// messageRequestBody returns the JSON body of a request with these messages and additional
// members.
func messageRequestBody(messages string, fields ...string) string {
	return `{"model":"m","max_tokens":2048,` + strings.Join(append(fields, `"messages":[`+messages+`]`), ",") + `}`
}

const (
	hi             = `{"role":"user","content":"hi"}`
	callA          = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":{}}]}`
	instruct       = `{"role":"system","content":"be brief"}`
	resultA        = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"r"}]}`
	callsAB        = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":{}},{"type":"tool_use","id":"b","name":"n","input":{}}]}`
	resultAB       = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"b"},{"type":"tool_result","tool_use_id":"a"}]}`
	tool           = `{"name":"t","input_schema":{"type":"object","properties":{"x":{}}}}`
	cachedBlock    = `{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`
	enableThinking = `"thinking":{"type":"enabled","budget_tokens":1024}`
	thinkingBlock  = `{"type":"thinking","thinking":"hm","signature":"sig"}`
)

// The mock server answers 400 and names the place for each request that the API
// rejects, and answers 200 to the same request without the fault.
func TestMessageRequestValidation(t *testing.T) {
	t.Parallel()
	for name, r := range allRejectedRequestCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.HasPrefix(r.valid, `{"role"`) {
				r.valid = messageRequestBody(r.valid)
			}
			require.Contains(t, r.valid, r.old)
			status, text := postToNewServer(t, r.valid)
			require.Equal(t, http.StatusOK, status, text)
			status, text = postToNewServer(t, strings.Replace(r.valid, r.old, r.new, 1))
			require.Equal(t, http.StatusBadRequest, status, text)
			require.Contains(t, text, `"type":"invalid_request_error"`)
			require.Contains(t, text, strings.ReplaceAll(r.want, `"`, `\"`))
		})
	}
}

// postToNewServer posts a body to a new mock server, whose script has thinking and ten
// replies, and returns the response's status and body.
func postToNewServer(t *testing.T, body string) (status int, text string) {
	t.Helper()
	many := `{"content":[` + thinkingBlock + `,{"type":"text","text":"ok"}]}` + "\n" + strings.Repeat(`{"content":"ok"}`+"\n", 9)
	return postMessageRequest(t, mockapi.New(modeltest.ParseScript(t, many), nil), body, nil)
}

func allRejectedRequestCases() map[string]rejectedRequestCase {
	all := map[string]rejectedRequestCase{}
	for _, some := range []map[string]rejectedRequestCase{rejectedSettingCases(), rejectedToolCases(), rejectedMessageCases(), rejectedToolPairCases(), rejectedCacheMarkerCases(), rejectedThinkingCases(), rejectedImageCases()} {
		maps.Copy(all, some)
	}
	return all
}

func rejectedSettingCases() map[string]rejectedRequestCase {
	return map[string]rejectedRequestCase{
		"JSON":              {hi, `{"model"`, `{"model`, "cannot be read"},
		"UTF-8":             {hi, `hi`, "h\xff", "cannot be read: it is not valid UTF-8"},
		"half a character":  {hi, `hi`, `\ud83d`, "half of a surrogate pair at byte"},
		"the other half":    {messageRequestBody(`{"role":"user","content":"\\ud83d \ud83d\ude00"}`), `\ud83d\ude00`, `\\\ude00`, "half of a surrogate pair at byte"},
		"model":             {hi, `"model":"m"`, `"model":""`, "model: required"},
		"max_tokens":        {hi, `"max_tokens":2048,`, ``, "max_tokens: required"},
		"no tokens":         {hi, `2048`, `0`, "max_tokens: must be at least 1"},
		"unknown field":     {messageRequestBody(hi, `"top_k":3`), `top_k`, `topk`, "topk: no such field is known"},
		"temperature":       {messageRequestBody(hi, `"temperature":1`), `"temperature":1`, `"temperature":1.5`, "temperature: must be from 0 to 1"},
		"top_p":             {messageRequestBody(hi, `"top_p":1`), `"top_p":1`, `"top_p":1.1`, "top_p: must be"},
		"top_k":             {messageRequestBody(hi, `"top_k":0`), `"top_k":0`, `"top_k":-1`, "top_k: must be"},
		"stop sequence":     {messageRequestBody(hi, `"stop_sequences":["a","b"]`), `"b"`, `" \n"`, "stop_sequences.1: must have more than white space"},
		"system of images":  {messageRequestBody(hi, `"system":[{"type":"text","text":"x"}]`), `"text","text":"x"`, `"image","source":{"type":"url"}`, "system.0.type: must be text"},
		"blank system":      {messageRequestBody(hi, `"system":[{"type":"text","text":"x"}]`), `"text":"x"`, `"text":" "`, "system.0: text must not be empty"},
		"shape of system":   {messageRequestBody(hi, `"system":"x"`), `"x"`, `5`, "system: "},
		"system as a whole": {messageRequestBody(hi, `"system":""`), `""`, `[{"type":"text","text":"x","loud":true}]`, "system.0.loud: no such field"},
	}
}

func rejectedToolCases() map[string]rejectedRequestCase {
	two := strings.Replace(tool, `"t"`, `"u"`, 1)
	withTools := func(fields ...string) string {
		return messageRequestBody(hi, append([]string{`"tools":[` + tool + `,` + two + `]`}, fields...)...)
	}
	choice := withTools(`"tool_choice":{"type":"tool","name":"u"}`)
	return map[string]rejectedRequestCase{
		"tools of one name":    {withTools(), `"u"`, `"t"`, `tools.1.name: the name "t" occurs more than once`},
		"name of a tool":       {withTools(), `"u"`, `"a.b"`, `tools.1.name: "a.b" is not a valid name`},
		"long name of a tool":  {withTools(), `"u"`, `"` + strings.Repeat("u", 129) + `"`, "tools.1.name: "},
		"schema":               {withTools(), `"object"`, `"array"`, "tools.0.input_schema.type: must be object"},
		"no schema":            {withTools(), `,"input_schema":{"type":"object","properties":{"x":{}}}`, ``, "tools.0.input_schema.type"},
		"top of a schema":      {withTools(), `"properties"`, `"anyOf":[],"properties"`, "tools.0.input_schema.anyOf: may not be at the top"},
		"name of a property":   {withTools(), `"x"`, `"the x"`, `tools.0.input_schema.properties: "the x" is not a valid name`},
		"properties":           {withTools(), `{"x":{}}`, `[]`, "tools.0.input_schema.properties: must be an object"},
		"choice without tools": {choice, `"tools":[` + tool + `,` + two + `],`, ``, "tool_choice: there are no tools"},
		"choice of no kind":    {choice, `"tool","name"`, `"some","name"`, `tool_choice.type: "some"`},
		"choice of no tool":    {choice, `"name":"u"},"m`, `"name":"v"},"m`, `there is no tool "v"`},
	}
}

func rejectedMessageCases() map[string]rejectedRequestCase {
	prefill := hi + `,{"role":"assistant","content":"And"}`
	return map[string]rejectedRequestCase{
		"messages":            {messageRequestBody(hi), hi, ``, "messages: at least one is required"},
		"first role":          {hi, `user`, `assistant`, "messages.0.role: the first"},
		"role":                {hi + "," + hi, `hi"},{"role":"user"`, `hi"},{"role":"tool"`, "messages.1.role: must be user, assistant or system"},
		"picture of system":   {hi + `,` + instruct + `,` + callA + `,` + resultA + `,` + instruct, `"be brief"`, `[` + pngBlock(1, 1) + `]`, "messages.1.content.0: a message of the system holds no image"},
		"call before system":  {hi + `,` + callA + `,` + resultA + `,` + instruct, resultA + `,`, ``, "messages.1: the tool_use a has no tool_result"},
		"field of a message":  {hi, `"role"`, `"id":1,"role"`, "messages.0.id: no such field"},
		"field of a block":    {`{"role":"user","content":[{"type":"text","text":"x"}]}`, `"text":"x"`, `"text":"x","loud":true`, "messages.0.content.0.loud: no such field"},
		"empty message":       {hi, `"hi"`, `[]`, "messages.0: the content must not be empty"},
		"empty middle":        {prefill + `,` + hi, `"And"`, `[]`, "messages.1: the content must not be empty"},
		"empty text":          {hi, `"hi"`, `""`, "messages.0.content.0: text must not be empty"},
		"blank text":          {`{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, `"b"`, `" \n"`, "messages.0.content.1: text must not be empty"},
		"end in white space":  {prefill, `And"`, `And "`, "messages.1: the last message, of the assistant, must not end with white space"},
		"input is an object":  {hi + `,` + callA + `,` + resultA, `"input":{}`, `"input":[]`, "messages.1.content.0: tool_use.input: must be an object"},
		"id of a call":        {strings.ReplaceAll(hi+`,`+callA+`,`+resultA, `"a"`, `"aa"`), `"id":"aa"`, `"id":"a a"`, "messages.1.content.0: tool_use.id"},
		"name in a call":      {hi + `,` + callA + `,` + resultA, `"name":"n"`, `"name":"n n"`, `messages.1.content.0: tool_use.name: "n n" is not a valid name`},
		"call of the user":    {hi + `,` + callA + `,` + resultA, `"hi"`, `[{"type":"tool_use","id":"z","name":"n","input":{}}]`, "messages.0.content.0: a tool_use belongs to the assistant"},
		"result of the model": {prefill + `,` + hi, `"And"`, `[{"type":"tool_result","tool_use_id":"a"}]`, "messages.1.content.0: a tool_result belongs to the user"},
		"text in a result":    {hi + `,` + callA + `,` + resultA, `"content":"r"`, `"content":[{"type":"text","text":""}]`, "messages.2.content.0: tool_result.content.0: text must not be empty"},
		"a call in a result":  {hi + `,` + callA + `,` + resultA, `"content":"r"`, `"content":[{"type":"tool_use","id":"z","name":"n"}]`, "tool_result.content.0.type: a result holds no tool_use"},
		"picture of an error": {hi + `,` + callA + `,` + strings.Replace(resultA, `"r"`, `[`+pngBlock(1, 1)+`]`, 1), `"tool_use_id"`, `"is_error":true,"tool_use_id"`, "tool_result.content.0.type: must be text, not image"},
	}
}

func rejectedToolPairCases() map[string]rejectedRequestCase {
	once, twice := hi+`,`+callA+`,`+resultA, hi+`,`+callsAB+`,`+resultAB
	again := once + `,` + strings.ReplaceAll(callA+`,`+resultA, `"a"`, `"c"`)
	return map[string]rejectedRequestCase{
		"call without result":    {once, resultA, hi, "messages.1: the tool_use a has no tool_result"},
		"call at the end":        {once, `,` + resultA, ``, "messages.1: the tool_use a has no tool_result"},
		"one of two":             {twice, `,{"type":"tool_result","tool_use_id":"a"}`, ``, "messages.1: the tool_use a has no tool_result"},
		"text before the result": {once, `[{"type":"tool_result"`, `[{"type":"text","text":"x"},{"type":"tool_result"`, "the tool_use a has no tool_result at the start"},
		"stray result":           {twice, `"tool_use_id":"b"},`, `"tool_use_id":"b"},{"type":"tool_result","tool_use_id":"c"},`, "messages.2: the tool_result for c has no tool_use"},
		"late result":            {hi + `,` + again + `,` + hi, hi + `]`, resultA + `]`, "messages.5: the tool_result for a has no tool_use"},
		"two results":            {twice, `"tool_use_id":"b"},`, `"tool_use_id":"b"},{"type":"tool_result","tool_use_id":"b"},`, "messages.2: more than one tool_result for b"},
		"id used twice":          {again, strings.ReplaceAll(callA+`,`+resultA, `"a"`, `"c"`), callA + `,` + resultA, "messages.3.content.0: tool_use.id: a occurs more than once"},
		"ids of one message":     {twice, `"id":"b"`, `"id":"a"`, "messages.1.content.1: tool_use.id: a occurs more than once"},
	}
}

func rejectedCacheMarkerCases() map[string]rejectedRequestCase {
	four := messageRequestBody(`{"role":"user","content":[`+cachedBlock+`,`+cachedBlock+`]}`, `"system":[`+cachedBlock+`]`, `"tools":[`+strings.Replace(tool, `{"name"`, `{"cache_control":{"type":"ephemeral"},"name"`, 1)+`]`)
	inResult := hi + `,` + callA + `,` + strings.Replace(resultA, `"r"`, `[`+strings.Repeat(cachedBlock+`,`, 3)+cachedBlock+`]`, 1)
	return map[string]rejectedRequestCase{
		"five markers":        {four, `"content":[`, `"content":[` + cachedBlock + `,`, "at most 4 cache_control markers may be set, found 5"},
		"one for all as well": {four, `{"model"`, `{"cache_control":{"type":"ephemeral"},"model"`, "found 5"},
		"five in a result":    {inResult, `"tool_use_id"`, `"cache_control":{"type":"ephemeral"},"tool_use_id"`, "found 5"},
		"kind of a marker":    {four, `"text":"x","cache_control":{"type":"ephemeral"}`, `"text":"x","cache_control":{}`, "system.0.cache_control.type: must be ephemeral"},
		"life of a marker":    {strings.Replace(four, `"ephemeral"}`, `"ephemeral","ttl":"5m"}`, 1), `5m`, `1d`, "system.0.cache_control.ttl: must be 5m or 1h"},
		"long after short":    {strings.Replace(four, `"text":"x","cache_control":{"type":"ephemeral"}}]`, `"text":"x","cache_control":{"type":"ephemeral","ttl":"5m"}}]`, 1), `5m`, `1h`, "system.0.cache_control.ttl: 1h must not come after 5m"},
		"marked thinking":     {hi + `,{"role":"assistant","content":[` + thinkingBlock + `]},` + hi, `"signature":"sig"`, `"signature":"sig","cache_control":{"type":"ephemeral"}`, "messages.1.content.0.cache_control: no such field"},
		"marked empty text":   {`{"role":"user","content":[` + cachedBlock + `]}`, `"text":"x"`, `"text":""`, "messages.0.content.0: text must not be empty"},
	}
}

func rejectedThinkingCases() map[string]rejectedRequestCase {
	thinks := messageRequestBody(hi, enableThinking, `"temperature":1`, `"tools":[`+tool+`]`, `"tool_choice":{"type":"auto"}`)
	round := messageRequestBody(hi+`,`+strings.Replace(callA, `[`, `[`+thinkingBlock+`,`, 1)+`,`+resultA, enableThinking)
	return map[string]rejectedRequestCase{
		"least budget":         {thinks, `1024`, `1023`, "thinking.budget_tokens: must be at least 1024"},
		"most budget":          {thinks, `1024`, `2048`, "thinking.budget_tokens: must be less than max_tokens"},
		"no budget":            {thinks, `,"budget_tokens":1024`, ``, "thinking.budget_tokens: required"},
		"budget of adaptive":   {thinks, `enabled`, `adaptive`, "thinking.budget_tokens: does not go with adaptive"},
		"budget of disabled":   {thinks, `enabled`, `disabled`, "thinking.budget_tokens: does not go with disabled"},
		"kind of thinking":     {thinks, `enabled`, `much`, `thinking.type: "much" is not`},
		"cool thinking":        {thinks, `"temperature":1`, `"temperature":0.5`, "temperature: must be 1 or absent"},
		"cool adaptive":        {messageRequestBody(hi, `"thinking":{"type":"adaptive"}`, `"temperature":1`), `"temperature":1`, `"temperature":0`, "temperature: must be 1 or absent"},
		"narrow thinking":      {thinks, `"temperature":1`, `"top_k":5`, "top_k: must be absent"},
		"forced thinking":      {thinks, `"auto"`, `"any"`, "tool_choice.type: must be auto or none"},
		"thoughts of a round":  {round, thinkingBlock + `,`, ``, "messages.1.content.0.type: must be thinking or redacted_thinking, not tool_use"},
		"unsigned thinking":    {round, `"sig"`, `""`, "messages.1.content.0: thinking.signature: required"},
		"altered thinking":     {round, `"hm"`, `"hum"`, "messages.1.content.0: thinking must come back as it was"},
		"altered signature":    {round, `"sig"`, `"gis"`, "messages.1.content.0: thinking must come back as it was"},
		"field of a signature": {round, `"signature"`, `"index":0,"signature"`, "messages.1.content.0.index: no such field"},
	}
}

func rejectedImageCases() map[string]rejectedRequestCase {
	small := pngBlock(1, 1)
	data := strings.Split(small, `"`)[17]
	show := func(n int, before ...string) string {
		return `{"role":"user","content":[` + strings.Join(append(before, slices.Repeat([]string{small}, n)...), ",") + `]}`
	}
	inResult := hi + `,` + callA + `,` + strings.Replace(resultA, `"r"`, `[`+pngBlock(2000, 1)+`]`, 1) + `,` + show(20)
	return map[string]rejectedRequestCase{
		"kind of image":       {show(1), `image/png`, `image/tiff`, `messages.0.content.0: image.source.media_type: "image/tiff" is not supported`},
		"another kind":        {show(1), `image/png`, `image/gif`, "image.source.media_type: the image is image/png, not image/gif"},
		"source of an image":  {show(1), `"base64"`, `"text"`, "image.source.type"},
		"base64":              {show(1), data, data[:len(data)-1], "image.source.data: no valid base64"},
		"empty image":         {show(1), data, ``, "image.source.data: must not be empty"},
		"no image":            {show(1), data, `aGk=`, "image.source.data: the image cannot be read"},
		"heavy image":         {show(1), data, data + strings.Repeat("A", 5<<20), "image.source.data: more than 5242880 bytes"},
		"broad image":         {show(0, pngBlock(8000, 1)), pngBlock(8000, 1), pngBlock(8001, 1), "image.source.data: a side has more than 8000 pixels"},
		"high image":          {show(0, pngBlock(1, 8000)), pngBlock(1, 8000), pngBlock(1, 8001), "a side has more than 8000 pixels"},
		"many images":         {show(100), `"content":[`, `"content":[` + small + `,`, "messages: more than 100 images"},
		"broad among many":    {show(20, pngBlock(2000, 1)), pngBlock(2000, 1), pngBlock(2001, 1), "messages.0.content.0: a side has more than 2000 pixels"},
		"one more with broad": {show(19, pngBlock(2001, 1)), `"content":[`, `"content":[` + small + `,`, "messages.0.content.1: a side has more than 2000 pixels"},
		"broad in a result":   {inResult, pngBlock(2000, 1), pngBlock(2001, 1), "messages.2.content.0.tool_result.content.0: a side has more than 2000 pixels"},
	}
}

// An image of each supported type is accepted.
func TestImagesOfEveryType(t *testing.T) {
	t.Parallel()
	var jpg, gifs bytes.Buffer
	require.NoError(t, jpeg.Encode(&jpg, image.NewGray(image.Rect(0, 0, 2, 3)), nil))
	require.NoError(t, gif.Encode(&gifs, image.NewGray(image.Rect(0, 0, 2, 3)), nil))
	webp := "RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00"
	for kind, data := range map[string][]byte{"image/jpeg": jpg.Bytes(), "image/gif": gifs.Bytes(), "image/webp": []byte(webp)} {
		body := modeltest.MustMarshalJSON(t, modeltest.UserMessage(model.Image(kind, base64.StdEncoding.EncodeToString(data))))
		status, text := postToNewServer(t, messageRequestBody(body))
		require.Equal(t, http.StatusOK, status, "%s: %s", kind, text)
	}
}

// A body of 32 MiB is read; a larger one gets status 413.
func TestRequestSizeLimit(t *testing.T) {
	t.Parallel()
	long := "{" + strings.Repeat("x", 32<<20-1)
	status, text := postToNewServer(t, long)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, text, "the body cannot be read")
	status, text = postToNewServer(t, long+"x")
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
	require.Contains(t, text, `"request_too_large"`)
}

// pngBlock returns the JSON of an image block that contains a single-colour PNG of this
// size.
func pngBlock(width, height int) string {
	var data bytes.Buffer
	_ = png.Encode(&data, image.NewGray(image.Rect(0, 0, width, height)))
	return fmt.Sprintf(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%s"}}`, base64.StdEncoding.EncodeToString(data.Bytes()))
}
