package model

import (
	"encoding/json"
	"net/http"
	"unicode/utf8"
)

// pieceRunes is how many characters of a reply go into one event.
const pieceRunes = 7

// sse writes the events of one reply. After the first error it writes nothing.
type sse struct {
	w   http.ResponseWriter
	out *http.ResponseController
	err error
}

// stream sends a reply as a stream of events.
func stream(w http.ResponseWriter, out message, r *reply) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	s := &sse{w: w, out: http.NewResponseController(w)}

	total := out.Usage
	out.Content, out.StopReason, out.Usage.OutputTokens = []Block{}, nil, 0
	s.event("message_start", map[string]any{"message": out})
	s.event("ping", map[string]any{})
	for i, b := range r.content {
		s.block(i, b, r.cuts(i))
	}
	s.event("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": r.stop, "stop_sequence": nil},
		"usage": map[string]any{"output_tokens": total.OutputTokens},
	})
	s.event("message_stop", map[string]any{})
}

// block sends one block: its start without what grows, its pieces, its stop.
func (s *sse) block(i int, b Block, cut bool) {
	start := b
	start.Text, start.Thinking, start.Signature = "", "", ""
	if b.Type == BlockToolUse {
		start.Input = nil
	}
	s.event("content_block_start", map[string]any{"index": i, "content_block": start})
	switch b.Type {
	case BlockText:
		s.pieces(i, "text_delta", "text", b.Text)
	case BlockThinking:
		s.pieces(i, "thinking_delta", "thinking", b.Thinking)
		s.delta(i, "signature_delta", "signature", b.Signature)
	case BlockToolUse:
		input := string(orEmptyObject(b.Input))
		if cut {
			input = cutInput(b.Input)
		}
		s.pieces(i, "input_json_delta", "partial_json", input)
	}
	s.event("content_block_stop", map[string]any{"index": i})
}

func (s *sse) pieces(i int, kind, field, text string) {
	for len(text) > 0 {
		end := 0
		for n := 0; n < pieceRunes && end < len(text); n++ {
			_, size := utf8.DecodeRuneInString(text[end:])
			end += size
		}
		s.delta(i, kind, field, text[:end])
		text = text[end:]
	}
}

func (s *sse) delta(i int, kind, field, text string) {
	s.event("content_block_delta", map[string]any{"index": i, "delta": map[string]any{"type": kind, field: text}})
}

func (s *sse) event(name string, data map[string]any) {
	data["type"] = name
	text, err := json.Marshal(data)
	if err != nil {
		s.err = err
		return
	}
	s.write([]byte("event: " + name + "\ndata: "))
	s.write(text)
	s.write([]byte("\n\n"))
}

// write sends data in two packets, parted in the middle of its first character
// of several bytes.
func (s *sse) write(data []byte) {
	for i, c := range data {
		if c >= utf8.RuneSelf {
			s.packet(data[:i+1])
			data = data[i+1:]
			break
		}
	}
	s.packet(data)
}

func (s *sse) packet(data []byte) {
	if s.err != nil {
		return
	}
	if _, s.err = s.w.Write(data); s.err == nil {
		s.err = s.out.Flush()
	}
}
