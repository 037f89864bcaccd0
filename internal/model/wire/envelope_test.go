package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model/wire"
)

func TestAPIOfPath(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]wire.API{"/v1/messages": wire.Messages, "/v1/chat/completions": wire.Chat, "/v1/responses": wire.Responses} {
		api, ok := wire.APIOfPath(path)
		require.True(t, ok)
		require.Equal(t, want, api)
		require.Equal(t, path, api.Path())
	}
	for _, path := range []string{"", "/", "/v1", "/v1/messages/", "/v1/messages/count_tokens", "/v1/models"} {
		_, ok := wire.APIOfPath(path)
		require.False(t, ok, path)
	}
	require.Equal(t, []string{"anthropic", "openai", "openai"}, []string{wire.Messages.Provider(), wire.Chat.Provider(), wire.Responses.Provider()})
}

func TestReadEnvelope(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]wire.Envelope{
		`{"model":"m"}`:                                                        {Model: "m", IncludesUsage: true},
		` { "stream" : true , "model" : "m" } `:                                {Model: "m", IsStreamed: true},
		`{"model":"m","stream":false}`:                                         {Model: "m", IncludesUsage: true},
		`{"model":"m","stream":null}`:                                          {Model: "m", IncludesUsage: true},
		`{"model":"a","stream":true,"model":"m"}`:                              {Model: "m", IsStreamed: true},
		`{"mod\u0065l":"\u00e9","MODEL":"x"}`:                                  {Model: "é", IncludesUsage: true},
		`{"x":{"model":"a"},"model":"m","y":[1,{}]}`:                           {Model: "m", IncludesUsage: true},
		`{"model":"m","stream":true,"stream_options":{"include_usage":true}}`:  {Model: "m", IsStreamed: true, IncludesUsage: true},
		`{"model":"m","stream":true,"stream_options":{"include_usage":false}}`: {Model: "m", IsStreamed: true},
		`{"model":"m","stream":true,"stream_options":null}`:                    {Model: "m", IsStreamed: true},
	} {
		got, err := wire.ReadEnvelope(wire.Chat, []byte(body))
		require.NoError(t, err, body)
		require.Equal(t, want, got, body)
		want.IncludesUsage = true
		for _, api := range []wire.API{wire.Messages, wire.Responses} {
			got, err := wire.ReadEnvelope(api, []byte(body))
			require.NoError(t, err, body)
			require.Equal(t, want, got, body)
		}
	}
}

func TestReadEnvelopeRejects(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		``:                                  "the body is empty",
		" \n":                               "the body is empty",
		`[]`:                                "the body is no JSON object: it begins otherwise",
		`"m"`:                               "the body is no JSON object: it begins otherwise",
		`hello`:                             "the body is no JSON object: ",
		`{"model":"m"`:                      "the body is no JSON object: ",
		`{"model":"m",}`:                    "the body is no JSON object: ",
		`{"model":"m"} {}`:                  "the body is no JSON object: more follows it",
		`{}`:                                "model: required",
		`{"model":null}`:                    "model: required",
		`{"model":""}`:                      "model: required",
		`{"Model":"m"}`:                     "model: required",
		`{"model":7}`:                       "model: must not be a JSON number",
		`{"model":["m"]}`:                   "model: must not be a JSON array",
		`{"model":"m","stream":"yes"}`:      "stream: must not be a JSON string",
		`{"model":"m","stream_options":[]}`: "stream_options: must not be a JSON array",
		`{"model":"m","stream_options":{"include_usage":1}}`: "stream_options.include_usage: must not be a JSON number",
	} {
		_, err := wire.ReadEnvelope(wire.Chat, []byte(body))
		require.ErrorContains(t, err, want, body)
		require.NotContains(t, err.Error(), "\n")
	}
}

func TestWithModel(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"model":"m"}`: `{"model":"a/\"b\""}`,
		" {\r\n\t\"model\" :  \"m\" , \"x\":1.50, \"y\":\"\\u00e9\" }\n": " {\r\n\t\"model\" :  \"a/\\\"b\\\"\" , \"x\":1.50, \"y\":\"\\u00e9\" }\n",
		`{"x":{"model":"m"},"model":"m","y":["model"]}`:                  `{"x":{"model":"m"},"model":"a/\"b\"","y":["model"]}`,
		`{"model":"1","model":"2"}`:                                      `{"model":"1","model":"a/\"b\""}`,
		`{"mod\u0065l":"m","Model":"M"}`:                                 `{"mod\u0065l":"a/\"b\"","Model":"M"}`,
		`{"model":null}`:                                                 `{"model":"a/\"b\""}`,
		"{\"x\":\"\xff\\ud800\",\"model\":\"m\"}":                        "{\"x\":\"\xff\\ud800\",\"model\":\"a/\\\"b\\\"\"}",
	} {
		got, err := wire.WithModel([]byte(body), `a/"b"`)
		require.NoError(t, err, body)
		require.Equal(t, want, string(got), body)
	}
	for _, body := range []string{``, `[]`, `{`, `{}`, `{"x":1}`} {
		_, err := wire.WithModel([]byte(body), "m")
		require.Error(t, err, body)
	}
}

func TestWithUsage(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"model":"m"}`:                 `{"stream_options":{"include_usage":true},"model":"m"}`,
		"\n{ \"model\":\"m\"}":          "\n{\"stream_options\":{\"include_usage\":true}, \"model\":\"m\"}",
		`{ }`:                           `{"stream_options":{"include_usage":true} }`,
		`{"stream_options":null,"x":1}`: `{"stream_options":{"include_usage":true},"x":1}`,
		`{"stream_options":{},"x":1}`:   `{"stream_options":{"include_usage":true},"x":1}`,
		`{"stream_options": {"include_usage" : 0}}`: `{"stream_options": {"include_usage" : true}}`,
		`{"stream_options":{"y":[{}]}}`:             `{"stream_options":{"include_usage":true,"y":[{}]}}`,
		`{"x":{"stream_options":1}}`:                `{"stream_options":{"include_usage":true},"x":{"stream_options":1}}`,
	} {
		got, err := wire.WithUsage([]byte(body))
		require.NoError(t, err, body)
		require.Equal(t, want, string(got), body)
	}
	for _, body := range []string{``, `[]`, `{"stream_options":1}`, `{"stream_options":"x"}`} {
		_, err := wire.WithUsage([]byte(body))
		require.Error(t, err, body)
	}
}

// A body that the project's decoder accepts is the same with another model, except for its
// model, and a body with usage differs in nothing else.
func FuzzWithModel(f *testing.F) {
	f.Add(`{"model":"m","stream":true,"stream_options":{"include_usage":false}}`, "x")
	f.Add(`{"a":[{"model":1}],"model":"1", "model" : null}`, "é\"\\")
	f.Fuzz(func(t *testing.T, body, name string) {
		changed, err := wire.WithModel([]byte(body), name)
		var before, after map[string]json.RawMessage
		if err != nil {
			return
		}
		require.NoError(t, json.Unmarshal([]byte(body), &before))
		require.NoError(t, json.Unmarshal(changed, &after))
		got, err := wire.ReadEnvelope(wire.Messages, changed)
		if err == nil {
			require.Equal(t, name, got.Model)
		}
		before["model"], after["model"] = nil, nil
		require.Equal(t, before, after)

		withUsage, err := wire.WithUsage([]byte(body))
		if err != nil {
			return
		}
		require.NoError(t, json.Unmarshal(withUsage, &after))
		var options struct {
			IncludeUsage bool `json:"include_usage"`
		}
		require.NoError(t, json.Unmarshal(after["stream_options"], &options))
		require.True(t, options.IncludeUsage)
	})
}
