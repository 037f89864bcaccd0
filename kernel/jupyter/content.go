package jupyter

import (
	"encoding/json"
)

// executeRequest asks the kernel to run code.
type executeRequest struct {
	Code         string            `json:"code"`
	Silent       bool              `json:"silent"`
	StoreHistory bool              `json:"store_history"`
	AllowStdin   bool              `json:"allow_stdin"`   // never: nobody would answer
	StopOnError  bool              `json:"stop_on_error"` // never: ipykernel refuses what comes too soon after an error
	Expressions  map[string]string `json:"user_expressions,omitempty"`
}

// reply is an execute_reply. A kernel that writes something else in a field
// leaves it empty.
type reply struct {
	Status      string // ok, error or aborted
	EName       string
	EValue      string
	Traceback   []string
	Expressions map[string]bundle // the values of those that were asked for
}

// bundle is something in the forms in which it can be shown, by mime type.
type bundle struct {
	Data map[string]json.RawMessage `json:"data"`
}

// plain is the text/plain of the bundle, empty where there is none.
func (b bundle) plain() string {
	var text string
	_ = json.Unmarshal(b.Data["text/plain"], &text)
	return text
}

// loose reads the fields of an object one by one, so that one of a wrong type
// does not cost the others.
type loose map[string]json.RawMessage

func parseLoose(content json.RawMessage) loose {
	fields := loose{}
	_ = json.Unmarshal(content, &fields) // it is an object: decode has looked
	return fields
}

func (l loose) text(name string) string {
	var value string
	_ = json.Unmarshal(l[name], &value)
	return value
}

// texts reads a list of texts, or one alone, which is how some kernels write a
// list of one.
func (l loose) texts(name string) []string {
	var list []string
	if err := json.Unmarshal(l[name], &list); err == nil {
		return list
	}
	if one := l.text(name); one != "" {
		return []string{one}
	}
	return nil
}

// object returns a field that is an object, as it is, and {} for any other.
func (l loose) object(name string) json.RawMessage {
	if value := l[name]; len(value) > 0 && value[0] == '{' {
		return value
	}
	return json.RawMessage("{}")
}

func parseReply(content json.RawMessage) reply {
	fields := parseLoose(content)
	r := reply{
		Status: fields.text("status"), EName: fields.text("ename"), EValue: fields.text("evalue"),
		Traceback: fields.texts("traceback"),
	}
	_ = json.Unmarshal(fields["user_expressions"], &r.Expressions)
	return r
}

// saysIdle tells whether m says that the kernel is done with m's parent.
func saysIdle(m message) bool {
	return m.kind == "status" && parseLoose(m.content).text("execution_state") == "idle"
}
