package model

import "fmt"

// checkThoughts looks whether what the script thought came back as it was. What
// was thought elsewhere it cannot judge.
func (s *Script) checkThoughts(messages []Message) error {
	type thought struct{ text, signature string }
	thoughts, texts, signatures := map[thought]bool{}, map[string]bool{}, map[string]bool{}
	for _, r := range s.replies {
		for _, b := range r.content {
			if b.Type == BlockThinking {
				thoughts[thought{b.Thinking, b.Signature}] = true
				texts[b.Thinking], signatures[b.Signature] = b.Thinking != "", true
			}
		}
	}
	for i, m := range messages {
		for j, b := range m.Content {
			if b.Type != BlockThinking || thoughts[thought{b.Thinking, b.Signature}] {
				continue
			}
			if signatures[b.Signature] || texts[b.Thinking] {
				return fmt.Errorf("messages.%d.content.%d: thinking must come back as it was, with its signature", i, j)
			}
		}
	}
	return nil
}
