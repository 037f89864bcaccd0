package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"

	"assay/eval/runs"
	"assay/server/endpoint"
)

const (
	// maxPageBytes is the largest size of a page's lines. A page always has at
	// least one line, of any size.
	maxPageBytes = 8 << 20

	// maxScannedBytes is how much of a file one request reads. If a filter selects
	// hardly any line, the page ends there and says where to continue.
	maxScannedBytes = 256 << 20
)

// PageEnd is what follows the lines in a page of a file's lines.
type PageEnd struct {
	Next         *int64                `json:"next"`               // the parameter for the next page; null: there are no more lines yet
	LastLine     int64                 `json:"last"`               // number of the last line that was read, selected or not
	DamagedLines *runs.UnreadableLines `json:"left_out,omitempty"` // damaged lines that were skipped; absent: none
}

// linePage collects selected lines of a file for one response, up to its limits.
type linePage struct {
	maxLines    int
	skipDamaged bool  // skip lines that are not sound instead of failing
	last        int64 // number of the last line read; before the first, that of the line before the page

	items   bytes.Buffer // JSON objects, separated by commas and newlines
	count   int          // of items
	scanned int          // bytes of all lines read
	more    bool         // there are lines after last
	leftOut runs.UnreadableLines
}

// fill reads lines and adds those that selects accepts, as writeItem writes them. A
// line that is not a JSON object ends the page before it; it is an error if the
// page would begin with it. With skipDamaged, such lines are left out instead.
func (p *linePage) fill(lines iter.Seq2[runs.Line, error], selects func([]byte) bool, writeItem func(*bytes.Buffer, runs.Line)) error {
	for line, err := range lines {
		if err != nil {
			return err
		}
		if p.more = p.count == p.maxLines || p.scanned > maxScannedBytes; p.more {
			return nil
		}
		if p.skipDamaged && !line.IsValid() {
			p.leftOut.AddLine(line.Number)
		} else if selects(line.Text) {
			fault := requireJSONObject(line)
			if fault != nil && p.count == 0 {
				return fault
			}
			if p.more = fault != nil || !p.addLine(line, writeItem); p.more {
				return nil
			}
		}
		p.scanned += len(line.Text)
		p.last = line.Number
	}
	return nil
}

// addLine adds a line. If the page would then be larger than maxPageBytes it adds nothing and
// returns false, except for the first line, which is always added.
func (p *linePage) addLine(line runs.Line, writeItem func(*bytes.Buffer, runs.Line)) bool {
	before := p.items.Len()
	if p.count > 0 {
		p.items.WriteString(",\n")
	}
	writeItem(&p.items, line)
	if p.count > 0 && p.items.Len() > maxPageBytes {
		p.items.Truncate(before)
		return false
	}
	p.count++
	return true
}

// requireJSONObject returns an error if a line is not a JSON object.
func requireJSONObject(line runs.Line) error {
	if !bytes.HasPrefix(line.Text, []byte("{")) || !json.Valid(line.Text) {
		return fmt.Errorf("line %d of the file is not a JSON object: continue after it", line.Number)
	}
	return nil
}

// write sends the page: the items under the name of list, then a [PageEnd] whose
// Next is next if there are more lines.
func (p *linePage) write(w http.ResponseWriter, list string, next int64) error {
	end := PageEnd{LastLine: p.last}
	if p.more {
		end.Next = &next
	}
	if p.leftOut.Count > 0 {
		end.DamagedLines = &p.leftOut
	}
	rest, err := json.Marshal(end)
	if err != nil {
		return err
	}
	endpoint.SetAPIHeaders(w, "application/json")
	w.WriteHeader(http.StatusOK)
	_, _ = fmt.Fprintf(w, "{%q:[\n%s\n],%s\n", list, p.items.Bytes(), rest[len("{"):]) // fails only if the client has disconnected
	return nil
}
