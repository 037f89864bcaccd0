// Package markdown finds the fenced code blocks of a Markdown text.
package markdown

import "strings"

// maxFenceIndent is the maximum number of spaces before the fence of a code block; a line
// that is indented further is no fence.
const maxFenceIndent = 3

// FencedBlock is a fenced code block of a Markdown text: its language, its code, and whether
// it has a closing fence.
type FencedBlock struct {
	Language string // first word after the opening fence, in lower case; "" if there is none
	Text     string // lines joined by \n, without the indentation of the opening fence
	Closed   bool   // false if the text ended before the closing fence
}

// fence is a parsed line of at least three backticks or tildes, which may open or close a
// code block.
type fence struct {
	indent int    // spaces before it
	mark   byte   // ` or ~
	length int    // number of marks, at least 3
	info   string // text after the marks, without surrounding white space
}

// FencedBlocks returns the fenced code blocks of a text in order. It follows CommonMark's
// rules for lines, but knows neither containers nor HTML: a fence in a block quote, or
// indented by more than three columns, is ignored; one in a list item is found if its
// indentation allows it.
func FencedBlocks(text string) []FencedBlock {
	var blocks []FencedBlock
	var lines []string
	var open *fence
	add := func(closed bool) {
		blocks = append(blocks, FencedBlock{Language: open.language(), Text: strings.Join(lines, "\n"), Closed: closed})
		open, lines = nil, nil
	}
	for line := range strings.Lines(normalizeNewlines(text)) {
		line = strings.TrimSuffix(line, "\n")
		found := parseFence(line)
		switch {
		case open == nil:
			open = found
		case found.closesBlock(open):
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

// normalizeNewlines returns text with all line endings (\r\n, \r) replaced by \n.
func normalizeNewlines(text string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
}

// parseFence parses a line as a code fence. It returns nil if the line is not a fence,
// including one of backticks with a further backtick after them, which is inline code.
func parseFence(line string) *fence {
	rest := strings.TrimLeft(line, " ")
	indent := len(line) - len(rest)
	if indent > maxFenceIndent || rest == "" || rest[0] != '`' && rest[0] != '~' {
		return nil
	}
	mark := rest[0]
	info := strings.TrimLeft(rest, string(mark))
	length := len(rest) - len(info)
	if length < 3 || mark == '`' && strings.Contains(info, "`") {
		return nil
	}
	return &fence{indent: indent, mark: mark, length: length, info: strings.Trim(info, " \t")}
}

// closesBlock reports whether f closes the code block that the fence open began: it has the same
// mark, at least the same length, and no text after it. A nil f closes nothing.
func (f *fence) closesBlock(open *fence) bool {
	return f != nil && f.mark == open.mark && f.length >= open.length && f.info == ""
}

// language returns the first word after the opening fence of a code block, in lower case, ""
// if there is none.
func (f *fence) language() string {
	words := strings.Fields(strings.ToLower(f.info))
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// outdent removes columns (at most three) columns of leading white space from a line of a
// code block. A tab reaches to the fourth column; what is left of it becomes spaces.
func outdent(line string, columns int) string {
	spaces := len(line) - len(strings.TrimLeft(line, " "))
	if rest, ok := strings.CutPrefix(line[min(spaces, columns):], "\t"); ok && spaces < columns {
		return strings.Repeat(" ", 4-columns) + rest
	}
	return line[min(spaces, columns):]
}
