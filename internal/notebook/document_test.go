package notebook_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"assay/internal/notebook"
	"assay/internal/protocol"
)

func TestReplayedEventsGiveSameDocument(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var events []notebook.Event
		doc := notebook.NewDocument(notebook.DocumentConfig{
			OnEvent: func(e notebook.Event) { events = append(events, encodeAndDecodeEvent(t, e)) },
		})
		peer := serveDocument(t, doc)
		model := []notebook.Cell{} // the cells that the document should have
		for range rapid.IntRange(0, 30).Draw(t, "actions") {
			model = randomAction(t, peer, model)
		}
		require.Equal(t, model, doc.Cells())

		again, err := notebook.ReplayEvents(notebook.DocumentConfig{}, events)
		require.NoError(t, err)
		require.Equal(t, doc.Cells(), again.Cells())
	})
}

// randomAction carries out a random action on a document, which may fail, and returns the model
// of the cells as it must be after that.
func randomAction(t *rapid.T, peer *testPeer, model []notebook.Cell) []notebook.Cell {
	position := rapid.IntRange(-1, len(model)+1).Draw(t, "position")
	source := rapid.String().Draw(t, "source")
	id := "nobody"
	if position >= 0 && position < len(model) {
		id = model[position].ID
	}
	at := slices.IndexFunc(model, func(c notebook.Cell) bool { return c.ID == id })
	fits := position >= 0 && position <= len(model)
	switch rapid.SampledFrom([]string{"create", "note", "edit", "delete", "move", "run"}).Draw(t, "action") {
	case "create":
		kind := rapid.SampledFrom([]string{"code", "markdown", "raw"}).Draw(t, "kind")
		r := peer.sendAction("create_cell", map[string]any{"position": position, "cell_type": kind, "source": source, "title": "T"})
		if requireActionOutcome(t, r, fits && kind != "raw") {
			return slices.Insert(model, position, notebook.Cell{ID: r.CellID, Type: kind, Source: source, Title: "T", Revision: 1, ChangedBy: notebook.ByAgent})
		}
	case "note":
		r := peer.sendAction("create_markdown_cell", map[string]any{"position": position, "source": source})
		if requireActionOutcome(t, r, fits) {
			return slices.Insert(model, position, notebook.Cell{ID: r.CellID, Type: "markdown", Source: source, Revision: 1, ChangedBy: notebook.ByAgent})
		}
	case "edit":
		rev := rapid.IntRange(1, 3).Draw(t, "rev")
		r := peer.sendAction("edit_cell", map[string]any{"cell_id": id, "source": source, "rev": rev})
		if requireActionOutcome(t, r, at >= 0 && model[max(at, 0)].Revision == rev) && model[at].Source != source { // otherwise nothing changes
			model[at].Source, model[at].Revision, model[at].ChangedBy = source, rev+1, notebook.ByAgent
		}
	case "delete":
		if requireActionOutcome(t, peer.sendAction("delete_cell", map[string]any{"cell_id": id}), at >= 0) {
			return slices.Delete(model, at, at+1)
		}
	case "move":
		to := rapid.IntRange(-1, len(model)).Draw(t, "to")
		r := peer.sendAction("move_cell", map[string]any{"cell_id": id, "position": to})
		if requireActionOutcome(t, r, at >= 0 && to >= 0 && to < len(model)) {
			cell := model[at]
			return slices.Insert(slices.Delete(model, at, at+1), to, cell)
		}
	case "run":
		requireActionOutcome(t, peer.sendAction("run_cell", map[string]any{"cell_id": id}), at >= 0 && model[max(at, 0)].Type == "code")
	}
	return model
}

// requireActionOutcome fails the test if an action's answer reports success although failure is
// wanted, or the reverse. It returns whether the action succeeded.
func requireActionOutcome(t *rapid.T, r actionResponse, success bool) bool {
	require.Equal(t, success, r.Status == protocol.StatusSuccess, "%+v", r)
	require.Equal(t, success, r.Error == "")
	return success
}

// encodeAndDecodeEvent returns event e as it is read back from a trace, and checks that Event.JSON
// gives the same as json.Marshal.
func encodeAndDecodeEvent(t require.TestingT, e notebook.Event) notebook.Event {
	text := e.JSON()
	e.Type = notebook.EventType
	plain, err := json.Marshal(e)
	require.NoError(t, err)
	require.JSONEq(t, string(plain), string(text))
	var again notebook.Event
	require.NoError(t, json.Unmarshal(text, &again))
	return again
}

func TestApplyEventRefusesEventsThatDoNotFit(t *testing.T) {
	t.Parallel()
	place := func(n int) *int { return &n }
	source := "2"
	cell := func(id, kind string) *notebook.Cell { return &notebook.Cell{ID: id, Type: kind, Revision: 1} }
	for name, c := range map[string]struct {
		event notebook.Event
		says  string
	}{
		"unknown kind":    {notebook.Event{Kind: "cell_painted"}, `unknown kind "cell_painted"`},
		"no cell":         {notebook.Event{Kind: notebook.CellCreated, Position: place(0)}, "missing"},
		"no position":     {notebook.Event{Kind: notebook.CellCreated, Cell: cell("b", "code")}, "missing"},
		"no id":           {notebook.Event{Kind: notebook.CellCreated, Cell: cell("", "code"), Position: place(0)}, "cell_id"},
		"wrong type":      {notebook.Event{Kind: notebook.CellCreated, Cell: cell("b", "raw"), Position: place(0)}, "cell_type"},
		"too far":         {notebook.Event{Kind: notebook.CellCreated, Cell: cell("b", "code"), Position: place(2)}, "from 0 to 1"},
		"id twice":        {notebook.Event{Kind: notebook.CellCreated, Cell: cell("a", "code"), Position: place(0)}, "already"},
		"edit of nobody":  {notebook.Event{Kind: notebook.CellEdited, CellID: "b", Source: &source}, `"b"`},
		"no source":       {notebook.Event{Kind: notebook.CellEdited, CellID: "a"}, "source"},
		"nobody's ending": {notebook.Event{Kind: notebook.CellDeleted, CellID: "b"}, `"b"`},
		"move of nobody":  {notebook.Event{Kind: notebook.CellMoved, CellID: "b", Position: place(0)}, `"b"`},
		"move nowhere":    {notebook.Event{Kind: notebook.CellMoved, CellID: "a"}, "position is missing"},
		"move past all":   {notebook.Event{Kind: notebook.CellMoved, CellID: "a", Position: place(1)}, "from 0 to 0, the last place, found 1"},
		"move before all": {notebook.Event{Kind: notebook.CellMoved, CellID: "a", Position: place(-1)}, "found -1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := notebook.Event{Kind: notebook.CellCreated, Cell: cell("a", "code"), Position: place(0)}
			doc, err := notebook.ReplayEvents(notebook.DocumentConfig{}, []notebook.Event{first})
			require.NoError(t, err)
			before := doc.Cells()
			require.ErrorContains(t, doc.ApplyEvent(c.event), c.says)
			require.Equal(t, before, doc.Cells())
			_, err = notebook.ReplayEvents(notebook.DocumentConfig{}, []notebook.Event{first, c.event})
			require.ErrorContains(t, err, "event 1")
		})
	}
}

// An event says who caused the change. The field "by" of an action counts only if the action's
// tx_id has the form of the server's own ids.
func TestEventsSayWhoCausedThem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ tx, by, want string }{
		"an agent":                   {`,"tx_id":"tx_1"`, ``, notebook.ByAgent},
		"an agent without an id":     {``, ``, notebook.ByAgent},
		"an agent that pretends":     {`,"tx_id":"tx_1"`, `,"by":"console"`, notebook.ByAgent},
		"pretends without an id":     {``, `,"by":"server"`, notebook.ByAgent},
		"an id that is not text":     {`,"tx_id":["eval_1"]`, `,"by":"console"`, notebook.ByAgent},
		"a console":                  {`,"tx_id":"eval_1"`, `,"by":"console"`, notebook.ByConsole},
		"the server":                 {`,"tx_id":"eval_1"`, ``, notebook.ByServer},
		"the server, for nobody":     {`,"tx_id":"eval_1"`, `,"by":null`, notebook.ByServer},
		"the server, for an unknown": {`,"tx_id":"eval_1"`, `,"by":"cat"`, notebook.ByServer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var events []notebook.Event
			doc := notebook.NewDocument(notebook.DocumentConfig{
				NewCellID: func() string { return fmt.Sprint(len(events)) },
				OnEvent:   func(e notebook.Event) { events = append(events, encodeAndDecodeEvent(t, e)) },
			})
			peer := serveDocument(t, doc)
			for _, action := range []string{
				`"create_cell","params":{"position":0,"cell_type":"code","source":"1"}`,
				`"create_markdown_cell","params":{"position":0,"source":"2"}`,
				`"edit_cell","params":{"cell_id":"0","source":"3"}`,
				`"move_cell","params":{"cell_id":"0","position":0}`,
				`"delete_cell","params":{"cell_id":"1"}`,
			} {
				peer.exchange(`{"type":"agent_action","action":` + action + c.tx + c.by + `}`)
			}
			require.Len(t, events, 5)
			for _, e := range events {
				require.Equal(t, c.want, e.CausedBy, e.Kind)
			}
		})
	}
}

func TestRestoreEventIsCausedByServer(t *testing.T) {
	t.Parallel()
	var events []notebook.Event
	doc := notebook.NewDocument(notebook.DocumentConfig{OnEvent: func(e notebook.Event) { events = append(events, e) }})
	require.NoError(t, doc.RestoreState(notebook.State{}))
	require.Len(t, events, 1)
	require.Equal(t, notebook.ByServer, events[0].CausedBy)
}

// Moving a cell to its present position makes no event.
func TestMoveThatChangesNothingIsNoEvent(t *testing.T) {
	t.Parallel()
	doc := notebook.NewDocument(notebook.DocumentConfig{OnEvent: func(e notebook.Event) { require.Equal(t, notebook.CellCreated, e.Kind) }})
	peer := serveDocument(t, doc)
	for range 3 {
		peer.sendAction("create_cell", map[string]any{"position": 0, "cell_type": "code", "source": ""})
	}
	before := doc.Cells()
	for i, cell := range before {
		require.Equal(t, "success", peer.sendAction("move_cell", map[string]any{"cell_id": cell.ID, "position": i}).Status)
	}
	require.Equal(t, before, doc.Cells())
}

func TestCellIDsAreRandomUUIDs(t *testing.T) {
	t.Parallel()
	peer := serveDocument(t, notebook.NewDocument(notebook.DocumentConfig{}))
	create := map[string]any{"position": 0, "cell_type": "code", "source": ""}
	one, two := peer.sendAction("create_cell", create), peer.sendAction("create_cell", create)
	require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, one.CellID)
	require.NotEqual(t, one.CellID, two.CellID)
}

func TestSourcesAreBoundedTogether(t *testing.T) {
	t.Parallel()
	place, most := 0, 8<<20
	doc := notebook.NewDocument(notebook.DocumentConfig{NewCellID: func() string { return "b" }})
	require.NoError(t, doc.ApplyEvent(notebook.Event{Kind: notebook.CellCreated, Position: &place, Cell: &notebook.Cell{
		ID: "a", Type: notebook.CodeCell, Source: strings.Repeat("x", most-10),
	}}))
	peer := serveDocument(t, doc)
	r := peer.sendAction("create_markdown_cell", map[string]any{"position": 0, "source": "12345678901"})
	require.Equal(t, "create_markdown_cell: source: expected at most 8388608 bytes of sources in the notebook, found 8388609", r.Error)
	r = peer.sendAction("create_cell", map[string]any{"position": 0, "cell_type": "code", "source": "1234567890"})
	require.Equal(t, "success", r.Status)
	r = peer.sendAction("edit_cell", map[string]any{"cell_id": "b", "source": "12345678901"})
	require.Contains(t, r.Error, "found 8388609")
	r = peer.sendAction("edit_cell", map[string]any{"cell_id": "b", "source": "0987654321"})
	require.Equal(t, "success", r.Status)
	require.Len(t, doc.Cells(), 2)
}

func TestConcurrentServesShareOneDocument(t *testing.T) {
	t.Parallel()
	var events []notebook.Event
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
	doc := notebook.NewDocument(notebook.DocumentConfig{
		Executions: executions, OnEvent: func(e notebook.Event) { events = append(events, e) },
	})
	var all sync.WaitGroup
	for range 4 {
		peer := serveDocument(t, doc)
		all.Go(func() {
			for i := range 25 {
				r := peer.sendAction("create_cell", map[string]any{"position": 0, "cell_type": "code", "source": fmt.Sprint(i)})
				peer.sendAction("edit_cell", map[string]any{"cell_id": r.CellID, "source": "edited", "auto_run": true})
				applyFrame(t, executions, fmt.Sprintf(`{"type":"start_cell","cell_id":%q,"run_sequencer":1}`, r.CellID))
				peer.sendAction("get_context", nil)
				if i%2 == 0 {
					peer.sendAction("delete_cell", map[string]any{"cell_id": r.CellID})
				}
			}
		})
	}
	all.Wait()
	require.Len(t, doc.Cells(), 4*12)
	again, err := notebook.ReplayEvents(notebook.DocumentConfig{}, events)
	require.NoError(t, err)
	require.Equal(t, doc.Cells(), again.Cells())
}

func TestServeEndsWithItsConnection(t *testing.T) {
	t.Parallel()
	doc := notebook.NewDocument(notebook.DocumentConfig{})
	t.Run("closed by the peer", func(t *testing.T) {
		t.Parallel()
		near, far := protocol.Pipe()
		require.NoError(t, near.Close(protocol.CloseNormal, ""))
		require.NoError(t, doc.Serve(far))
	})
	t.Run("closed here", func(t *testing.T) {
		t.Parallel()
		_, far := protocol.Pipe()
		require.NoError(t, far.Close(protocol.CloseNormal, ""))
		require.NoError(t, doc.Serve(far))
	})
	t.Run("closed before the answer", func(t *testing.T) {
		t.Parallel()
		near, far := protocol.Pipe()
		served := make(chan error, 1)
		go func() { served <- doc.Serve(far) }()
		require.NoError(t, near.Write([]byte(`{"type":"agent_action","action":"get_context","tx_id":"t"}`)))
		require.NoError(t, near.Close(protocol.CloseNormal, ""))
		require.NoError(t, <-served)
	})
	t.Run("broken", func(t *testing.T) {
		t.Parallel()
		require.ErrorContains(t, doc.Serve(brokenConn{}), "a cable was cut")
	})
}

// brokenConn is a connection whose Read always fails.
type brokenConn struct{ protocol.Conn }

func (brokenConn) Read() ([]byte, error) {
	return nil, &protocol.ConnError{Operation: "read", Err: fmt.Errorf("a cable was cut")}
}

// A notebook that was restored in another session has the same cells, outputs and statuses,
// except that a cell that was running has failed.
func TestRestoredNotebookHasSameCellsAndOutputs(t *testing.T) {
	t.Parallel()
	before := notebook.NewExecutions(notebook.ExecutionsConfig{})
	for i, body := range []string{
		`{"type":"start_cell","cell_id":"a","run_sequencer":3}`,
		`{"type":"kernel_stdio","active_cell":"a","stream":"stdout","data":"one\n"}`,
		`{"type":"cell_output","cell_id":"a","run_sequencer":3,"output":{"output_type":"execute_result","data":{"text/plain":"42"},"metadata":{},"execution_count":3}}`,
		`{"type":"cell_result","cell_id":"a","run_sequencer":3,"status":"ok","has_exception":false}`,
		`{"type":"start_cell","cell_id":"b","run_sequencer":4}`,
	} {
		env, err := protocol.NewEnvelopeDecoder().Decode([]byte(body))
		require.NoError(t, err)
		require.NoError(t, before.ApplyFrame(int64(i+1), env, []byte(body)))
	}
	state := notebook.State{
		Cells:      []notebook.Cell{{ID: "a", Type: notebook.CodeCell, Source: "6*7", Revision: 2}, {ID: "b", Type: notebook.CodeCell, Source: "while True: pass", Revision: 1}},
		Executions: before.Snapshot(),
	}
	var events []notebook.Event
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
	doc := notebook.NewDocument(notebook.DocumentConfig{Executions: executions, OnEvent: func(e notebook.Event) { events = append(events, e) }})
	executions.RestoreSnapshot(state.Executions)
	require.NoError(t, doc.RestoreState(state))

	require.Equal(t, state.Cells, doc.Cells())
	after := executions.Snapshot()
	require.Equal(t, map[string]string{"a": notebook.StatusRan, "b": notebook.StatusError}, after.CellStatus)
	require.Equal(t, state.Executions.Outputs, after.Outputs)
	require.Empty(t, after.Sequencers, "the next kernel starts at 1 again")

	require.Len(t, events, 1)
	var restored notebook.Event
	require.NoError(t, json.Unmarshal(events[0].JSON(), &restored))
	again, err := notebook.ReplayEvents(notebook.DocumentConfig{}, []notebook.Event{restored})
	require.NoError(t, err)
	require.Equal(t, state.Cells, again.Cells())
}
