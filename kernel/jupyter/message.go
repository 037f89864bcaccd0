package jupyter

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

const (
	// version is the one of Jupyter's messaging that our requests speak.
	version = "5.3"

	// parts is how many frames of a message are signed: header, parent header,
	// metadata, content.
	parts = 4
)

// delimiter stands between the routing frames and the message. A function,
// because a package has no variables.
func delimiter() []byte { return []byte("<IDS|MSG>") }

// message is as much of a Jupyter message as matters here.
type message struct {
	kind    string          // its msg_type
	id      string          // its msg_id
	parent  string          // msg_id of the request that it belongs to; empty: of none
	content json.RawMessage // UTF-8, and from [signer.decode] a JSON object
}

// header is that of a message, and the parent header of what answers it.
type header struct {
	ID       string `json:"msg_id"`
	Type     string `json:"msg_type"`
	Session  string `json:"session"`
	Username string `json:"username"`
	Date     string `json:"date"` // RFC 3339
	Version  string `json:"version"`
}

// signer writes and reads the frames of messages, signed with HMAC-SHA256. It
// does not change, and is safe for concurrent use.
type signer struct {
	key     []byte
	session string
}

func newSigner() signer {
	return signer{key: []byte(uuid.NewString()), session: uuid.NewString()}
}

// request makes a message that asks for something.
func request(kind string, content any) (message, error) {
	body, err := json.Marshal(content)
	if err != nil {
		return message{}, fmt.Errorf("write a %s: %w", kind, err)
	}
	return message{kind: kind, id: uuid.NewString(), content: body}, nil
}

// encode returns the frames of m.
func (s signer) encode(m message) ([][]byte, error) {
	head, err := json.Marshal(header{
		ID: m.id, Type: m.kind, Session: s.session, Username: "assay",
		Date: time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"), Version: version,
	})
	if err != nil {
		return nil, fmt.Errorf("write a %s: %w", m.kind, err)
	}
	signed := [][]byte{head, []byte("{}"), []byte("{}"), m.content}
	return append([][]byte{delimiter(), s.sign(signed)}, signed...), nil
}

// decode reads the frames of a message, of which nothing is trusted: there may
// be routing frames in front, and buffers behind, which are dropped.
func (s signer) decode(frames [][]byte) (message, error) {
	at := slices.IndexFunc(frames, func(frame []byte) bool { return bytes.Equal(frame, delimiter()) })
	if at < 0 || len(frames) < at+2+parts {
		return message{}, fmt.Errorf("%d frames are no message", len(frames))
	}
	signed := frames[at+2 : at+2+parts]
	if !hmac.Equal(s.sign(signed), frames[at+1]) {
		return message{}, errors.New("the signature is wrong")
	}
	var head, parent header
	if err := json.Unmarshal(signed[0], &head); err != nil {
		return message{}, fmt.Errorf("the header: %w", err)
	}
	// Where there is none some kernels write an empty list.
	_ = json.Unmarshal(signed[1], &parent)
	content := signed[3]
	if !utf8.Valid(content) {
		content = bytes.ToValidUTF8(content, []byte("\uFFFD"))
	}
	if !json.Valid(content) || bytes.TrimLeft(content, " \t\r\n")[0] != '{' {
		return message{}, fmt.Errorf("the content of a %q is no object", head.Type)
	}
	return message{kind: head.Type, id: head.ID, parent: parent.ID, content: content}, nil
}

// sign returns the signature of frames, in hexadecimal.
func (s signer) sign(frames [][]byte) []byte {
	mac := hmac.New(sha256.New, s.key)
	for _, frame := range frames {
		_, _ = mac.Write(frame) // it never fails
	}
	return hex.AppendEncode(nil, mac.Sum(nil))
}
