package builtin

import (
	"fmt"
	"maps"
	"sync"

	"github.com/tidwall/gjson"

	"assay/internal/protocol"
)

// cellRunTracker follows the cell runs that this agent asked for, by the kernel messages
// that the server relays. It is safe for concurrent use.
//
// A cell_result belongs to an expected run if its run started after the agent asked for
// it. It may arrive before the response to the request and, for a new cell, before the
// agent knows the cell's id. So results of unknown cells are kept while a request for a
// new cell is open.
type cellRunTracker struct {
	mu           sync.Mutex
	running      map[string]int          // cell id: run_sequencer of the run that has started
	expected     map[string]*expectedRun // cell id: the latest run that this agent asked for, until it ends
	unnamedRuns  int                     // open requests for runs of new cells
	earlyResults map[string][]byte       // cell id: result that came while unnamedRuns > 0
}

// expectedRun is a run that this agent asked for.
type expectedRun struct {
	foreignRun *int        // run_sequencer of the run that was in progress at the request; nil after the next start
	result     chan []byte // buffer of 1: gets the cell_result
}

func newCellRunTracker() *cellRunTracker {
	return &cellRunTracker{running: map[string]int{}, expected: map[string]*expectedRun{}, earlyResults: map[string][]byte{}}
}

// expectRun is called before a run is requested. The id is "" for a cell that the same
// request creates. The caller then calls assignCell for a new cell that was created, or
// abandon if the request failed.
func (t *cellRunTracker) expectRun(cellID string) *expectedRun {
	t.mu.Lock()
	defer t.mu.Unlock()
	run := &expectedRun{result: make(chan []byte, 1)}
	if cellID == "" {
		t.unnamedRuns++
		return run
	}
	if sequencer, ok := t.running[cellID]; ok {
		run.foreignRun = &sequencer
	}
	t.expected[cellID] = run
	return run
}

// assignCell sets the cell id of a run that was expected for a new cell.
func (t *cellRunTracker) assignCell(run *expectedRun, cellID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if result, ok := t.earlyResults[cellID]; ok {
		run.result <- result
	} else {
		t.expected[cellID] = run
	}
	t.endUnnamedLocked()
}

// abandon forgets a run that was expected. The cell id must be the one given to expectRun.
func (t *cellRunTracker) abandon(run *expectedRun, cellID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if cellID == "" {
		t.endUnnamedLocked()
		return
	}
	if t.expected[cellID] == run {
		delete(t.expected, cellID)
	}
}

// endUnnamedLocked is called when the response to a request for a new cell has come. After the
// last one it drops the results that were kept for such requests.
func (t *cellRunTracker) endUnnamedLocked() {
	t.unnamedRuns--
	if t.unnamedRuns == 0 {
		clear(t.earlyResults)
	}
}

// handleKernelMessage handles a kernel_message, which is valid JSON.
func (t *cellRunTracker) handleKernelMessage(body []byte) {
	message := gjson.GetBytes(body, "message")
	cellID, sequencer := message.Get("cell_id").String(), int(message.Get("run_sequencer").Int())
	t.mu.Lock()
	defer t.mu.Unlock()
	if cellID == "" {
		t.endAllLocked()
		return
	}
	switch message.Get("type").String() {
	case protocol.TypeStartCell:
		t.running[cellID] = sequencer
		if run, ok := t.expected[cellID]; ok {
			run.foreignRun = nil // the run before it has ended
		}
	case protocol.TypeCellResult:
		delete(t.running, cellID)
		t.deliverLocked(cellID, sequencer, []byte(message.Raw))
	}
}

// endAllLocked ends all started runs with status ok. It is called for a message without a
// cell: a kernel that sends no cell_result shows the end of its runs only by being idle.
func (t *cellRunTracker) endAllLocked() {
	for cellID, sequencer := range t.running {
		delete(t.running, cellID)
		t.deliverLocked(cellID, sequencer, fmt.Appendf(nil, `{"type":%q,"cell_id":%q,"status":%q}`, protocol.TypeCellResult, cellID, protocol.StatusOK))
	}
}

// deliverLocked hands a result to the expected run of its cell, or keeps it as an early
// result. Results of runs that the agent did not ask for are dropped.
func (t *cellRunTracker) deliverLocked(cellID string, sequencer int, result []byte) {
	run, ok := t.expected[cellID]
	switch {
	case !ok && t.unnamedRuns > 0:
		t.earlyResults[cellID] = result
	case !ok, run.foreignRun != nil && *run.foreignRun == sequencer:
	default:
		delete(t.expected, cellID)
		run.result <- result
	}
}

// openRuns returns, by cell id, the runs that this agent asked for and that have not ended.
func (t *cellRunTracker) openRuns() map[string]*expectedRun {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.expected)
}
