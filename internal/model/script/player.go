package script

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"assay/internal/model"
)

// Player plays a [Script] and counts the API errors and faults that it has played at
// each point of a conversation. It is safe for concurrent use.
type Player struct {
	script *Script

	mu       sync.Mutex
	failures map[failurePoint]int // how many of the failures at a point were played
}

// failurePoint identifies a point of a conversation at which the script fails: the
// index of the first failing line, and a hash of the last message that was sent.
// Earlier messages are not part of it, since a client may shorten its conversation.
type failurePoint struct {
	at   int
	last [sha256.Size]byte
}

// NewPlayer returns a player at the beginning of the script, which has played no API
// errors or faults yet.
func (s *Script) NewPlayer() *Player {
	return &Player{script: s, failures: map[failurePoint]int{}}
}

// NextReply returns the scripted reply to a conversation, with the ids of cells filled
// in; if turn is above 0, it returns the reply of that turn (see [model.Request.Turn])
// whatever the messages are. It returns an error, which names file and line, if the
// script has no more replies, if the conversation is not what the reply expects, or if
// a cell was not created.
func (p *Player) NextReply(turn int, messages []model.Message) (*Reply, error) {
	first, last := p.script.nextReplyIndex(turn, messages)
	at, again := p.skipPlayedFailures(first, last)
	if at >= len(p.script.replies) {
		return nil, fmt.Errorf("%s: the script has %d replies and one more was asked for", p.script.name, len(p.script.replies))
	}
	r := p.script.replies[at]
	if again {
		r.Fault = nil
	}
	if err := r.expect.check(messages); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", p.script.name, r.Line, err)
	}
	content, err := fillCellIDs(r.Content, createdCellIDs(messages))
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %w", p.script.name, r.Line, err)
	}
	r.Content = content
	return &r, nil
}

// CheckThinking returns an error if a message contains an altered thinking block of the
// script: with the text of one of the script's blocks but another signature, or the
// other way round. Thinking of other models is not checked.
func (p *Player) CheckThinking(messages []model.Message) error {
	type signedText struct{ text, signature string }
	thoughts, texts, signatures := map[signedText]bool{}, map[string]bool{}, map[string]bool{}
	for _, r := range p.script.replies {
		for _, b := range r.Content {
			if b.Type == model.BlockThinking {
				thoughts[signedText{b.Thinking, b.Signature}] = true
				texts[b.Thinking], signatures[b.Signature] = b.Thinking != "", true
			}
		}
	}
	for i, m := range messages {
		for j, b := range m.Content {
			if b.Type != model.BlockThinking || thoughts[signedText{b.Thinking, b.Signature}] {
				continue
			}
			if signatures[b.Signature] || texts[b.Thinking] {
				return fmt.Errorf("messages.%d.content.%d: thinking must come back as it was, with its signature", i, j)
			}
		}
	}
	return nil
}

// nextReplyIndex returns the index of the reply that comes next, or of the first failing
// line before it. last is the message that distinguishes this point of the conversation
// from others; it is empty if turn, which is above 0, decides.
func (s *Script) nextReplyIndex(turn int, messages []model.Message) (at int, last []model.Message) {
	if turn > 0 {
		return s.indexAfterReplies(0, turn-1), nil
	}
	return s.replyIndexAfterConversation(messages), messages[max(0, len(messages)-1):]
}

// replyIndexAfterConversation returns the index of the reply that follows those in a
// conversation, or of the first failing line before it. It counts from the script's
// latest tool call in the conversation, so that a client may drop the beginning of the
// conversation.
func (s *Script) replyIndexAfterConversation(messages []model.Message) int {
	calledBy := map[string]int{} // by id of the call
	for n, r := range s.replies {
		if r.isLost() {
			continue
		}
		for _, call := range model.ToolUses(r.Content) {
			calledBy[call.ID] = n
		}
	}
	since := 0
	for _, m := range slices.Backward(messages) {
		if m.Role != model.RoleAssistant {
			continue
		}
		for _, call := range model.ToolUses(m.Content) {
			if n, ok := calledBy[call.ID]; ok {
				return s.indexAfterReplies(n+1, since)
			}
		}
		since++
	}
	return s.indexAfterReplies(0, since)
}

// indexAfterReplies returns the index after the next count replies from the index at
// on. Lines that lose their reply do not count.
func (s *Script) indexAfterReplies(at, count int) int {
	for ; count > 0 && at < len(s.replies); at++ {
		if !s.replies[at].isLost() {
			count--
		}
	}
	return at
}

// skipPlayedFailures returns the index of the line to play: it skips the failing lines
// from index at on that were already played at this point of the conversation, and
// counts the API error or fault that is played now. again is true if the line's fault,
// which leaves the reply complete, was played before.
func (p *Player) skipPlayedFailures(at int, last []model.Message) (next int, again bool) {
	replies := p.script.replies
	if at >= len(replies) || replies[at].Refusal == nil && replies[at].Fault == nil {
		return at, false
	}
	text, err := json.Marshal(last)
	if err != nil {
		return at, false // cannot happen: messages that were parsed or sent can be written
	}
	point := failurePoint{at, sha256.Sum256(text)}
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.failures[point]
	for ; left > 0 && at < len(replies) && replies[at].isLost(); at++ {
		left--
	}
	if left == 0 {
		p.failures[point]++
	}
	return at, left > 0
}
