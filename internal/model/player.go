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
	failures map[point]int // how many there were
}

// point is where in a conversation something went wrong: the first line of the
// script that does there, and the message that was sent last. What came before it
// may change when a client makes its conversation shorter.
type point struct {
	at   int
	last [sha256.Size]byte
}

func (s *Script) player() *player {
	return &player{script: s, failures: map[point]int{}}
}

// turnHeader tells a [Mock] what [Request.Turn] tells a script.
const turnHeader = "X-Assay-Turn"

// next finds the reply to a conversation, checks what it expects and fills in
// the ids of cells. Turn is that of the request.
func (p *player) next(turn int, messages []Message) (*reply, error) {
	first, last := p.script.place(turn, messages)
	at, again := p.skipFailures(first, last)
	if at >= len(p.script.replies) {
		return nil, fmt.Errorf("%s: the script has %d replies and one more was asked for", p.script.name, len(p.script.replies))
	}
	r := p.script.replies[at]
	if again {
		r.fault = nil
	}
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

// place returns the number of the reply that is asked for, or of the first of
// the refusals before it, and the messages that tell this point of the
// conversation from others: none where the turn tells it.
func (s *Script) place(turn int, messages []Message) (at int, last []Message) {
	if turn > 0 {
		return s.advance(0, turn-1), nil
	}
	return s.after(messages), messages[max(0, len(messages)-1):]
}

// after returns the number of the reply that follows those in a conversation,
// or of the first of the failures before it. The latest call of a tool that the
// script made is the landmark, so that a conversation may lose its beginning.
func (s *Script) after(messages []Message) int {
	made := map[string]int{}
	for n, r := range s.replies {
		if r.fails() {
			continue
		}
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

// advance goes on by count replies that do not fail.
func (s *Script) advance(at, count int) int {
	for ; count > 0 && at < len(s.replies); at++ {
		if !s.replies[at].fails() {
			count--
		}
	}
	return at
}

// skipFailures steps over the failures at that a conversation has had already,
// and counts the fault or refusal that it is going to have. Again says that the
// fault of the reply, which does not fail, has been had as well.
func (p *player) skipFailures(at int, last []Message) (next int, again bool) {
	replies := p.script.replies
	if at >= len(replies) || replies[at].refusal == nil && replies[at].fault == nil {
		return at, false
	}
	text, err := json.Marshal(last)
	if err != nil {
		return at, false // no message that was sent or read is unwritable
	}
	key := point{at, sha256.Sum256(text)}
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.failures[key]
	for ; left > 0 && at < len(replies) && replies[at].fails(); at++ {
		left--
	}
	if left == 0 {
		p.failures[key]++
	}
	return at, left > 0
}
