package notebook

import "strings"

// run is what is known of one cell: its last run, and whether another one is on
// its way. While the cell's RunState is open it counts as running; else it is as
// its last run ended. Its outputs are those of the last run that started.
type run struct {
	RunState
	last      string  // StatusIdle, StatusRan or StatusError
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

func (c *run) status() string {
	if c.IsOpen() {
		return StatusRunning
	}
	return c.last
}

// start begins a run: what the one before it left is gone, widgets too.
func (c *run) start(sequencer, limit int) {
	*c = *newRun(limit)
	c.Start()
	c.sequencer, c.count = sequencer, sequencer
}

// end closes the open run with a status.
func (c *run) end(status string) {
	c.End()
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
