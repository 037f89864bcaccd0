package web_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"assay/eval/batch"
	"assay/eval/runs"
	"assay/internal/model/calllog"
	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/internal/trace/flow"
	"assay/server"
	"assay/server/api"
	"assay/server/endpoint"
)

func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite the generated TypeScript files")
	goleak.VerifyTestMain(m)
}

// source says which Go structs a TypeScript interface and its schema are generated
// from. Structs that their fields refer to are generated too.
type source struct {
	name    string // of the interface; empty: that of the Go struct
	structs []any  // one value of each struct whose fields the interface has
	partial bool   // each field may be absent, as in files of unfinished attempts and of older versions
	strict  bool   // a field of a wrong type makes the whole value invalid
}

// wireTypes returns the messages and parts of messages on the WebSockets.
func wireTypes() []source {
	return []source{
		{structs: []any{protocol.StartCell{}}, strict: true},
		{structs: []any{protocol.KernelStdio{}}},
		{structs: []any{protocol.CellOutput{}}},
		{structs: []any{protocol.RunQueue{}}, strict: true},
		{structs: []any{protocol.CellCommand{}}},
		{structs: []any{protocol.AgentInit{}}},
		{structs: []any{protocol.AgentQuery{}}},
		{structs: []any{protocol.AgentCommand{}}},
		{structs: []any{protocol.AgentAction{}}},
		{structs: []any{protocol.ActionResponse{}}},
		{structs: []any{protocol.AgentStatus{}}},
		{structs: []any{protocol.AgentEvent{}}},
		{structs: []any{protocol.AgentError{}}},
		{structs: []any{protocol.HistoryEntry{}}},
		{structs: []any{protocol.HistoryUpdated{}}},
		{structs: []any{protocol.StreamFrame{}}},
		{structs: []any{protocol.UsageUpdate{}}},
		{structs: []any{protocol.ErrorResponse{}}, name: "ErrorMessage"},
		{structs: []any{protocol.ManagedProcessExit{}}},
		{structs: []any{notebook.Cell{}}, name: "WireCell", strict: true},
		{structs: []any{notebook.ExecutionsSnapshot{}}},
		{structs: []any{notebook.State{}}, name: "NotebookSnapshot"},
		{structs: []any{notebook.Event{}}, name: "NotebookEvent", strict: true},
		{structs: []any{server.AliveMessage{}}},
		{structs: []any{server.ReadyMessage{}}},
		{structs: []any{server.EvalResultMessage{}}},
	}
}

// configTypes returns the API responses that every page reads before it shows anything.
// They are in a file of their own, to keep the schemas of later responses out of the
// scripts that load first.
func configTypes() []source {
	return []source{
		{structs: []any{endpoint.Problem{}}},
		{structs: []any{server.PublicConfig{}}},
	}
}

// sessionTypes returns the API responses that the console reads to show a session.
func sessionTypes() []source {
	return []source{
		{structs: []any{server.SessionDetail{}}},
		{structs: []any{api.TracePage{}}},
	}
}

// apiTypes returns the API responses that are read after the first paint.
func apiTypes() []source {
	return []source{
		{structs: []any{server.ProcessOutput{}}},
		{structs: []any{runs.Info{}, runs.ListedRun{}, api.RunDetail{}}, name: "RunItem", partial: true},
		{structs: []any{api.RunPage{}}},
		{structs: []any{numbered{}, runs.Attempt{}, runs.SkippedCase{}, runs.UnfinishedAttempt{}, summary{}}, name: "AttemptLine", partial: true},
		{structs: []any{api.AttemptPage{}}},
		{structs: []any{api.CasePage{}}},
		{structs: []any{api.FlowPage{}}},
		{structs: []any{flow.Summary{}}, name: "TraceStatistics"},
		{structs: []any{api.ModelRequest{}}},
		{structs: []any{calllog.Same{}}, name: "SameAsEarlierCall"},
		{structs: []any{api.NotebookAt{}}},
	}
}

// rawFields returns the fields of type json.RawMessage whose content is a generated
// type, by "Struct.Field". The content of any other one is unknown.
func rawFields() map[string]string {
	return map[string]string{
		"AttemptPage.Attempts":         "AttemptLine",
		"HistoryUpdated.Entry":         "HistoryEntry",
		"SessionDetail.Result":         "EvalResultMessage",
		"SessionDetail.PreviousResult": "EvalResultMessage",
	}
}

// numbered is what the API puts in front of a line of attempts.jsonl.
type numbered struct {
	N    int64  `json:"n"`    // number of the line
	Name string `json:"name"` // of the attempt's folder
}

// summary is what the page reads of the last line of attempts.jsonl, a batch.Summary.
type summary struct {
	PassRate batch.PassRate `json:"pass_rate"` // of the whole run
}

// TestGeneratedTypes checks that the committed TypeScript files are what the Go
// structs give. With -update it writes them.
func TestGeneratedTypes(t *testing.T) {
	t.Parallel()
	g := newGenerator(t)
	files := []struct {
		name  string
		types []source
	}{
		{"wire.gen.ts", wireTypes()},
		{"config.gen.ts", configTypes()},
		{"session.gen.ts", sessionTypes()},
		{"api.gen.ts", apiTypes()},
	}
	for _, file := range files {
		g.markPartialSources(file.types)
	}
	for _, file := range files {
		path := filepath.Join("src", "protocol", file.name)
		want := g.file(file.name, file.types)
		if flag.Lookup("update").Value.String() == "true" {
			require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
			continue
		}
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, want, string(got), "%s is out of date: run go test ./web -update, then .ci/node .ci/web build", path)
	}
	require.Len(t, g.raw, len(rawFields()), "rawFields names fields that do not exist")
}
