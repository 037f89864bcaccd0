package gateway

import (
	"bytes"
	"slices"

	"github.com/tidwall/gjson"
)

// pieceFilter changes a text that comes in pieces. What it returns is valid until its next call.
type pieceFilter interface {
	next(piece []byte) []byte // may hold back the end of the piece
	rest() []byte             // returns what was held back
}

// pieceFilters are filters one after the other.
type pieceFilters []pieceFilter

// next passes a piece through all filters.
func (f pieceFilters) next(piece []byte) []byte {
	for _, filter := range f {
		piece = filter.next(piece)
	}
	return piece
}

// rest returns what the filters have held back.
func (f pieceFilters) rest() (rest []byte) {
	for _, filter := range f {
		rest = slices.Concat(filter.next(rest), filter.rest())
	}
	return rest
}

// keyFilter replaces a key, which is not empty. A vendor may repeat it in an error.
type keyFilter struct {
	key  []byte
	held []byte // end of the last piece, with which the key may begin
}

func (f *keyFilter) next(piece []byte) []byte {
	if len(f.held) > 0 {
		piece = slices.Concat(f.held, piece)
		f.held = nil
	}
	if bytes.Contains(piece, f.key) {
		piece = bytes.ReplaceAll(piece, f.key, []byte("[redacted]"))
	}
	for n := min(len(f.key)-1, len(piece)); n > 0; n-- {
		if bytes.HasSuffix(piece, f.key[:n]) {
			f.held = slices.Clone(piece[len(piece)-n:])
			return piece[:len(piece)-n]
		}
	}
	return piece
}

func (f *keyFilter) rest() []byte { return f.held }

// usageFilter removes the chunk of a streamed chat completion that has only the usage, for which
// the gateway has asked and the agent has not. Some servers leave out the empty lines between chunks.
type usageFilter struct {
	held    []byte // the beginning of a line
	isAfter bool   // the last line was removed: with it goes the empty one after it
}

// maxHeldBytes is how much of a line is held back at most: a chunk with only the usage is short.
const maxHeldBytes = 8 << 10

func (f *usageFilter) next(piece []byte) []byte {
	text := slices.Concat(f.held, piece)
	f.held = nil
	var kept []byte
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n') + 1
		if end == 0 {
			break
		}
		line := text[:end]
		text = text[end:]
		isRemoved := isUsageChunk(line) || f.isAfter && len(bytes.TrimSpace(line)) == 0
		if f.isAfter = isRemoved && !f.isAfter; !isRemoved {
			kept = append(kept, line...)
		}
	}
	if len(text) > maxHeldBytes {
		return append(kept, text...)
	}
	f.held = text
	return kept
}

func (f *usageFilter) rest() []byte { return f.held }

// isUsageChunk reports whether a line is a chunk with usage and without choices.
func isUsageChunk(line []byte) bool {
	data, found := bytes.CutPrefix(line, []byte("data:"))
	if !found || !bytes.Contains(data, []byte(`"usage"`)) || !gjson.ValidBytes(bytes.TrimSpace(data)) {
		return false
	}
	chunk := gjson.ParseBytes(data)
	choices := chunk.Get("choices")
	return chunk.Get("usage").IsObject() && choices.IsArray() && len(choices.Array()) == 0
}
