package api

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

// maxCachedSearches is how many text searches are kept per cached trace.
const maxCachedSearches = 4

// textSearch is the result of a search for a text in the entries of a trace: in
// their message, type, action, ids, note and label. It ignores the case of ASCII
// letters. Entries can be added as the trace grows.
type textSearch struct {
	text    string   // as the request has it
	needles [][]byte // the text in lower case, as JSON may encode it
	hits    []bool   // of the entries 1, 2, …
	scratch []byte   // buffer for a line in lower case
}

func newTextSearch(text string) *textSearch {
	s := &textSearch{text: text}
	for _, ascii := range []bool{false, true} {
		needle := appendLower(nil, jsonStringContent(text, ascii))
		if !slices.ContainsFunc(s.needles, func(known []byte) bool { return bytes.Equal(known, needle) }) {
			s.needles = append(s.needles, needle)
		}
	}
	return s
}

// matches reports whether the entry seq contains the text.
func (s *textSearch) matches(seq int64) bool { return seq <= int64(len(s.hits)) && s.hits[seq-1] }

// addEntry searches the next entry, whose line this is and which index already has. An
// entry that refers to an earlier one for its message matches if that one does.
func (s *textSearch) addEntry(line []byte, index *flow.Index) {
	seq := int64(len(s.hits)) + 1
	r := index.FrameAt(seq).Record
	hit := s.occursIn(trace.LineMessage(line))
	for _, name := range []string{r.Type, r.Action, r.TxID, r.CellID, string(r.Note), index.LabelAt(seq)} {
		hit = hit || s.occursIn([]byte(name))
	}
	if r.RefSeq > 0 && r.RefSeq < seq {
		hit = hit || s.hits[r.RefSeq-1]
	}
	s.hits = append(s.hits, hit)
}

func (s *textSearch) occursIn(text []byte) bool {
	if len(text) == 0 {
		return false
	}
	s.scratch = appendLower(s.scratch[:0], text)
	return slices.ContainsFunc(s.needles, func(needle []byte) bool { return bytes.Contains(s.scratch, needle) })
}

// appendLower appends text to out, with its ASCII letters in lower case.
func appendLower(out, text []byte) []byte {
	for _, c := range text {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		out = append(out, c)
	}
	return out
}

// jsonStringContent returns text as a JSON encoder writes it between quotes. With ascii,
// other characters are escaped with \u, as Python's encoder does by default.
func jsonStringContent(text string, ascii bool) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) //nolint:errchkjson // a string can always be encoded, and a buffer always be written to
	quoted := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(out.String(), "\n"), `"`), `"`)
	if !ascii {
		return []byte(quoted)
	}
	return escapeNonASCII(quoted)
}

// escapeNonASCII replaces each character that is not ASCII by its JSON \u escape:
// two escapes (a surrogate pair) for one beyond U+FFFF.
func escapeNonASCII(text string) (out []byte) {
	for _, unit := range utf16.Encode([]rune(text)) {
		if unit < utf8.RuneSelf {
			out = append(out, byte(unit))
		} else {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return out
}

// search searches all entries in the index for text, or only those added since the
// last search for it. Call it inside update.
func (c *cachedTrace) search(ctx context.Context, file TraceFile, text string) (*textSearch, error) {
	at := slices.IndexFunc(c.searches, func(s *textSearch) bool { return s.text == text })
	s := newTextSearch(text)
	if at >= 0 {
		s = c.searches[at]
		c.searches = slices.Delete(c.searches, at, at+1)
	}
	c.searches = slices.Insert(c.searches, 0, s)
	c.searches = c.searches[:min(len(c.searches), maxCachedSearches)]
	if int64(len(s.hits)) >= c.index.EntryCount() {
		return s, nil
	}
	for line, err := range file.LinesFrom(ctx, int64(len(s.hits))+1) {
		if err != nil {
			return nil, err
		}
		if line.Number > c.index.EntryCount() {
			break // appended after update read the file
		}
		s.addEntry(line.Text, c.index)
	}
	return s, nil
}
