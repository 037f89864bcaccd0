package session_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent"
	"assay/eval/session"
	"assay/internal/protocol"
	"assay/internal/trace"
)

// PK-11: when set_widget sets a widget that a cell of the agent has made, the cell that reads
// it runs again, and the collected state has the new value.
func TestPK11SetWidgetRerunsItsReader(t *testing.T) {
	t.Parallel()
	sup := newSupervisor(t)
	s := startSession(t, sup, session.Config{Kernel: pythonKernelConfig(t, sup), Agent: agent.Config{Command: childCommand("runs queries")}})
	run := func(source string) string {
		require.NoError(t, s.SendQuery(protocol.AgentQuery{Query: source}))
		return s.awaitEntry(t, "the cell's end", entryMatcher(trace.KernelToServer, protocol.TypeCellResult)).CellID
	}
	maker := run("from assay import w_slider\nn = w_slider('Number', max=5, key='n')")
	reader := run("print(n.value * 10)")
	key := maker + "/n"

	_, err := s.Router().Ask(t.Context(), "set_widget", map[string]any{"key": "elsewhere/n", "value": "4"})
	require.ErrorContains(t, err, "the key of a widget")
	_, err = s.Router().Ask(t.Context(), "set_widget", map[string]any{"key": key, "value": "4"})
	require.NoError(t, err)
	for _, want := range []string{protocol.TypeCellWidgets, protocol.TypeRunQueue, protocol.TypeStartCell} {
		s.awaitEntry(t, want, entryMatcher(trace.KernelToServer, want))
	}
	again := s.awaitEntry(t, "the reader's end", entryMatcher(trace.KernelToServer, protocol.TypeCellResult))
	require.Equal(t, reader, again.CellID)
	require.Equal(t, "ok", again.Status)

	state := s.CollectState(t.Context())
	require.Empty(t, state.Errors)
	var overview struct {
		Cells []struct {
			CellID  string            `json:"cell_id"`
			Status  string            `json:"status"`
			Outputs []json.RawMessage `json:"outputs"`
			Widgets []json.RawMessage `json:"widgets"`
		} `json:"cells"`
	}
	require.NoError(t, json.Unmarshal(state.Context, &overview))
	require.Len(t, overview.Cells, 2) // the newer cell comes first
	require.Equal(t, reader, overview.Cells[0].CellID)
	require.Equal(t, "ran", overview.Cells[0].Status)
	require.Len(t, overview.Cells[0].Outputs, 1)
	require.Contains(t, string(overview.Cells[0].Outputs[0]), `40\n`)
	require.Len(t, overview.Cells[1].Widgets, 1)
	require.JSONEq(t, `{"key":"`+key+`","type":"slider","label":"Number","value":4}`, string(overview.Cells[1].Widgets[0]))
	var reactivity struct {
		Cells map[string]map[string][]string `json:"cell_reactivity"`
	}
	require.NoError(t, json.Unmarshal(state.Reactivity, &reactivity))
	require.Equal(t, map[string]map[string][]string{
		maker:  {"signals_defined": {key}, "depends_on_signals": {}, "depends_on_cells": {}},
		reader: {"signals_defined": {}, "depends_on_signals": {key}, "depends_on_cells": {maker}},
	}, reactivity.Cells)
}
