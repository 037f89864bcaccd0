package kernel

import (
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	"assay/internal/protocol"
)

const (
	// RepeatStopDelay is how long a run may go on after it was told to stop until it
	// is told again.
	RepeatStopDelay = time.Second

	// StuckTimeout is how long it may go on until the kernel is stuck.
	StuckTimeout = 5 * time.Second
)

// stops follows what runs in a kernel although it was told to stop:
//
//	told ──1 s──▶ told again ──4 s──▶ stuck
//	  └──────────────┴──▶ over, which is nobody's business
//
// It is safe for concurrent use.
type stops struct {
	again func(stop) // tells it again
	stuck func(stop)

	mu   sync.Mutex
	cell string           // that runs; empty: none does
	open map[string]bool  // cells and requests to execute code that have not ended
	told map[string]*stop // those of them that were told to stop
}

// stop is an order to stop.
type stop struct {
	CellID    string `json:"cell_id"`
	AgentTxID string `json:"agent_tx_id"` // of an execute_code, where it is no cell

	message []byte
	wanted  bool // its cell is to run once more: a second order would be that run's
	again   bool // its time to be told again has come
	timer   *time.Timer
}

func (s stop) key() string {
	if s.CellID != "" {
		return "cell " + s.CellID
	}
	return "code " + s.AgentTxID
}

// String names what is to stop.
func (s stop) String() string {
	if s.CellID != "" {
		return fmt.Sprintf("the cell %q", s.CellID)
	}
	return "code without a cell"
}

func newStops(again, stuck func(stop)) *stops {
	return &stops{again: again, stuck: stuck, open: map[string]bool{}, told: map[string]*stop{}}
}

// sent takes note of a message to the kernel.
func (s *stops) sent(body []byte) {
	kind := frameType(body)
	if kind != protocol.TypeRunCell && kind != protocol.TypeExecuteCode && kind != protocol.TypeStopCell {
		return
	}
	named := &stop{message: body}
	_ = json.Unmarshal(body, named) // one that is not good names nothing
	key := named.key()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case kind != protocol.TypeStopCell:
		s.open[key] = true
		if told := s.told[key]; told != nil {
			told.wanted = true
		}
	case s.open[key] && s.told[key] == nil:
		s.told[key] = named
		named.timer = time.AfterFunc(RepeatStopDelay, func() { s.late(named) })
	}
}

// begins takes note of the start of a cell's run.
func (s *stops) begins(cell string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cell = cell
	if cell != "" {
		s.open[stop{CellID: cell}.key()] = true
	}
}

// ends takes note of the end of what was open.
func (s *stops) ends(over stop) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := over.key()
	delete(s.open, key)
	if told := s.told[key]; told != nil {
		told.timer.Stop()
		delete(s.told, key)
	}
	if over.CellID != "" && over.CellID == s.cell {
		s.cell = ""
	}
}

// late goes on with what has not stopped in time. What waits for its turn behind
// another cannot be expected to.
func (s *stops) late(told *stop) {
	s.mu.Lock()
	if s.told[told.key()] != told || s.cell != told.CellID {
		s.mu.Unlock()
		return
	}
	next := s.stuck
	if !told.again {
		told.again = true
		told.timer = time.AfterFunc(StuckTimeout-RepeatStopDelay, func() { s.late(told) })
		next = s.again
		if told.wanted {
			next = func(stop) {}
		}
	}
	order := *told
	s.mu.Unlock()
	next(order)
}

// close forgets everything.
func (s *stops) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for told := range maps.Values(s.told) {
		told.timer.Stop()
	}
	s.told = map[string]*stop{}
}

// stopAgain tells a run that goes on a second time, and says so among its text.
func (k *Kernel) stopAgain(told stop) {
	k.say(told, fmt.Sprintf("[it has not stopped for %v, and is interrupted again]\n", RepeatStopDelay))
	_ = k.write(told.message) // a dead one has stopped
}

// killStuck kills the kernel, if that is wanted.
func (k *Kernel) killStuck(told stop) {
	why := fmt.Sprintf("%v has not stopped for %v, and cannot be interrupted", told, StuckTimeout)
	if k.isStuck == nil || !k.isStuck(why) {
		return
	}
	k.say(told, fmt.Sprintf("[it has not stopped for %v: its kernel is killed]\n", StuckTimeout))
	k.mu.Lock()
	k.stuck = why
	k.mu.Unlock()
	k.proc.Kill()
}

// say adds a line to the text of a cell's run.
func (k *Kernel) say(told stop, line string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.run.isOf(told.CellID) {
		k.run.write(protocol.Stderr, []byte(line), k.emit)
	}
}
