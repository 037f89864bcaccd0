package builtin

import (
	"fmt"
	"maps"
	"sync"

	"github.com/tidwall/gjson"

	"assay/internal/protocol"
)

// runs follows the runs of cells that this agent started, by the kernel
// messages that the server relays. It is safe for concurrent use.
//
// A result belongs to us when its run began after we asked for it. It may come
// before the answer to our request, and for a new cell even before we know the
// cell's id: results of unknown cells are kept as long as such a request is
// open.
type runs struct {
	mu      sync.Mutex
	begun   map[string]int    // cell: the run that is under way
	ours    map[string]*run   // cell: our latest run of it, until it ends
	unnamed int               // open requests for runs of new cells
	early   map[string][]byte // results that came while unnamed > 0
}

// run is one run that this agent asked for.
type run struct {
	foreign *int        // the run that was under way when we asked, until the next begins
	ended   chan []byte // has room for the result
}

func newRuns() *runs {
	return &runs{begun: map[string]int{}, ours: map[string]*run{}, early: map[string][]byte{}}
}

// expect is called before a run of the cell is asked for; an empty id stands
// for a cell that is created with the same request. Either [runs.name] or
// [runs.abandon] follows.
func (r *runs) expect(cellID string) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	expected := &run{ended: make(chan []byte, 1)}
	if cellID == "" {
		r.unnamed++
		return expected
	}
	if sequencer, ok := r.begun[cellID]; ok {
		expected.foreign = &sequencer
	}
	r.ours[cellID] = expected
	return expected
}

// name says which cell was created for an expected run.
func (r *runs) name(expected *run, cellID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if result, ok := r.early[cellID]; ok {
		expected.ended <- result
	} else {
		r.ours[cellID] = expected
	}
	r.known()
}

// abandon says that the request for a run failed.
func (r *runs) abandon(expected *run, cellID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cellID == "" {
		r.known()
		return
	}
	if r.ours[cellID] == expected {
		delete(r.ours, cellID)
	}
}

// known is called when a request for a new cell is settled, with mu held.
func (r *runs) known() {
	r.unnamed--
	if r.unnamed == 0 {
		clear(r.early)
	}
}

// observe takes a kernel_message, which is known to be JSON.
func (r *runs) observe(body []byte) {
	message := gjson.GetBytes(body, "message")
	cellID, sequencer := message.Get("cell_id").String(), int(message.Get("run_sequencer").Int())
	r.mu.Lock()
	defer r.mu.Unlock()
	if cellID == "" {
		r.idle()
		return
	}
	switch message.Get("type").String() {
	case protocol.TypeStartCell:
		r.begun[cellID] = sequencer
		if ours, ok := r.ours[cellID]; ok {
			ours.foreign = nil // whatever ran before has ended
		}
	case protocol.TypeCellResult:
		delete(r.begun, cellID)
		r.end(cellID, sequencer, []byte(message.Raw))
	}
}

// idle ends the runs that have begun: a kernel that sends no cell_result says no
// more of their end than that it is idle. mu is held.
func (r *runs) idle() {
	for cellID, sequencer := range r.begun {
		delete(r.begun, cellID)
		r.end(cellID, sequencer, fmt.Appendf(nil, `{"type":%q,"cell_id":%q,"status":%q}`, protocol.TypeCellResult, cellID, protocol.StatusOK))
	}
}

func (r *runs) end(cellID string, sequencer int, result []byte) {
	ours, ok := r.ours[cellID]
	switch {
	case !ok && r.unnamed > 0:
		r.early[cellID] = result
	case !ok, ours.foreign != nil && *ours.foreign == sequencer:
	default:
		delete(r.ours, cellID)
		ours.ended <- result
	}
}

// open are the runs that this agent started and that have not ended, by cell.
func (r *runs) open() map[string]*run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.ours)
}
