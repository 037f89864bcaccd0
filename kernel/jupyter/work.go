package jupyter

import (
	"fmt"
	"time"
	"unicode/utf8"
)

// work is something that the kernel is asked to run. It is given what comes of
// it in order, and ends exactly once: by end when it ran, else by refuse.
type work interface {
	// request is what the kernel is asked, in the language that it has by then.
	request(language) executeRequest

	// limit is how long it may run until it is stopped; 0 is for ever.
	limit() time.Duration

	// text and output are what comes of it.
	text(stream string, text []byte)
	output(message)

	// end answers what asked for it. stopped says that somebody interrupted it.
	end(r reply, stopped bool)

	// refuse answers that it was stopped before it ran.
	refuse()
}

// reset is the work of starting the kernel anew. It is not run by the kernel.
type reset struct {
	out *sender
	ask asked
}

func (*reset) request(language) executeRequest { return executeRequest{} }
func (*reset) limit() time.Duration            { return 0 }
func (*reset) text(string, []byte)             {}
func (*reset) output(message)                  {}

func (r *reset) end(reply, bool) {
	r.out.send(r.ask.answer("reset_kernel_globals_complete", fields{"threads": []string{}}))
}

func (r *reset) refuse() {
	r.out.send(r.ask.answer("reset_kernel_globals_complete", fields{"threads": []string{}, "error": "stopped before it ran"}))
}

// clip returns text, its middle left out where it has more than most bytes.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	head, tail := most/2, len(text)-most/2
	for !utf8.RuneStart(text[head]) {
		head--
	}
	for !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n[… %d bytes …]\n%s", text[:head], tail-head, text[tail:])
}
