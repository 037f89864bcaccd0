package model

import (
	"encoding/json"
	"net/http"
	"unicode/utf8"
)

// pieceRunes is how many characters of a reply go into one event.
const pieceRunes = 7

// stream sends a reply as a stream of events.
func stream(w http.ResponseWriter, gone <-chan struct{}, out message, r *reply) {
	s := newSSE(w, gone, r.fault)
	s.failed = func(said errorDetail) []byte {
		return event("error", map[string]any{"error": said})
	}
	r.events(out, func(name string, data map[string]any) {
		s.last = name == "message_stop"
		s.send(event(name, data))
	})
}

// event writes an event of the Messages API.
func event(name string, data map[string]any) []byte {
	data["type"] = name
	text, _ := json.Marshal(data) //nolint:errchkjson // what a script held, which was JSON
	return append(append([]byte("event: "+name+"\ndata: "), text...), "\n\n"...)
}

// events makes the events of a reply, one after the other.
func (r *reply) events(out message, emit func(name string, data map[string]any)) {
	total := out.Usage
	out.Content, out.StopReason, out.Usage.OutputTokens = []Block{}, nil, 0
	emit("message_start", map[string]any{"message": out})
	emit("ping", map[string]any{})
	for i, b := range r.content {
		blockEvents(i, b, r.cuts(i), emit)
	}
	emit("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": r.stop, "stop_sequence": nil},
		"usage": map[string]any{"output_tokens": total.OutputTokens},
	})
	emit("message_stop", map[string]any{})
}

// blockEvents makes those of one block: its start without what grows, its pieces,
// its stop.
func blockEvents(i int, b Block, cut bool, emit func(name string, data map[string]any)) {
	delta := func(kind, field, text string) {
		emit("content_block_delta", map[string]any{"index": i, "delta": map[string]any{"type": kind, field: text}})
	}
	pieces := func(kind, field, text string) {
		for _, piece := range runePieces(text) {
			delta(kind, field, piece)
		}
	}
	start := b
	start.Text, start.Thinking, start.Signature = "", "", ""
	if b.Type == BlockToolUse {
		start.Input = nil
	}
	emit("content_block_start", map[string]any{"index": i, "content_block": start})
	switch b.Type {
	case BlockText:
		pieces("text_delta", "text", b.Text)
	case BlockThinking:
		pieces("thinking_delta", "thinking", b.Thinking)
		delta("signature_delta", "signature", b.Signature)
	case BlockToolUse:
		input := string(orEmptyObject(b.Input))
		if cut {
			input = cutInput(b.Input)
		}
		pieces("input_json_delta", "partial_json", input)
	}
	emit("content_block_stop", map[string]any{"index": i})
}

// runePieces cuts a text into pieces of a few characters.
func runePieces(text string) []string {
	var pieces []string
	for len(text) > 0 {
		end := 0
		for n := 0; n < pieceRunes && end < len(text); n++ {
			_, size := utf8.DecodeRuneInString(text[end:])
			end += size
		}
		pieces = append(pieces, text[:end])
		text = text[end:]
	}
	return pieces
}
