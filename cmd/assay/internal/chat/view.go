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
	out, err outputStream
	ordered  bool // show turns one after the other, because nobody types
}

// outputStream is stdout or stderr.
type outputStream struct {
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
	newStream := func(w io.Writer, isTerminal bool) outputStream {
		if !isTerminal {
			return outputStream{Writer: w}
		}
		return outputStream{Writer: w, prompt: prompt, hasFaint: cfg.Color}
	}
	return &view{out: newStream(cfg.Out, terminal.IsTerminal(cfg.Out)), err: newStream(cfg.Err, cfg.ErrIsTerminal), ordered: !isTyped}
}

// showLines writes lines of the agent or of code.
func (v *view) showLines(lines ...string) { v.out.writeLines(lines) }

// showRemark writes lines about the chat.
func (v *view) showRemark(lines ...string) { v.err.writeLines(v.err.faintText(lines)) }

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
func (s outputStream) writeLines(lines []string) {
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
func (s outputStream) writeText(text string) { _, _ = io.WriteString(s, text) }

// faintText returns lines in faint text if the stream can show it.
func (s outputStream) faintText(lines []string) []string {
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
