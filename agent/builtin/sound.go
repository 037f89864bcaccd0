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

// maxNesting is how many levels deep the input of a call may be. The server takes
// no message that is much deeper.
const maxNesting = 200

// maxName is how long the id or the name of a call may be.
const maxName = 64

// kept is the content of a reply as it is committed: such that it can be sent.
func kept(content []model.Block) []model.Block {
	content = presentable(assistantMessage(content...), map[string]bool{})
	if len(content) == 0 {
		return []model.Block{model.Text(emptyReply)}
	}
	for i := range content {
		content[i].Cache = false
		if content[i].Type == model.BlockToolUse {
			content[i] = soundCall(content[i])
		}
	}
	return content
}

// identify gives every call of a reply an id that the API takes and that no
// other call of the transcript has. An id that is so already stays.
func (c *conversation) identify(content []model.Block) []model.Block {
	used := map[string]bool{}
	for _, m := range c.messages {
		for _, id := range callIDs(m.Content) {
			used[id] = true
		}
	}
	content = slices.Clone(content)
	for i := range content {
		if b := &content[i]; b.Type == model.BlockToolUse {
			b.ID = unused(soundName(b.ID, "toolu"), used)
			used[b.ID] = true
		}
	}
	return content
}

func unused(id string, used map[string]bool) string {
	free := id
	for n := 2; used[free]; n++ {
		free = id + "_" + strconv.Itoa(n)
	}
	return free
}

// soundName returns a name that the API takes: letters, digits, - and _. One
// that is so already stays; an empty one becomes otherwise.
func soundName(name, otherwise string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_':
			return r
		}
		return '_'
	}, name)
	return cmp.Or(name[:min(len(name), maxName)], otherwise)
}

// soundCall returns a call as it can be sent, whatever the model wrote. What is
// run is the call as the model wrote it.
func soundCall(b model.Block) model.Block {
	b.Name, b.Input = soundName(b.Name, "unnamed"), soundInput(b.Input)
	return b
}

// soundInput returns an input that the API and the server take: an object in
// UTF-8, not too deep, in which every escaped surrogate has its partner. One that
// is so already keeps its bytes.
func soundInput(input json.RawMessage) json.RawMessage {
	var object map[string]any
	dec := json.NewDecoder(bytes.NewReader(input))
	dec.UseNumber()
	if protocol.IsDeeperThan(input, maxNesting) || dec.Decode(&object) != nil || object == nil {
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

// spoken returns the content of a message of the assistant such that it does not
// end in thinking, which the API does not take.
func spoken(content []model.Block) []model.Block {
	end := len(content)
	for end > 0 && (content[end-1].Type == model.BlockThinking || content[end-1].Type == model.BlockRedactedThinking) {
		end--
	}
	if end == 0 && len(content) > 0 {
		return append(content, model.Text(emptyReply))
	}
	return content[:end]
}
