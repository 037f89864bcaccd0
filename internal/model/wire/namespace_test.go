package wire_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/wire"
)

// groupedRequest is a request as Codex sends it: each MCP server's tools are in a namespace, which
// calls name beside the tool.
const groupedRequest = `{"model":"m","instructions":"Be brief.","tools":[
	{"type":"function","name":"shell","parameters":{"type":"object"}},
	{"type":"namespace","name":"mcp__notebook","description":"Tools of a notebook.","tools":[{"type":"function","name":"run","description":"Runs.","parameters":{"type":"object"}}]},
	{"type":"namespace","name":"mcp__files__","tools":[{"type":"function","name":"list","parameters":{"type":"object"}}]}],
	"input":[{"role":"user","content":"go"},
	{"type":"function_call","call_id":"a","name":"run","namespace":"mcp__notebook","arguments":"{}"},
	{"type":"function_call_output","call_id":"a","output":"1"}]}`

// A tool in a namespace has one name in a request of a model, and gets its namespace back in calls.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	request, err := wire.DecodeRequest(wire.Responses, []byte(groupedRequest))
	require.NoError(t, err)
	var names []string
	for _, tool := range request.Tools {
		names = append(names, tool.Name)
	}
	require.Equal(t, []string{"shell", "mcp__notebook__run", "mcp__files__list"}, names)
	require.Equal(t, "Runs.", request.Tools[1].Description)
	require.Equal(t, "Be brief.\n# Tools whose names begin with mcp__notebook__\n\nTools of a notebook.", model.JoinTextBlocks(request.System))
	require.Equal(t, "mcp__notebook__run", request.Messages[1].Content[0].Name)

	envelope, err := wire.ReadEnvelope(wire.Responses, []byte(groupedRequest))
	require.NoError(t, err)
	reply := &model.Response{StopReason: model.StopToolUse, Content: []model.Block{
		model.ToolUse("b", "mcp__notebook__run", []byte(`{}`)),
		model.ToolUse("c", "mcp__files__list", []byte(`{}`)),
		model.ToolUse("d", "shell", []byte(`{}`)),
		model.ToolUse("e", "mcp__notebook__other", []byte(`{}`)),
	}}
	for _, isStreamed := range []bool{false, true} {
		envelope.IsStreamed = isStreamed
		w := httptest.NewRecorder()
		require.NoError(t, wire.NewReplyWriter(w, wire.Responses, envelope, "1").Finish(reply))
		body := w.Body.String()
		require.Contains(t, body, `"name":"run","namespace":"mcp__notebook"`)
		require.Contains(t, body, `"name":"list","namespace":"mcp__files__"`)
		require.NotContains(t, body, `"mcp__notebook__run"`)
		reader := wire.NewReplyReader(wire.Responses, http.StatusOK, "")
		_, _ = reader.Write([]byte(body)) // never fails
		got := reader.Reply().Response
		require.NotNil(t, got, body)
		for i, call := range model.ToolUses(got.Content) {
			require.Equal(t, reply.Content[i].Name, call.Name)
		}
	}
}

// Tools of another form in a namespace cannot be translated, and do not stop a request that is forwarded.
func TestNamespaceOfOtherTools(t *testing.T) {
	t.Parallel()
	body := []byte(`{"model":"m","input":"go","tools":[{"type":"namespace","name":"n","tools":[{"type":"custom","name":"patch"}]},{"type":"x","name":7},"odd"]}`)
	_, err := wire.DecodeRequest(wire.Responses, []byte(`{"model":"m","input":"go","tools":[{"type":"namespace","name":"n","tools":[{"type":"custom","name":"patch"}]}]}`))
	require.EqualError(t, err, "tools.0.tools.0.type: custom cannot be translated")
	envelope, err := wire.ReadEnvelope(wire.Responses, body)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"n__patch": "n"}, envelope.Namespaces)
}
