package jupyter

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

const (
	// messagingVersion is the version of Jupyter's messaging protocol in our requests.
	messagingVersion = "5.3"

	// signedFrames is how many frames of a message are signed: header, parent header,
	// metadata, content.
	signedFrames = 4
)

// messageDelimiter returns the frame that separates the routing frames from the rest of a
// Jupyter message.
func messageDelimiter() []byte { return []byte("<IDS|MSG>") }

// message holds those parts of a Jupyter message that the adapter uses.
type message struct {
	kind     string          // msg_type
	id       string          // msg_id
	parentID string          // msg_id of the request that it answers; empty: none
	content  json.RawMessage // valid UTF-8; from [signer.decode] a JSON object
}

// messageHeader is the header of a Jupyter message. Its answers repeat it as their parent
// header.
type messageHeader struct {
	ID       string `json:"msg_id"`
	Type     string `json:"msg_type"`
	Session  string `json:"session"`
	Username string `json:"username"`
	Date     string `json:"date"` // RFC 3339
	Version  string `json:"version"`
}

// signer encodes and decodes Jupyter messages, which are signed with HMAC-SHA256. It is
// immutable and safe for concurrent use.
type signer struct {
	key     []byte
	session string
}

// newSigner returns a signer with a random key and session id.
func newSigner() signer {
	return signer{key: []byte(uuid.NewString()), session: uuid.NewString()}
}

// newRequest returns a message of this kind with a new id and content encoded as JSON. It
// fails if content cannot be encoded.
func newRequest(kind string, content any) (message, error) {
	body, err := json.Marshal(content)
	if err != nil {
		return message{}, fmt.Errorf("encode a %s: %w", kind, err)
	}
	return message{kind: kind, id: uuid.NewString(), content: body}, nil
}

// encode returns the frames of a message: delimiter, signature, header, parent header,
// metadata and content.
func (s signer) encode(m message) ([][]byte, error) {
	head, err := json.Marshal(messageHeader{
		ID: m.id, Type: m.kind, Session: s.session, Username: "assay",
		Date: time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"), Version: messagingVersion,
	})
	if err != nil {
		return nil, fmt.Errorf("encode a %s: %w", m.kind, err)
	}
	signed := [][]byte{head, []byte("{}"), []byte("{}"), m.content}
	return append([][]byte{messageDelimiter(), s.sign(signed)}, signed...), nil
}

// decode checks the signature of a received message and decodes its frames. Routing frames
// before it and buffers after it are dropped. It fails if the signature is wrong, or the
// header or content is not a JSON object.
func (s signer) decode(frames [][]byte) (message, error) {
	at := slices.IndexFunc(frames, func(frame []byte) bool { return bytes.Equal(frame, messageDelimiter()) })
	if at < 0 || len(frames) < at+2+signedFrames {
		return message{}, fmt.Errorf("%d frames are no message", len(frames))
	}
	signed := frames[at+2 : at+2+signedFrames]
	if !hmac.Equal(s.sign(signed), frames[at+1]) {
		return message{}, errors.New("the signature is wrong")
	}
	var head, parent messageHeader
	if err := json.Unmarshal(signed[0], &head); err != nil {
		return message{}, fmt.Errorf("decode its header: %w", err)
	}
	// Some kernels write an empty list for a missing parent.
	_ = json.Unmarshal(signed[1], &parent)
	content := signed[3]
	if !utf8.Valid(content) {
		content = bytes.ToValidUTF8(content, []byte("\uFFFD"))
	}
	if !json.Valid(content) || bytes.TrimLeft(content, " \t\r\n")[0] != '{' {
		return message{}, fmt.Errorf("the content of a %q is not an object", head.Type)
	}
	return message{kind: head.Type, id: head.ID, parentID: parent.ID, content: content}, nil
}

// sign returns the HMAC-SHA256 of the frames in hexadecimal.
func (s signer) sign(frames [][]byte) []byte {
	mac := hmac.New(sha256.New, s.key)
	for _, frame := range frames {
		_, _ = mac.Write(frame) // never fails
	}
	return hex.AppendEncode(nil, mac.Sum(nil))
}

// executeRequest is the content of an execute_request, which asks the kernel to run code.
type executeRequest struct {
	Code         string            `json:"code"`
	Silent       bool              `json:"silent"`
	StoreHistory bool              `json:"store_history"`
	AllowStdin   bool              `json:"allow_stdin"`   // always false: nothing would answer
	StopOnError  bool              `json:"stop_on_error"` // always false: ipykernel would abort requests that follow an error closely
	Expressions  map[string]string `json:"user_expressions,omitempty"`
}

// executeReply is the content of an execute_reply, with which the kernel ends a run. A field
// for which the kernel sent a wrong type is empty.
type executeReply struct {
	Status      string // ok, error or aborted
	EName       string
	EValue      string
	Traceback   []string
	Expressions map[string]mimeBundle // values of the requested user_expressions
}

// mimeBundle is a value in several representations, as JSON by MIME type.
type mimeBundle struct {
	Data map[string]json.RawMessage `json:"data"`
}

// plainText returns the text/plain of the bundle, or "" if it has none.
func (b mimeBundle) plainText() string {
	var text string
	_ = json.Unmarshal(b.Data["text/plain"], &text)
	return text
}

// lenientObject is a JSON object whose fields are decoded one by one, so that a wrong type in
// one field does not affect the others.
type lenientObject map[string]json.RawMessage

// parseLenientObject decodes a JSON object. It is empty if content is not an object.
func parseLenientObject(content json.RawMessage) lenientObject {
	fields := lenientObject{}
	_ = json.Unmarshal(content, &fields) // decode has checked that it is an object
	return fields
}

// stringField returns the field with this name, or "" if it is missing or not a string.
func (l lenientObject) stringField(name string) string {
	var value string
	_ = json.Unmarshal(l[name], &value)
	return value
}

// stringListField returns the field with this name, which is a list of strings; nil if it is
// missing or something else. A single string counts as a list of one, because some kernels
// write it so.
func (l lenientObject) stringListField(name string) []string {
	var list []string
	if err := json.Unmarshal(l[name], &list); err == nil {
		return list
	}
	if one := l.stringField(name); one != "" {
		return []string{one}
	}
	return nil
}

// objectField returns the JSON of the field with this name, or {} if it is missing or not an
// object.
func (l lenientObject) objectField(name string) json.RawMessage {
	if value := l[name]; len(value) > 0 && value[0] == '{' {
		return value
	}
	return json.RawMessage("{}")
}

// parseExecuteReply decodes the content of an execute_reply. Fields with a wrong type are
// empty.
func parseExecuteReply(content json.RawMessage) executeReply {
	fields := parseLenientObject(content)
	r := executeReply{
		Status: fields.stringField("status"), EName: fields.stringField("ename"), EValue: fields.stringField("evalue"),
		Traceback: fields.stringListField("traceback"),
	}
	_ = json.Unmarshal(fields["user_expressions"], &r.Expressions)
	return r
}

// isIdleStatus reports whether m is the status message with which the kernel says that it has
// finished the request m.parentID.
func isIdleStatus(m message) bool {
	return m.kind == "status" && parseLenientObject(m.content).stringField("execution_state") == "idle"
}

// ansiCodes matches the escape sequences with which terminals set colours and styles.
var ansiCodes = regexp.MustCompile(`\x1b\[[0-9;:]*[A-Za-z]`)

// raisedError is an error that the user's code raised in the kernel.
type raisedError struct {
	name, value string
	traceback   []string
}

// newRaisedError returns a raisedError without the colour codes of terminals, because agents
// read it. It moves the line with the error itself, which some languages write first, to the
// end of the traceback.
func newRaisedError(name, value string, traceback []string) *raisedError {
	e := &raisedError{name: ansiCodes.ReplaceAllString(name, ""), value: ansiCodes.ReplaceAllString(value, "")}
	var lines []string
	for _, entry := range traceback {
		lines = append(lines, strings.TrimRight(ansiCodes.ReplaceAllString(entry, ""), "\n"))
	}
	line := e.summaryLine()
	text := strings.Trim(strings.TrimPrefix(strings.Join(lines, "\n"), line), "\n")
	if text == "Traceback:" { // IRkernel writes it for an empty traceback
		text = ""
	}
	if !strings.HasSuffix(strings.TrimRight(text, ": "), line) {
		text = strings.TrimPrefix(text+"\n"+line, "\n")
	}
	e.traceback = strings.Split(text, "\n")
	return e
}

// summaryLine returns the error in one line, "name: value", without its traceback. Some
// languages have no names for errors and put everything into the value.
func (e *raisedError) summaryLine() string {
	value := strings.TrimSpace(e.value)
	switch {
	case value == "":
		return e.name
	case e.name == "" || strings.HasPrefix(strings.ToLower(value), "error"):
		return value
	default:
		return e.name + ": " + value
	}
}

// truncate shortens the value and the traceback to at most maxBytes each, by leaving out the
// middle.
func (e *raisedError) truncate(maxBytes int) {
	e.value = truncateMiddle(e.value, maxBytes)
	if text := strings.Join(e.traceback, "\n"); len(text) > maxBytes {
		e.traceback = strings.Split(truncateMiddle(text, maxBytes), "\n")
	}
}

// tracebackText returns the traceback as one text. Its last line is the error itself.
func (e *raisedError) tracebackText() string { return strings.Join(e.traceback, "\n") + "\n" }
