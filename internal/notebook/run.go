package notebook

import "strings"

// run is what is known of one cell: its last run, and whether another one is on
// its way.
//
//	idle --Sent, run_queue--> pending --start_cell--> started --cell_result--> closed
//
// A cell that is started can be pending again. While it is either it counts as
// running; else it is as its last run ended. Its outputs are those of the last
// run that started.
type run struct {
	last      string // StatusIdle, StatusRan or StatusError
	pending   bool
	started   bool
	disposed  bool    // kept only so that late frames do not bring it back
	sequencer int     // of the last run that this kernel started, 0 for none
	count     int     // of the last run that any kernel started
	took      float64 // the last run, in milliseconds, as the kernel measured it; 0: it did not say
	outputs   *tape
	logs      *tape // stdio alone, in one stream
	clearing  bool  // the next output takes the place of all before it
	widgets   Widgets
}

func newRun(limit int) *run {
	return &run{last: StatusIdle, outputs: newTape(limit), logs: newTape(messageLogs)}
}

func (c *run) open() bool { return c.pending || c.started }

func (c *run) status() string {
	if c.open() {
		return StatusRunning
	}
	return c.last
}

// start begins a run: what the one before it left is gone, widgets too.
func (c *run) start(sequencer, limit int) {
	*c = *newRun(limit)
	c.started, c.sequencer, c.count = true, sequencer, sequencer
}

// end closes the run that is started, or, with a kernel that does not say when
// one starts, the one that is pending.
func (c *run) end(status string) {
	if c.started {
		c.started = false
	} else {
		c.pending = false
	}
	c.last = status
}

func (c *run) write(stream string, text []byte) {
	c.makeRoom()
	c.outputs.write(stream, text)
	c.logs.write("logs", text)
}

// show appends an output.
func (c *run) show(r *rich) {
	c.makeRoom()
	c.outputs.add(r)
}

// clear removes the outputs, at once or when the next one comes. The logs stay.
func (c *run) clear(wait bool) {
	c.clearing = true
	if !wait {
		c.makeRoom()
	}
}

func (c *run) makeRoom() {
	if c.clearing {
		c.clearing = false
		c.outputs = newTape(2 * c.outputs.half)
	}
}

// explain shows exception as an error output unless the run has shown one: not
// every kernel does.
func (c *run) explain(exception string) {
	shown := false
	c.outputs.each(func(p *piece) { shown = shown || p.rich.fault != nil })
	if shown || exception == "" {
		return
	}
	lines := strings.Split(strings.TrimRight(exception, "\n"), "\n")
	name, value, _ := strings.Cut(lines[len(lines)-1], ": ")
	r := &rich{kind: errorOutput, fault: &fault{name: name, value: value, traceback: lines}}
	c.show(r.fitted(c.room(), 0))
}

// room is how large one output may be without leaving anything out.
func (c *run) room() int { return c.outputs.half / 2 }
