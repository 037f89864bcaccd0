package model

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// player plays a script. It is safe for concurrent use.
type player struct {
	script *Script

	mu       sync.Mutex
	refusals map[refused]int // how many there were
}

// refused is a point of a conversation at which it was refused: the first
// refusal there, and the message that was sent last. What came before it may
// change when a client makes its conversation shorter.
type refused struct {
	at   int
	last [sha256.Size]byte
}

func (s *Script) player() *player {
	return &player{script: s, refusals: map[refused]int{}}
}

// next finds the reply to a conversation, checks what it expects and fills in
// the ids of cells.
func (p *player) next(messages []Message) (*reply, error) {
	at := p.skipRefusals(p.script.after(messages), messages)
	if at >= len(p.script.replies) {
		return nil, fmt.Errorf("%s: the script has %d replies and one more was asked for", p.script.name, len(p.script.replies))
	}
	r := p.script.replies[at]
	if err := r.expect.check(messages); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", p.script.name, r.line, err)
	}
	content, err := fillCells(r.content, createdCells(messages))
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %w", p.script.name, r.line, err)
	}
	r.content = content
	return &r, nil
}

// after returns the number of the reply that follows those in a conversation,
// or of the first of the refusals before it. The latest call of a tool that the
// script made is the landmark, so that a conversation may lose its beginning.
func (s *Script) after(messages []Message) int {
	made := map[string]int{}
	for n, r := range s.replies {
		for _, call := range ToolUses(r.content) {
			made[call.ID] = n
		}
	}
	since := 0
	for _, m := range slices.Backward(messages) {
		if m.Role != RoleAssistant {
			continue
		}
		for _, call := range ToolUses(m.Content) {
			if n, ok := made[call.ID]; ok {
				return s.advance(n+1, since)
			}
		}
		since++
	}
	return s.advance(0, since)
}

// advance goes on by count replies that are no refusals.
func (s *Script) advance(at, count int) int {
	for ; count > 0 && at < len(s.replies); at++ {
		if s.replies[at].refusal == nil {
			count--
		}
	}
	return at
}

// skipRefusals steps over the refusals at that a conversation has had already,
// and counts the one it is going to have.
func (p *player) skipRefusals(at int, messages []Message) int {
	replies := p.script.replies
	if at >= len(replies) || replies[at].refusal == nil {
		return at
	}
	text, err := json.Marshal(messages[max(0, len(messages)-1):])
	if err != nil {
		return at // no message that was sent or read is unwritable
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := refused{at, sha256.Sum256(text)}
	for range p.refusals[key] {
		if at < len(replies) && replies[at].refusal != nil {
			at++
		}
	}
	if at < len(replies) && replies[at].refusal != nil {
		p.refusals[key]++
	}
	return at
}
