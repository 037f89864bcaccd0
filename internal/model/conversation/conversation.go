// Package conversation makes the conversation of an agent with its models out of the calls that the
// agent has made. Each request repeats what was said before; [Builder] takes what is new in it.
package conversation

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"assay/internal/model"
	"assay/internal/model/calllog"
	"assay/internal/model/wire"
	"assay/internal/rawjson"
)

// Message is one message of a conversation.
type Message struct {
	At      time.Time // of the call in which it came first, or of the reply
	Role    string    // of package model
	Content []model.Block
	Usage   *model.Usage // of the call, if the message is the reply of a model
	Call    int64        // number of that call; 0: the message is no reply

	// Thread is the number, from 2, of the thread to which the message belongs, for instance a call for a
	// title, or a second agent; 0: it belongs to the longest thread.
	Thread int
}

// Builder makes a conversation out of calls, which it gets in the order of their trace entries.
//
// The blocks of all requests and replies form a tree: a request begins at the root, and branches off where
// it differs from the earlier ones. Thinking and cache markers make no difference. If an agent has changed
// what was said before, such as by leaving out old results, its request goes on after the last reply that
// it contains. A path through the tree is a thread.
//
// It works on the stored form of requests, so that its time is in proportion to the length of the
// conversation. The zero value is ready. It is not safe for concurrent use.
type Builder struct {
	root     node
	replies  map[string]*node // the newest block of a reply with each key
	newest   *node            // the end of the newest reply
	requests []request        // the last ones
	ends     map[int64]*node  // of the requests whose replies have not come, by call
	drafts   []draft
	sentBack map[*node]int // drafts of the assistant that came in requests, by their ends, while replies may still come
	threads  int
}

// request is where the request of a call is in the tree.
type request struct {
	call  int64
	items []*node // the end of each item of its conversation
}

// AddCall adds what is new in a request. An error says which parts could not be read; the others are added.
func (b *Builder) AddCall(c calllog.Call, at time.Time) error {
	items, isContinued, err := splitItems(wire.API(c.API), c.Request)
	added := request{call: c.Call}
	p := path{builder: b, end: &b.root}
	if isContinued && b.newest != nil {
		p.end = b.newest // the ids of replies are not recorded
	}
	if same := c.Same; same != nil && same.Count > 0 {
		i := slices.IndexFunc(b.requests, func(r request) bool { return r.call == same.Call && len(r.items) >= same.Count })
		if i < 0 {
			err = errors.Join(err, fmt.Errorf("that of call %d, to which it refers, is missing", same.Call))
		} else {
			added.items = slices.Clone(b.requests[i].items[:same.Count])
			p.end = added.items[same.Count-1]
		}
	}
	for _, item := range items {
		messages, itemErr := wire.DecodeMessages(wire.API(c.API), item)
		err = errors.Join(err, itemErr)
		for _, m := range messages {
			p.follow(m)
		}
		added.items = append(added.items, p.end)
	}
	b.addMessages(p.added, at)
	b.requests = append(b.requests[max(0, len(b.requests)-calllog.Window+1):], added)
	if b.ends == nil {
		b.ends = map[int64]*node{}
	}
	b.ends[c.Call] = p.end
	if err != nil {
		return fmt.Errorf("request of call %d: %w", c.Call, err)
	}
	return nil
}

// AddReply adds the reply of a call, if there is one.
func (b *Builder) AddReply(r calllog.Reply, at time.Time) {
	end, isKnown := b.ends[r.Call]
	if !isKnown {
		end = &b.root
	}
	delete(b.ends, r.Call)
	if r.Response == nil || len(r.Response.Content) == 0 {
		return
	}
	if b.replies == nil {
		b.replies = map[string]*node{}
	}
	request := end
	for _, block := range r.Response.Content {
		if key := keyOf(model.RoleAssistant, block); key != "" {
			end = b.childOf(end, key)
			b.replies[key] = end
		}
	}
	b.newest, request.newestReply = end, len(b.drafts)
	reply := draft{end: end, isCut: !r.IsComplete, request: request}
	usage := r.Response.Usage
	reply.Message = Message{At: at, Role: model.RoleAssistant, Content: r.Response.Content, Usage: &usage, Call: r.Call}
	if i, isSentBack := b.sentBack[end]; isSentBack { // the next request was recorded before this reply
		delete(b.sentBack, end)
		request.newestReply, b.drafts[i] = i, reply
		return
	}
	b.drafts = append(b.drafts, reply)
}

// addMessages adds messages of a request.
func (b *Builder) addMessages(added []draft, at time.Time) {
	for _, d := range added {
		d.At = at
		if b.drafts = append(b.drafts, d); d.Role == model.RoleAssistant && len(b.ends) > 0 {
			if b.sentBack == nil {
				b.sentBack = map[*node]int{}
			}
			b.sentBack[d.end] = len(b.drafts) - 1
		}
	}
}

// Messages returns the messages in the order in which they came. Replies that broke off are left out if the
// agent has made the call again.
func (b *Builder) Messages() []Message {
	var longest *node
	for _, d := range b.drafts {
		if longest == nil || d.end.depth > longest.depth {
			longest = d.end
		}
	}
	isMain := map[*node]bool{}
	for n := longest; n != nil; n = n.parent {
		isMain[n] = true
	}
	numbers := map[int]int{} // of the threads beside the longest, in the order in which they came
	var messages []Message
	for i, d := range b.drafts {
		if d.isCut && d.request.newestReply != i && (d.end == d.request || len(d.end.children) == 0) {
			continue
		}
		if !isMain[d.end] {
			if numbers[d.end.thread] == 0 {
				numbers[d.end.thread] = len(numbers) + 2 //nolint:mnd // the longest is the first
			}
			d.Thread = numbers[d.end.thread]
		}
		messages = append(messages, d.Message)
	}
	return messages
}

// splitItems returns the items of a request's conversation, each as the body of a request. isContinued says
// that they follow an earlier reply, which the API has stored.
func splitItems(api wire.API, body json.RawMessage) (items []json.RawMessage, isContinued bool, err error) {
	var in struct {
		Messages   json.RawMessage `json:"messages"`
		Input      json.RawMessage `json:"input"`
		PreviousID *string         `json:"previous_response_id"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, false, err
	}
	name, list := "messages", in.Messages
	if api == wire.Responses {
		name, list = "input", in.Input
	}
	if list == nil {
		return nil, in.PreviousID != nil, nil
	}
	var values []json.RawMessage
	if json.Unmarshal(list, &values) != nil {
		item, err := rawjson.Marshal(map[string]json.RawMessage{name: list})
		return []json.RawMessage{item}, in.PreviousID != nil, err
	}
	for _, value := range values {
		item, itemErr := rawjson.Marshal(map[string][]json.RawMessage{name: {value}})
		items, err = append(items, item), errors.Join(err, itemErr)
	}
	return items, in.PreviousID != nil, err
}
