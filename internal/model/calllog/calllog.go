// Package calllog stores the requests of an agent's model calls so that a long conversation
// takes space in proportion to its length: what a request has in common with an earlier one is
// left out, with a reference to it. [Encoder] makes the stored form, [Decoder] the requests.
package calllog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tidwall/gjson"
)

// Window is how many requests back a reference may go: an agent may have several conversations
// at the same time.
const Window = 8

// Stored is a request as it is stored.
type Stored struct {
	// Request is the request's JSON. What Same says is left out of it.
	Request json.RawMessage `json:"request"`

	// Same says what the request has in common with an earlier one; nil: nothing is left out.
	Same *Same `json:"same,omitempty"`
}

// Same says which part of a request is that of an earlier one.
type Same struct {
	Call int64 `json:"call"` // number of the earlier call

	// Count is how many of the first messages of the conversation are the same, and Digest the
	// SHA-256 of their JSON, joined by commas, in hexadecimal digits.
	Count  int    `json:"count,omitempty"`
	Digest string `json:"digest,omitempty"`

	Members []string `json:"members,omitempty"` // such as tools: they are the same as a whole
}

// minMemberBytes is how long a member must be to be left out.
const minMemberBytes = 256

// request is a request in parts.
type request struct {
	call    int64
	members []member
	list    int // index of the member with the conversation; -1: there is none
	items   [][]byte
}

// member is one member of a JSON object.
type member struct {
	name  string
	value []byte // JSON
}

// listNames returns the names that the member with the conversation has: in the Messages API and
// in Chat Completions, and in the Responses API.
func listNames() []string { return []string{"messages", "input"} }

// parse returns the parts of a request. ok is false if it is no JSON object, or a name occurs twice.
func parse(call int64, body []byte) (r request, ok bool) {
	r = request{call: call, list: -1}
	if !gjson.ValidBytes(body) {
		return r, false
	}
	whole := gjson.ParseBytes(body)
	ok = whole.IsObject()
	whole.ForEach(func(name, value gjson.Result) bool {
		ok = ok && !slices.ContainsFunc(r.members, func(m member) bool { return m.name == name.Str })
		r.members = append(r.members, member{name.Str, []byte(value.Raw)})
		if value.IsArray() && slices.Contains(listNames(), name.Str) && r.list < 0 {
			r.list = len(r.members) - 1
			value.ForEach(func(_, item gjson.Result) bool {
				r.items = append(r.items, []byte(item.Raw))
				return true
			})
		}
		return ok
	})
	return r, ok
}

// Encoder makes the stored form of requests, in the order of the calls. The zero value is ready.
// It is not safe for concurrent use. It keeps digests of the last requests, not their text.
type Encoder struct{ recent []requestDigests }

// hash is the SHA-256 of a text.
type hash [sha256.Size]byte

// requestDigests says what was in a request.
type requestDigests struct {
	call    int64
	members map[string]hash // by name
	list    string          // name of the member with the conversation; "": there is none
	items   []hash
}

// digests returns what is in the request.
func (r *request) digests() requestDigests {
	d := requestDigests{call: r.call, members: map[string]hash{}}
	for _, m := range r.members {
		d.members[m.name] = sha256.Sum256(m.value)
	}
	if r.list >= 0 {
		d.list = r.members[r.list].name
	}
	for _, item := range r.items {
		d.items = append(d.items, sha256.Sum256(item))
	}
	return d
}

// Encode returns the stored form of the request of a call.
func (e *Encoder) Encode(call int64, body []byte) Stored {
	r, ok := parse(call, body)
	if !ok {
		return Stored{Request: body}
	}
	digests := r.digests()
	var best *requestDigests
	common := 0
	for i := range e.recent {
		if n := digests.commonItems(&e.recent[i]); best == nil || n >= common {
			best, common = &e.recent[i], n
		}
	}
	stored := Stored{Request: body}
	if best != nil {
		stored = r.without(&digests, best, common)
	}
	e.recent = append(e.recent[max(0, len(e.recent)-Window+1):], digests)
	return stored
}

// commonItems returns how many of the first items of the conversation two requests have in common.
func (d *requestDigests) commonItems(other *requestDigests) int {
	if d.list != other.list {
		return 0
	}
	n := 0
	for n < len(d.items) && n < len(other.items) && d.items[n] == other.items[n] {
		n++
	}
	return n
}

// without returns the stored form of a request, with these digests, that has the first common items of the
// conversation, and perhaps other members, in common with an earlier one.
func (r *request) without(digests, earlier *requestDigests, common int) Stored {
	same := &Same{Call: earlier.call}
	kept := slices.Clone(r.members)
	if common > 0 {
		same.Count, same.Digest = common, digest(r.items[:common])
		kept[r.list].value = joinItems(r.items[common:])
	}
	kept = slices.DeleteFunc(kept, func(m member) bool {
		other, hasOther := earlier.members[m.name]
		isSame := len(m.value) >= minMemberBytes && !slices.Contains(listNames(), m.name) && hasOther && digests.members[m.name] == other
		if isSame {
			same.Members = append(same.Members, m.name)
		}
		return isSame
	})
	if same.Count == 0 && len(same.Members) == 0 {
		return Stored{Request: joinMembers(r.members)}
	}
	return Stored{Request: joinMembers(kept), Same: same}
}

// valueOf returns the JSON of the member with this name, or nil.
func (r *request) valueOf(name string) []byte {
	for _, m := range r.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// Decoder makes requests from their stored form, in the order of the calls. The zero value is ready.
// It is not safe for concurrent use.
type Decoder struct{ recent []request }

// Decode returns the request of a call. It fails if an earlier request, to which the stored form
// refers, is missing or another.
func (d *Decoder) Decode(call int64, stored Stored) (json.RawMessage, error) {
	body := []byte(stored.Request)
	if stored.Same != nil {
		var err error
		if body, err = d.complete(stored); err != nil {
			return nil, fmt.Errorf("request of call %d: %w", call, err)
		}
	}
	if r, ok := parse(call, body); ok {
		d.recent = append(d.recent[max(0, len(d.recent)-Window+1):], r)
	}
	return body, nil
}

// complete puts into a stored request what was left out of it.
func (d *Decoder) complete(stored Stored) ([]byte, error) {
	same := stored.Same
	at := -1
	for i, r := range d.recent { // the newest one: the calls of the session's next agent begin at 1 again
		if r.call == same.Call {
			at = i
		}
	}
	r, ok := parse(0, stored.Request)
	if at < 0 || !ok {
		return nil, fmt.Errorf("that of call %d, to which it refers, is missing", same.Call)
	}
	earlier := &d.recent[at]
	if same.Count > 0 {
		if r.list < 0 || same.Count > len(earlier.items) || digest(earlier.items[:same.Count]) != same.Digest {
			return nil, fmt.Errorf("the conversation of call %d is another one", same.Call)
		}
		r.members[r.list].value = joinItems(slices.Concat(earlier.items[:same.Count], r.items))
	}
	for _, name := range same.Members {
		value := earlier.valueOf(name)
		if value == nil {
			return nil, fmt.Errorf("call %d has no %s", same.Call, name)
		}
		r.members = append(r.members, member{name, value})
	}
	return joinMembers(r.members), nil
}

// digest returns the SHA-256 of items, joined by commas.
func digest(items [][]byte) string {
	sum := sha256.New()
	for i, item := range items {
		if i > 0 {
			sum.Write([]byte{','})
		}
		sum.Write(item)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// joinItems returns a JSON list.
func joinItems(items [][]byte) []byte {
	return slices.Concat([]byte("["), bytes.Join(items, []byte(",")), []byte("]"))
}

// joinMembers returns a JSON object.
func joinMembers(members []member) []byte {
	text := []byte("{")
	for i, m := range members {
		if i > 0 {
			text = append(text, ',')
		}
		name, _ := json.Marshal(m.name) //nolint:errchkjson // a string
		text = append(append(append(text, name...), ':'), m.value...)
	}
	return append(text, '}')
}
