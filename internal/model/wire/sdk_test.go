package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/mockapi"
	"assay/internal/model/modeltest"
	"assay/internal/model/wire"
)

// translator is a server of all three APIs that asks a model client.
type translator struct{ client model.Client }

func (s translator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	api, _ := wire.APIOfPath(r.URL.Path)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	envelope, err := wire.ReadEnvelope(api, body)
	if err != nil {
		wire.WriteError(w, api, http.StatusBadRequest, "", err.Error())
		return
	}
	req, err := wire.DecodeRequest(api, body)
	if err != nil {
		wire.WriteError(w, api, http.StatusBadRequest, "", err.Error())
		return
	}
	writer := wire.NewReplyWriter(w, api, envelope, "1")
	resp, err := s.client.Complete(r.Context(), req, writer.WriteDelta)
	if err == nil {
		err = writer.Finish(resp)
	}
	if err != nil {
		refusal := &model.APIError{Status: http.StatusInternalServerError, Message: err.Error()}
		_ = errors.As(err, &refusal)
		writer.Fail(refusal)
	}
}

// sdkTurn is what an SDK makes of one reply: see testdata/sdks/calls.mjs.
type sdkTurn struct {
	Text     string    `json:"text"`
	Thinking string    `json:"thinking"`
	Calls    []sdkCall `json:"calls"`
	Stop     string    `json:"stop"`
	Usage    [4]int64  `json:"usage"`
	Error    *sdkError `json:"error"`
}

type sdkCall struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type sdkError struct {
	Status  int    `json:"status"`
	Type    string `json:"type"`
	Message string `json:"message"`
}

// runSDKs calls the servers at this URL with the SDKs of both vendors, and returns the turns
// of each conversation by its path.
func runSDKs(t *testing.T, url string, servers, cases []string) map[string][]sdkTurn {
	t.Helper()
	const installTimeout = 5 * time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), installTimeout)
	defer cancel()
	run := exec.CommandContext(ctx, "../../../.ci/node", "testdata/sdks/run", url, strings.Join(servers, ","), strings.Join(cases, ","))
	var stderr strings.Builder
	run.Stderr = &stderr
	out, err := run.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 77 && os.Getenv("CI") != "true" {
		t.Skipf("SKIPPED: %s", &stderr)
	}
	require.NoError(t, err, &stderr)
	var turns map[string][]sdkTurn
	require.NoError(t, json.Unmarshal(out, &turns), string(out))
	return turns
}

// stopName returns the name of a stop reason in an API.
func stopName(api wire.API, stop model.StopReason) string {
	names := map[wire.API]map[model.StopReason]string{
		wire.Chat:      {model.StopEndTurn: "stop", model.StopToolUse: "tool_calls", model.StopMaxTokens: "length", model.StopRefusal: "content_filter"},
		wire.Responses: {model.StopEndTurn: "completed", model.StopToolUse: "completed", model.StopMaxTokens: "max_output_tokens", model.StopRefusal: "content_filter"},
	}[api]
	if name, ok := names[stop]; ok {
		return name
	}
	return string(stop)
}

// sdkScripts returns scripts for the SDKs, by the name of the case, without faults.
func sdkScripts() map[string]string {
	return map[string]string{
		"conversation": `{"content":[{"type":"thinking","thinking":"hm, 数","signature":"c2ln"},{"type":"text","text":"naïve 数据分析 🧪 <a> & \"b\""},{"type":"tool_use","id":"call_a","name":"f","input":{"x":1}},{"type":"tool_use","id":"call_b","name":"f","input":{"s":"é🧪"}}],"usage":{"input_tokens":3,"output_tokens":5,"cache_creation_input_tokens":7,"cache_read_input_tokens":11}}
{"content":[{"type":"tool_use","id":"call_c","name":"f","input":{}}],"expect":{"tool_result_contains":"result"},"usage":{"input_tokens":2,"output_tokens":1}}
{"content":"done","expect":{"tool_result_contains":"result"},"usage":{"input_tokens":1,"output_tokens":1}}`,
		"cut":     `{"content":"abc","stop_reason":"max_tokens"}`,
		"refused": `{"content":"no","stop_reason":"refusal"}`,
		"strange": `{"content":"hm","stop_reason":"bored"}`,
		"nothing": `{"content":[]}`,
	}
}

// The SDKs of both vendors read what the package writes, streamed and whole: texts, thinking,
// tool calls, stop reasons and usage. What they send back is decoded.
func TestSDKs(t *testing.T) {
	t.Parallel()
	scripts := sdkScripts()
	scripts["busy"] = `{"error":{"status":429,"body":{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}}}`
	scripts["broken"] = `{"content":"some text that is long","fault":{"error":{"type":"overloaded_error","message":"Overloaded"},"after":5}}`
	mux := http.NewServeMux()
	servers, cases := []string{"mock", "translated"}, []string{}
	for name, lines := range scripts {
		cases = append(cases, name)
		for _, api := range apis() {
			for _, mode := range []string{"streamed", "whole"} {
				path := strings.Join([]string{name, string(api), mode}, "/")
				mux.Handle("/mock/"+path+"/", http.StripPrefix("/mock/"+path, mockapi.New(modeltest.ParseScript(t, lines), nil)))
				mux.Handle("/translated/"+path+"/", http.StripPrefix("/translated/"+path, translator{modeltest.ParseScript(t, lines).Client()}))
			}
		}
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	got := runSDKs(t, server.URL, servers, cases)
	for _, server := range servers {
		for _, api := range apis() {
			for _, mode := range []string{"streamed", "whole"} {
				for name, lines := range sdkScripts() {
					path := strings.Join([]string{server, name, string(api), mode}, "/")
					requireSDKTurns(t, api, lines, got[path], path)
				}
				path := strings.Join([]string{server, "busy", string(api), mode}, "/")
				require.Len(t, got[path], 1, path)
				require.Equal(t, http.StatusTooManyRequests, got[path][0].Error.Status, path)
				require.Equal(t, "rate_limit_error", got[path][0].Error.Type, path)
				require.Contains(t, got[path][0].Error.Message, "slow down", path)

				path = strings.Join([]string{server, "broken", string(api), mode}, "/")
				require.Len(t, got[path], 1, path)
				require.Equal(t, "overloaded_error", got[path][0].Error.Type, path)
				require.Contains(t, got[path][0].Error.Message, "Overloaded", path)
			}
		}
	}
}

// requireSDKTurns requires that the turns of a conversation are those of the script.
func requireSDKTurns(t *testing.T, api wire.API, lines string, got []sdkTurn, path string) {
	t.Helper()
	player := modeltest.ParseScript(t, lines).Client()
	messages := []model.Message{modeltest.UserTextMessage("go")}
	for i, turn := range got {
		require.Nil(t, turn.Error, "%s: %v", path, turn.Error)
		want, err := modeltest.Ask(t.Context(), player, messages...)
		require.NoError(t, err)
		require.Equal(t, model.ReplyText(want.Content), turn.Text, path)
		thinking := ""
		for _, b := range want.Content {
			thinking += b.Thinking
		}
		require.Equal(t, thinking, turn.Thinking, path)
		calls := model.ToolUses(want.Content)
		require.Len(t, turn.Calls, len(calls), path)
		var results []model.Block
		for n, call := range calls {
			require.Equal(t, []string{call.ID, call.Name}, []string{turn.Calls[n].ID, turn.Calls[n].Name}, path)
			require.JSONEq(t, string(call.Input), string(turn.Calls[n].Input), path)
			results = append(results, modeltest.ToolResultBlock(call.ID, "result"))
		}
		require.Equal(t, stopName(api, want.StopReason), turn.Stop, path)
		u := want.Usage
		require.Equal(t, [4]int64{u.InputTokens, u.OutputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens}, turn.Usage, path)
		messages = append(messages, modeltest.AssistantMessage(want.Content...), modeltest.UserMessage(results...))
		require.Equal(t, len(calls) == 0, i == len(got)-1, path)
	}
	require.NotEmpty(t, got, path)
}
