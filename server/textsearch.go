package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"assay/internal/trace"
	"assay/internal/trace/flow"
)

// mostSearches is how many texts are remembered that were looked for in a trace.
const mostSearches = 4

// textSearch is which entries of a trace hold a text, in any case: in what they
// carry, or in their type, action, ids, note or label. It reads on as the trace
// grows.
type textSearch struct {
	text    string   // as it was asked for
	needles [][]byte // as JSON may have it
	hits    []bool   // of the entries 1, 2, …
	lower   []byte   // room for a line
}

func newTextSearch(text string) *textSearch {
	s := &textSearch{text: text}
	for _, ascii := range []bool{false, true} {
		needle := lowered(nil, jsonText(text, ascii))
		if !slices.ContainsFunc(s.needles, func(known []byte) bool { return bytes.Equal(known, needle) }) {
			s.needles = append(s.needles, needle)
		}
	}
	return s
}

// has tells whether the entry seq holds the text.
func (s *textSearch) has(seq int64) bool { return seq <= int64(len(s.hits)) && s.hits[seq-1] }

// add takes in the line of the next entry.
func (s *textSearch) add(line []byte, index *flow.Index) {
	seq := int64(len(s.hits)) + 1
	r := index.Frame(seq).Record
	hit := s.in(trace.Message(line))
	for _, name := range []string{r.Type, r.Action, r.TxID, r.CellID, string(r.Note), index.Label(seq)} {
		hit = hit || s.in([]byte(name))
	}
	if r.Ref > 0 && r.Ref < seq {
		hit = hit || s.hits[r.Ref-1] // it carries the same
	}
	s.hits = append(s.hits, hit)
}

func (s *textSearch) in(text []byte) bool {
	if len(text) == 0 {
		return false
	}
	s.lower = lowered(s.lower[:0], text)
	return slices.ContainsFunc(s.needles, func(needle []byte) bool { return bytes.Contains(s.lower, needle) })
}

// lowered appends text with its ASCII letters in lower case.
func lowered(to, text []byte) []byte {
	for _, c := range text {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		to = append(to, c)
	}
	return to
}

// jsonText is a text as it stands between quotes in JSON. ascii: all but ASCII
// as \u and four digits, which is how Python writes it.
func jsonText(text string, ascii bool) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) //nolint:errchkjson // a text can always be encoded, and a buffer written to
	quoted := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(out.String(), "\n"), `"`), `"`)
	if !ascii {
		return []byte(quoted)
	}
	return asciiJSON(quoted)
}

// asciiJSON writes what is not ASCII as JSON's \u, in two halves where it takes that.
func asciiJSON(text string) (out []byte) {
	for _, half := range utf16.Encode([]rune(text)) {
		if half < utf8.RuneSelf {
			out = append(out, byte(half))
		} else {
			out = fmt.Appendf(out, `\u%04x`, half)
		}
	}
	return out
}

// search is which entries hold a text, of those that were read. It is for f of
// read.
func (h *history) search(ctx context.Context, file traceFile, text string) (*textSearch, error) {
	at := slices.IndexFunc(h.searches, func(s *textSearch) bool { return s.text == text })
	s := newTextSearch(text)
	if at >= 0 {
		s = h.searches[at]
		h.searches = slices.Delete(h.searches, at, at+1)
	}
	h.searches = slices.Insert(h.searches, 0, s)
	h.searches = h.searches[:min(len(h.searches), mostSearches)]
	if int64(len(s.hits)) >= h.index.Len() {
		return s, nil
	}
	for line, err := range file.LinesFrom(ctx, int64(len(s.hits))+1) {
		if err != nil {
			return nil, err
		}
		if line.Number > h.index.Len() {
			break // it has come since
		}
		s.add(line.Text, h.index)
	}
	return s, nil
}
