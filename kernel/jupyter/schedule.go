package jupyter

import (
	"slices"

	"assay/internal/protocol"
)

// schedule is what waits for the kernel, and tells the server of it. Cells and
// snippets run in the order in which they came; questions, which are short, go
// before them. It belongs to one goroutine.
type schedule struct {
	out       *sender
	waiting   []work
	sequencer int      // of the run of a cell that began last
	announced []string // the queue as the server knows it
	idle      bool     // as the server knows it
}

// add lets w wait for its turn. What runs at once is never announced as waiting.
func (s *schedule) add(w work, atOnce bool) {
	at := len(s.waiting)
	if isQuestion(w) {
		if at = slices.IndexFunc(s.waiting, func(other work) bool { return !isQuestion(other) }); at < 0 {
			at = len(s.waiting)
		}
	}
	s.waiting = slices.Insert(s.waiting, at, w)
	if !atOnce {
		s.announce()
	}
}

// take begins the next work; nil when there is none.
func (s *schedule) take() work {
	if len(s.waiting) == 0 {
		s.announceIdle()
		return nil
	}
	next := s.waiting[0]
	s.waiting = slices.Delete(s.waiting, 0, 1)
	s.announce()
	s.begin(next)
	return next
}

// drop answers what matches and waits as stopped before it ran.
func (s *schedule) drop(matches func(work) bool) {
	var dropped []work
	s.waiting = slices.DeleteFunc(s.waiting, func(w work) bool {
		if matches(w) {
			dropped = append(dropped, w)
		}
		return matches(w)
	})
	s.announce()
	for _, w := range dropped {
		s.begin(w)
		w.refuse()
	}
}

func (s *schedule) begin(w work) {
	if c, ok := w.(*cell); ok {
		s.sequencer++
		s.idle = false
		c.begin(s.sequencer)
	}
}

func (s *schedule) queue() []string {
	queue := []string{}
	for _, w := range s.waiting {
		if c, ok := w.(*cell); ok {
			queue = append(queue, c.id)
		}
	}
	return queue
}

func (s *schedule) announce() {
	if queue := s.queue(); !slices.Equal(queue, s.announced) {
		s.announced = queue
		s.out.send(protocol.RunQueue{Type: protocol.TypeRunQueue, Queue: queue})
	}
}

func (s *schedule) announceIdle() {
	if !s.idle {
		s.idle = true
		s.out.send(protocol.StartCell{Type: protocol.TypeStartCell, RunSequencer: s.sequencer})
	}
}
