package builtin

import "strings"

// maxFenceIndent is how many spaces may stand before a fence.
const maxFenceIndent = 3

// fenced is a fenced code block of a Markdown text.
type fenced struct {
	info   string // first word of the info string in lower case, "" if there is none
	text   string // its lines joined by \n, without the indent of the opening fence
	closed bool   // false when the text ended before its closing fence
}

// fence is a line that may open or close a block.
type fence struct {
	indent int    // spaces before it
	mark   byte   // ` or ~
	run    int    // how many marks, at least 3
	info   string // what follows them, without white space around it
}

// fencedBlocks finds the fenced code blocks of a text by the rules of CommonMark
// for lines: it knows no containers and no HTML. A fence in a block quote, or
// indented by more than three columns, is none; one in a list item is found
// where its indent allows it.
func fencedBlocks(text string) []fenced {
	var blocks []fenced
	var lines []string
	var open *fence
	add := func(closed bool) {
		blocks = append(blocks, fenced{info: open.word(), text: strings.Join(lines, "\n"), closed: closed})
		open, lines = nil, nil
	}
	for line := range strings.Lines(withNewlines(text)) {
		line = strings.TrimSuffix(line, "\n")
		found := findFence(line)
		switch {
		case open == nil:
			open = found
		case found.closes(open):
			add(true)
		default:
			lines = append(lines, outdent(line, open.indent))
		}
	}
	if open != nil {
		add(false)
	}
	return blocks
}

// withNewlines ends every line with \n, however it ended before.
func withNewlines(text string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
}

// findFence reads a line as a fence, and returns nil if it is none. Behind
// backticks there is no other backtick in the line, or they are inline code.
func findFence(line string) *fence {
	rest := strings.TrimLeft(line, " ")
	indent := len(line) - len(rest)
	if indent > maxFenceIndent || rest == "" || rest[0] != '`' && rest[0] != '~' {
		return nil
	}
	mark := rest[0]
	info := strings.TrimLeft(rest, string(mark))
	run := len(rest) - len(info)
	if run < 3 || mark == '`' && strings.Contains(info, "`") {
		return nil
	}
	return &fence{indent: indent, mark: mark, run: run, info: strings.Trim(info, " \t")}
}

// closes reports whether f ends the block that open began.
func (f *fence) closes(open *fence) bool {
	return f != nil && f.mark == open.mark && f.run >= open.run && f.info == ""
}

// word is the language that a fence names.
func (f *fence) word() string {
	words := strings.Fields(strings.ToLower(f.info))
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// outdent takes at most so many columns of white space, up to three, off a
// line. What is left of a tab, which reaches to the fourth, becomes spaces.
func outdent(line string, columns int) string {
	spaces := len(line) - len(strings.TrimLeft(line, " "))
	if rest, ok := strings.CutPrefix(line[min(spaces, columns):], "\t"); ok && spaces < columns {
		return strings.Repeat(" ", 4-columns) + rest
	}
	return line[min(spaces, columns):]
}
