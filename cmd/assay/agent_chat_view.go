package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// view is what a person sees of a chat: what is said on stdout, remarks on it on
// stderr. On a terminal each write takes away the prompt, with what was typed
// behind it, and puts the prompt back behind the text; the line that is being typed
// stays whole.
type view struct {
	out, err stream
	ordered  bool // turns are shown one after the other
}

// stream is stdout or stderr.
type stream struct {
	io.Writer
	prompt string // empty: nobody types here
	tints  bool
}

func newView(p *process) *view {
	in, _ := p.in.(*os.File)
	typed := in != nil && isTerminal(in)
	prompt := ""
	if typed && isTerminal(p.out) {
		prompt = "> "
	}
	to := func(w io.Writer, terminal bool) stream {
		if !terminal {
			return stream{Writer: w}
		}
		return stream{Writer: w, prompt: prompt, tints: p.colourful()}
	}
	return &view{out: to(p.out, isTerminal(p.out)), err: to(p.err, isTerminal(p.screen.out)), ordered: !typed}
}

// say writes lines of what is said.
func (v *view) say(lines ...string) { v.out.write(lines) }

// remark writes lines that are about it.
func (v *view) remark(lines ...string) { v.err.write(v.err.faint(lines)) }

// complain writes that something has gone wrong.
func (v *view) complain(text string) { v.err.write([]string{"error: " + printable(text)}) }

// again shows the prompt.
func (v *view) again() { v.out.put(v.out.prompt) }

// end takes the prompt away.
func (v *view) end() {
	if v.out.prompt != "" {
		v.out.put("\r\x1b[K")
	}
}

func (s stream) write(lines []string) {
	if len(lines) == 0 {
		return
	}
	text := strings.Join(lines, "\n") + "\n"
	if s.prompt != "" {
		text = "\r\x1b[K" + text + s.prompt
	}
	s.put(text)
}

func (s stream) put(text string) { _, _ = io.WriteString(s, text) } // where nobody reads there is nobody to tell

// faint makes lines stand back.
func (s stream) faint(lines []string) []string {
	if !s.tints {
		return lines
	}
	var out []string
	for _, line := range lines {
		out = append(out, "\x1b[2m"+line+"\x1b[m")
	}
	return out
}

// labelled is a text in lines, each behind its label, if it has one. What is in it
// moves no cursor.
func labelled(label, text string) (lines []string) {
	if label != "" {
		label = fmt.Sprintf("[%s] ", printable(label))
	}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		line = strings.ReplaceAll(strings.TrimRight(line, "\r"), "\t", "    ")
		lines = append(lines, strings.TrimRight(label+printable(line), " "))
	}
	return lines
}
