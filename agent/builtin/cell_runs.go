package builtin

import (
	"fmt"
	"maps"
	"sync"

	"github.com/tidwall/gjson"

	"assay/internal/protocol"
)

// cellRunTracker matches the results of cells in the kernel messages that the server relays
// with the runs that this agent has requested. It is safe for concurrent use.
//
// A cell_result belongs to an expected run if its run started after the agent requested it.
// It may arrive before the response to the request and, for a new cell, before the agent
// knows the cell's id. So results of unknown cells are kept while a request for a new cell
// is open.
type cellRunTracker struct {
	mu           sync.Mutex
	running      map[string]int          // cell id: run_sequencer of the run that has started
	expected     map[string]*expectedRun // cell id: the latest run that this agent asked for, until it ends
	unnamedRuns  int                     // open requests for runs of new cells
	earlyResults map[string][]byte       // cell id: result that came while unnamedRuns > 0
}

// expectedRun is a run of a cell that this agent has requested and whose result has not come
// yet.
type expectedRun struct {
	foreignRun *int        // run_sequencer of the run that was in progress at the request; nil after the next start
	result     chan []byte // buffer of 1: gets the cell_result
}

func newCellRunTracker() *cellRunTracker {
	return &cellRunTracker{running: map[string]int{}, expected: map[string]*expectedRun{}, earlyResults: map[string][]byte{}}
}

// expectRun registers a run of a cell and must be called before the run is requested. cellID
// is "" if the same request creates the cell; the caller must then call assignCell when it
// knows the cell's id. If the request is refused, or the caller stops waiting for the result, the
// caller must call abandonRun.
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
	t.decrementUnnamedRunsLocked()
}

// abandonRun makes the tracker stop waiting for the result of run. cellID must be the one given
// to expectRun.
func (t *cellRunTracker) abandonRun(run *expectedRun, cellID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if cellID == "" {
		t.decrementUnnamedRunsLocked()
		return
	}
	if t.expected[cellID] == run {
		delete(t.expected, cellID)
	}
}

// decrementUnnamedRunsLocked counts an expected run of a new cell as named or abandoned. When no such
// run is left it drops the early results that were kept for them. The caller must hold mu.
func (t *cellRunTracker) decrementUnnamedRunsLocked() {
	t.unnamedRuns--
	if t.unnamedRuns == 0 {
		clear(t.earlyResults)
	}
}

// handleKernelMessage handles a relayed kernel message: the start of a cell's run, its
// result, or, if it names no cell, the end of all runs. body must be valid JSON.
func (t *cellRunTracker) handleKernelMessage(body []byte) {
	message := gjson.GetBytes(body, "message")
	cellID, sequencer := message.Get("cell_id").String(), int(message.Get("run_sequencer").Int())
	t.mu.Lock()
	defer t.mu.Unlock()
	if cellID == "" {
		t.endAllRunsLocked()
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
		t.deliverResultLocked(cellID, sequencer, []byte(message.Raw))
	}
}

// endAllRunsLocked ends all started runs with status ok. It is called for a kernel message
// without a cell id: a kernel that sends no cell_result shows the end of its runs only by
// becoming idle. The caller must hold mu.
func (t *cellRunTracker) endAllRunsLocked() {
	for cellID, sequencer := range t.running {
		delete(t.running, cellID)
		t.deliverResultLocked(cellID, sequencer, fmt.Appendf(nil, `{"type":%q,"cell_id":%q,"status":%q}`, protocol.TypeCellResult, cellID, protocol.StatusOK))
	}
}

// deliverResultLocked passes a cell_result to the expected run of its cell. If the cell is unknown
// while a new cell is being created, it keeps the result as an early one. It drops results
// of runs that the agent did not request. The caller must hold mu.
func (t *cellRunTracker) deliverResultLocked(cellID string, sequencer int, result []byte) {
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

// unfinishedRuns returns, by cell id, the runs that this agent asked for and that have not ended.
func (t *cellRunTracker) unfinishedRuns() map[string]*expectedRun {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.expected)
}
