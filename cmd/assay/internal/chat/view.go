package chat

import (
	"fmt"
	"io"
	"strings"

	"assay/cmd/assay/internal/terminal"
)

// view writes a chat: what the agent and the code say to stdout, remarks and errors to
// stderr. On a terminal each write removes the prompt and what the user has typed
// after it, and shows the prompt again below the text; the terminal still has the typed
// line.
type view struct {
	out, err stream
	ordered  bool // show turns one after the other, because nobody types
}

// stream is stdout or stderr.
type stream struct {
	io.Writer
	prompt   string // "" if no user types here
	hasFaint bool   // faint text is possible
}

func newView(cfg Config) *view {
	isTyped := terminal.IsTerminal(cfg.In)
	prompt := ""
	if isTyped && terminal.IsTerminal(cfg.Out) {
		prompt = "> "
	}
	newStream := func(w io.Writer, isTerminal bool) stream {
		if !isTerminal {
			return stream{Writer: w}
		}
		return stream{Writer: w, prompt: prompt, hasFaint: cfg.Color}
	}
	return &view{out: newStream(cfg.Out, terminal.IsTerminal(cfg.Out)), err: newStream(cfg.Err, cfg.ErrIsTerminal), ordered: !isTyped}
}

// show writes lines of the agent or of code.
func (v *view) show(lines ...string) { v.out.writeLines(lines) }

// remark writes lines about the chat.
func (v *view) remark(lines ...string) { v.err.writeLines(v.err.faint(lines)) }

// showError writes that something has failed.
func (v *view) showError(text string) {
	v.err.writeLines([]string{"error: " + terminal.Printable(text)})
}

// showPrompt shows the prompt again.
func (v *view) showPrompt() { v.out.writeText(v.out.prompt) }

// removePrompt removes the prompt at the end of a chat.
func (v *view) removePrompt() {
	if v.out.prompt != "" {
		v.out.writeText("\r\x1b[K")
	}
}

// writeLines writes lines in place of the prompt, and the prompt below them.
func (s stream) writeLines(lines []string) {
	if len(lines) == 0 {
		return
	}
	text := strings.Join(lines, "\n") + "\n"
	if s.prompt != "" {
		text = "\r\x1b[K" + text + s.prompt
	}
	s.writeText(text)
}

// writeText writes text, and ignores errors: a user who has closed the stream does not
// read it.
func (s stream) writeText(text string) { _, _ = io.WriteString(s, text) }

// faint returns lines in faint text if the stream can show it.
func (s stream) faint(lines []string) []string {
	if !s.hasFaint {
		return lines
	}
	var out []string
	for _, line := range lines {
		out = append(out, "\x1b[2m"+line+"\x1b[m")
	}
	return out
}

// labeledLines returns the lines of text, each behind "[label] " unless label is "".
// It replaces control characters, tabs by four spaces.
func labeledLines(label, text string) (lines []string) {
	if label != "" {
		label = fmt.Sprintf("[%s] ", terminal.Printable(label))
	}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		line = strings.ReplaceAll(strings.TrimRight(line, "\r"), "\t", "    ")
		lines = append(lines, strings.TrimRight(label+terminal.Printable(line), " "))
	}
	return lines
}
