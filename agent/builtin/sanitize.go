package builtin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"assay/internal/model"
	"assay/internal/protocol"
)

// MaxInputDepth is the maximum nesting depth, in levels, of the JSON input of a tool call.
// The server rejects messages that are much deeper.
const MaxInputDepth = 200

// maxCallNameBytes is the maximum length in bytes of a tool call's id and of its tool's
// name.
const maxCallNameBytes = 64

// sanitizeReply returns the content of a model reply as it is added to a transcript: blocks
// that the API would reject in a later request are removed or changed. Empty content becomes
// EmptyReplyText.
func sanitizeReply(content []model.Block) []model.Block {
	content = sendableBlocks(AssistantMessage(content...), map[string]bool{})
	if len(content) == 0 {
		return []model.Block{model.Text(EmptyReplyText)}
	}
	for i := range content {
		content[i].Cache = false
		if content[i].Type == model.BlockToolUse {
			content[i] = sanitizeCall(content[i])
		}
	}
	return content
}

// assignCallIDs returns a copy of a reply's content in which every tool call has an id that
// the API accepts and that no other call of the transcript has. Ids that are valid and
// unique are kept.
func (c *Conversation) assignCallIDs(content []model.Block) []model.Block {
	used := map[string]bool{}
	for _, m := range c.messages {
		for _, id := range toolCallIDs(m.Content) {
			used[id] = true
		}
	}
	content = slices.Clone(content)
	for i := range content {
		if b := &content[i]; b.Type == model.BlockToolUse {
			b.ID = uniqueID(sanitizeName(b.ID, "toolu"), used)
			used[b.ID] = true
		}
	}
	return content
}

// uniqueID returns id, with a number appended if it is used already.
func uniqueID(id string, used map[string]bool) string {
	free := id
	for n := 2; used[free]; n++ {
		free = id + "_" + strconv.Itoa(n)
	}
	return free
}

// sanitizeName returns a tool call's name or id in a form that the API accepts: at most 64
// of A-Z, a-z, 0-9, - and _. Other characters become _, and an empty name becomes fallback.
func sanitizeName(name, fallback string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_':
			return r
		}
		return '_'
	}, name)
	return cmp.Or(name[:min(len(name), maxCallNameBytes)], fallback)
}

// sanitizeCall returns a copy of a tool call whose name and input the API accepts in a later
// request. (The tool itself is run with the call as the model wrote it.)
func sanitizeCall(b model.Block) model.Block {
	b.Name, b.Input = sanitizeName(b.Name, "unnamed"), SanitizeInput(b.Input)
	return b
}

// SanitizeInput returns the input of a tool call in a form that the API and the server
// accept: a JSON object in UTF-8, at most [MaxInputDepth] levels deep, whose escaped
// surrogates come in pairs. Valid input keeps its bytes; input that is not such an object
// becomes {}.
func SanitizeInput(input json.RawMessage) json.RawMessage {
	var object map[string]any
	dec := json.NewDecoder(bytes.NewReader(input))
	dec.UseNumber()
	if protocol.IsDeeperThan(input, MaxInputDepth) || dec.Decode(&object) != nil || object == nil {
		return json.RawMessage(`{}`)
	}
	if utf8.Valid(input) && !bytes.Contains(bytes.ToLower(input), []byte(`\ud`)) {
		return input
	}
	again, err := protocol.Marshal(object)
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return again
}

// trimThinking returns the content of an assistant message without thinking blocks at its
// end, which the API rejects. If all blocks are thinking, it keeps them and appends
// EmptyReplyText.
func trimThinking(content []model.Block) []model.Block {
	end := len(content)
	for end > 0 && (content[end-1].Type == model.BlockThinking || content[end-1].Type == model.BlockRedactedThinking) {
		end--
	}
	if end == 0 && len(content) > 0 {
		return append(content, model.Text(EmptyReplyText))
	}
	return content[:end]
}
