package jupyter

import "assay/internal/protocol"

// lastSize is how much of a run's text is kept for a post-mortem, in bytes.
const lastSize = 4 << 10

// event takes in one thing from the kernel.
func (a *adapter) event(e event) {
	switch {
	case e.ended:
		a.broken = e.err
	case e.err != nil:
		remark(a.cfg.Stderr, "%v", e.err)
	case e.stream != "":
		a.printed(e.stream, e.text)
	default:
		a.message(e.message)
	}
}

// message takes in a message of the kernel. Those that are of no use here, such
// as what widgets say to each other, are ignored.
func (a *adapter) message(m message) {
	own := a.run.id != "" && m.parent == a.run.id
	switch m.kind {
	case "status":
		a.run.idle = a.run.idle || own && saysIdle(m)
	case "execute_reply":
		if own {
			r := parseReply(m.content)
			a.run.reply = &r
		}
	case "stream":
		a.stream(own, parseLoose(m.content))
	case "execute_result", "display_data", "update_display_data", "clear_output", "error":
		a.output(own, m)
	case "input_request":
		// IRkernel asks although it was told that nobody answers.
		if _, err := a.kernel.ask(a.kernel.stdin, "input_reply", map[string]string{"value": ""}); err != nil {
			a.broken = err
		}
	}
}

// stream takes in what the kernel says that code has printed.
func (a *adapter) stream(own bool, fields loose) {
	name := protocol.Stdout
	if fields.text("name") == protocol.Stderr {
		name = protocol.Stderr
	}
	if text := fields.text("text"); own || a.runsCell() {
		a.text(name, []byte(text))
	} else if text != "" {
		a.out.text(name, "", []byte(text)) // of a thread, after its cell has ended
	}
}

// printed takes in what was written to the descriptors. Where the kernel echoes
// there it is of use only if it is the last: the report of a crash.
func (a *adapter) printed(stream string, text []byte) {
	if a.run.work != nil && a.kernel.language.echoes {
		a.keep(text)
		return
	}
	a.text(stream, text)
}

// keep keeps text for a post-mortem.
func (a *adapter) keep(text []byte) {
	a.last = append(a.last, text[max(0, len(text)-lastSize):]...)
	a.last = a.last[max(0, len(a.last)-lastSize):]
}

// text gives text to what runs: to whom it belongs is not known of the
// descriptors, and what a thread of an earlier cell prints is shown where it
// happens. Between runs it is nobody's.
func (a *adapter) text(stream string, text []byte) {
	if a.run.work == nil {
		_, _ = a.cfg.Stderr.Write(text) // there is nobody to tell
		return
	}
	a.keep(text)
	a.run.work.text(stream, text)
}

// output gives an output to the run that it belongs to, or, as with text, to the
// cell that runs when it comes.
func (a *adapter) output(own bool, m message) {
	if !own && !a.runsCell() {
		remark(a.cfg.Stderr, "an output (%s) came after its cell had ended, and is not shown", m.kind)
		return
	}
	a.run.work.output(m)
}

func (a *adapter) runsCell() bool {
	_, ok := a.run.work.(*cell)
	return ok
}
