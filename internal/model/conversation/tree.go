package conversation

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"assay/internal/model"
	"assay/internal/rawjson"
)

// node is a content block in the tree of all requests and replies.
type node struct {
	parent   *node
	children map[string]*node // by key
	depth    int
	thread   int // that of the parent for its first child, otherwise a new one

	newestReply int // of the end of a request: index in Builder.drafts of its newest reply
}

// draft is a message whose thread is not known before all others.
type draft struct {
	Message
	end     *node // its last block
	request *node // of a reply: the end of its request
	isCut   bool  // a reply that broke off
}

// childOf returns the child of a node with this key, which it adds if there is none.
func (b *Builder) childOf(parent *node, key string) *node {
	if child := parent.children[key]; child != nil {
		return child
	}
	child := &node{parent: parent, depth: parent.depth + 1, thread: parent.thread}
	if len(parent.children) > 0 {
		b.threads++
		child.thread = b.threads
	}
	if parent.children == nil {
		parent.children = map[string]*node{}
	}
	parent.children[key] = child
	return child
}

// path is the way of one request through the tree.
type path struct {
	builder *Builder
	end     *node
	added   []draft // new messages at its end
}

// follow goes on along the blocks of a message. What is not in the tree is new, unless a known reply follows:
// then the agent has changed what was said before that.
func (p *path) follow(m model.Message) {
	isNew := len(p.added) > 0
	joins := isNew && p.added[len(p.added)-1].Role == m.Role
	for _, block := range m.Content {
		key := keyOf(m.Role, block)
		if key == "" {
			continue
		}
		known := p.end.children[key]
		if known == nil && m.Role == model.RoleAssistant {
			known = p.builder.replies[key]
			isNew = isNew && known == nil
		}
		if known != nil && !isNew {
			p.end, p.added, joins = known, nil, false
			continue
		}
		p.end = p.builder.childOf(p.end, key)
		if !joins {
			p.added = append(p.added, draft{Message: Message{Role: m.Role}})
		}
		last := &p.added[len(p.added)-1]
		last.Content, last.end = append(last.Content, block), p.end
		isNew, joins = true, true
	}
}

// keyOf returns the key of a block: blocks that make no difference have the same. It is empty for a block
// that is left out when requests are compared.
func keyOf(role string, block model.Block) string {
	switch block.Type {
	case model.BlockThinking, model.BlockRedactedThinking:
		return ""
	case model.BlockText:
		if block.Text = strings.TrimSpace(block.Text); block.Text == "" {
			return ""
		}
	case model.BlockToolUse:
		block.Input = compactJSON(block.Input)
	}
	text, err := rawjson.Marshal(withoutCacheMarkers(block))
	if err != nil {
		text = []byte(strconv.Quote(block.Type)) // cannot happen: the block was decoded from JSON
	}
	return role + string(text)
}

// withoutCacheMarkers returns a block without the markers up to which the API caches the request.
func withoutCacheMarkers(block model.Block) model.Block {
	block.Cache = false
	inner := make([]model.Block, len(block.Content))
	for i, part := range block.Content {
		inner[i] = withoutCacheMarkers(part)
	}
	block.Content = inner
	return block
}

// compactJSON returns JSON with sorted members and without white space, or malformed JSON as it is.
func compactJSON(text json.RawMessage) json.RawMessage {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return text
	}
	compact, err := rawjson.Marshal(value)
	if err != nil {
		return text // cannot happen: it was decoded
	}
	return compact
}
