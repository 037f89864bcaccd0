package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"

	"assay/eval/runs"
)

const (
	// pageBytes is how many bytes of lines an answer has at most; one line of
	// any size is always taken.
	pageBytes = 8 << 20

	// pageLook is how many bytes are looked at for an answer: one whose filter
	// hardly anything passes says how far it came.
	pageLook = 256 << 20
)

// linePage is an answer that holds lines of a file, as many as it may.
type linePage struct {
	limit int   // of lines
	last  int64 // number of the last one that was looked at; at first, of the one before the page

	lines  bytes.Buffer // separated by commas and newlines
	count  int
	looked int  // bytes of all lines that were looked at
	more   bool // there is a line behind last

	leaveOut bool                 // lines that are not sound are passed over
	leftOut  runs.UnreadableLines // those that were
}

// read takes the lines that matches picks, as item writes them, in order. A line
// that is no JSON object, where such are not left out, is an error when the page
// would begin with it, and otherwise ends the page before it.
func (p *linePage) read(lines iter.Seq2[runs.Line, error], matches func([]byte) bool, item func(*bytes.Buffer, runs.Line)) error {
	for line, err := range lines {
		if err != nil {
			return err
		}
		if p.more = p.count == p.limit || p.looked > pageLook; p.more {
			return nil
		}
		if p.leaveOut && !line.IsValid() {
			p.leftOut.AddLine(line.Number)
		} else if matches(line.Text) {
			fault := checkLine(line)
			if fault != nil && p.count == 0 {
				return fault
			}
			if p.more = fault != nil || !p.add(line, item); p.more {
				return nil
			}
		}
		p.looked += len(line.Text)
		p.last = line.Number
	}
	return nil
}

// add adds a line, if there is room for it.
func (p *linePage) add(line runs.Line, item func(*bytes.Buffer, runs.Line)) bool {
	before := p.lines.Len()
	if p.count > 0 {
		p.lines.WriteString(",\n")
	}
	item(&p.lines, line)
	if p.count > 0 && p.lines.Len() > pageBytes {
		p.lines.Truncate(before)
		return false
	}
	p.count++
	return true
}

// checkLine tells whether a line may stand in an answer.
func checkLine(line runs.Line) error {
	if !bytes.HasPrefix(line.Text, []byte("{")) || !json.Valid(line.Text) {
		return fmt.Errorf("line %d of the file is no JSON object: go on behind it", line.Number)
	}
	return nil
}

// answer sends the page: the lines as member, next to ask on with, if there is
// more, last, and what was left out.
func (p *linePage) answer(w http.ResponseWriter, member string, next int64) {
	on := "null"
	if p.more {
		on = fmt.Sprint(next)
	}
	rest := ""
	if left := p.leftOut; left.Count > 0 {
		rest = fmt.Sprintf(`,"left_out":{"lines":%d,"first":%d}`, left.Count, left.First)
	}
	apiHeader(w, "application/json").WriteHeader(http.StatusOK)
	_, _ = fmt.Fprintf(w, "{%q:[\n%s\n],\"next\":%s,\"last\":%d%s}\n", member, p.lines.Bytes(), on, p.last, rest)
}
