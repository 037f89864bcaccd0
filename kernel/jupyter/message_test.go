package jupyter_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-zeromq/zmq4"
	"github.com/go-zeromq/zmq4/security/null"
	"github.com/stretchr/testify/require"

	"assay/kernel/jupyter"
)

// signedMessage returns the frames of a Jupyter message signed with key: the routing frames
// front, the delimiter, the signature, and then parts.
func signedMessage(key string, front [][]byte, parts ...string) [][]byte {
	var frames [][]byte
	for _, part := range parts {
		frames = append(frames, []byte(part))
	}
	head := append(front, []byte("<IDS|MSG>"), jupyter.NewSigner(key).Sign(frames[:min(4, len(frames))]))
	return append(head, frames...)
}

func TestSignerDecode(t *testing.T) {
	t.Parallel()
	head, parent := `{"msg_id":"m","msg_type":"stream"}`, `{"msg_id":"p"}`
	for name, c := range map[string]struct {
		frames [][]byte
		want   string // content, or what the error contains
		fails  bool
	}{
		"plain":                    {frames: signedMessage("k", nil, head, parent, "{}", `{"text":"é"}`), want: `{"text":"é"}`},
		"topic and buffers":        {frames: signedMessage("k", [][]byte{[]byte("stream")}, head, parent, "{}", `{}`, "buffer", ""), want: `{}`},
		"parent is a list":         {frames: signedMessage("k", nil, head, `[]`, "{}", ` {"a":1}`), want: ` {"a":1}`},
		"not UTF-8":                {frames: signedMessage("k", nil, head, parent, "{}", "{\"a\":\"\xff\"}"), want: "{\"a\":\"\uFFFD\"}"},
		"other key":                {frames: signedMessage("other", nil, head, parent, "{}", `{}`), want: "signature", fails: true},
		"nothing":                  {want: "0 frames", fails: true},
		"no delimiter":             {frames: [][]byte{[]byte("a"), []byte("b")}, want: "2 frames", fails: true},
		"too short":                {frames: signedMessage("k", nil, head, parent, "{}"), want: "5 frames", fails: true},
		"header is not an object":  {frames: signedMessage("k", nil, `1`, parent, "{}", `{}`), want: "header", fails: true},
		"content is not an object": {frames: signedMessage("k", nil, head, parent, "{}", `[1]`), want: `content of a "stream"`, fails: true},
		"content is no JSON":       {frames: signedMessage("k", nil, head, parent, "{}", `{`), want: `content of a "stream"`, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := jupyter.NewSigner("k").Decode(c.frames)
			if c.fails {
				require.ErrorContains(t, err, c.want)
				return
			}
			require.NoError(t, err)
			require.Equal(t, "stream", m.Kind)
			require.Equal(t, c.want, string(m.Content))
		})
	}
}

func TestSignerDecodesWhatItEncodes(t *testing.T) {
	t.Parallel()
	s := jupyter.NewSigner("key")
	frames, err := s.Encode("execute_request", []byte(`{"code":"1"}`))
	require.NoError(t, err)
	m, err := s.Decode(frames)
	require.NoError(t, err)
	require.Equal(t, jupyter.Message{Kind: "execute_request", Content: []byte(`{"code":"1"}`)}, m)
}

func FuzzSignerDecode(f *testing.F) {
	f.Add([]byte(`{"msg_type":"status"}`), []byte(`{}`), []byte(`{"execution_state":"idle"}`), []byte("x"))
	f.Add([]byte(`{"msg_type":"error"}`), []byte(`[]`), []byte(`{"ename":1,"traceback":"x"}`), []byte("<IDS|MSG>"))
	f.Add([]byte(`{"msg_type":"display_data"}`), []byte(`null`), []byte("{\"data\":{\"text/plain\":\"\xff\"},\"transient\":[]}"), []byte{})
	f.Add([]byte(`{"msg_type":"execute_result"}`), []byte(``), []byte(`{"execution_count":"x","data":null}`), []byte{0})
	f.Fuzz(func(t *testing.T, head, parent, content, front []byte) {
		s := jupyter.NewSigner("k")
		_, err := s.Decode([][]byte{front, head, parent, content})
		require.Error(t, err, "frames without a signature are refused")
		m, err := s.Decode(signedMessage("k", [][]byte{front}, string(head), string(parent), "{}", string(content)))
		if err != nil {
			return
		}
		require.True(t, utf8.Valid(m.Content))
		require.True(t, json.Valid(m.Content))
		for _, kind := range []string{"execute_result", "display_data", "clear_output"} {
			body, err := json.Marshal(jupyter.ConvertToNotebookOutput(kind, m.Content))
			require.NoError(t, err)
			require.Contains(t, string(body), kind)
		}
		jupyter.ParseExecuteReply(m.Content)
	})
}

func TestNotebookOutput(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		`{"data":{"a/b":1},"metadata":{"c":2},"transient":{"display_id":"d","x":1}}`: `{"output_type":"display_data","data":{"a/b":1},"metadata":{"c":2},"transient":{"display_id":"d"}}`,
		`{"data":[],"metadata":null,"transient":{"display_id":1}}`:                   `{"output_type":"display_data","data":{},"metadata":{}}`,
		`{}`: `{"output_type":"display_data","data":{},"metadata":{}}`,
	} {
		body, err := json.Marshal(jupyter.ConvertToNotebookOutput("display_data", []byte(content)))
		require.NoError(t, err)
		require.Equal(t, want, string(body))
	}
}

func TestExecuteReplyWithWrongTypes(t *testing.T) {
	t.Parallel()
	status, ename, traceback := jupyter.ParseExecuteReply([]byte(`{"status":"error","ename":7,"traceback":"one"}`))
	require.Equal(t, "error", status)
	require.Empty(t, ename)
	require.Equal(t, []string{"one"}, traceback)
}

func TestRaisedErrorText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		name, value string
		traceback   []string
		want        string
	}{
		"at the end":   {"ValueError", "no", []string{"----", "\x1b[0;31mValueError\x1b[0m: no"}, "----\nValueError: no\n"},
		"in front":     {"ERROR", "Error in f(): no\n", []string{"Error in f(): no\nTraceback:\n", "1. f()"}, "Traceback:\n1. f()\nError in f(): no\n"},
		"nothing else": {"ERROR", "Error: no", []string{"Error: no\nTraceback:\n"}, "Error: no\n"},
		"no traceback": {"E", "v", nil, "E: v\n"},
		"no value":     {"KeyboardInterrupt", "", []string{"a", "KeyboardInterrupt: "}, "a\nKeyboardInterrupt: \n"},
		"no name":      {"", "v", []string{"a\nb"}, "a\nb\nv\n"},
	} {
		require.Equal(t, c.want, jupyter.ErrorTracebackText(c.name, c.value, c.traceback), name)
	}
}

func TestTruncateMiddle(t *testing.T) {
	t.Parallel()
	require.Equal(t, "short", jupyter.TruncateMiddle("short", 5))
	cut := jupyter.TruncateMiddle(strings.Repeat("é", 100), 11)
	require.Equal(t, "éé\n[… 192 bytes …]\néé", cut)
}

func TestCompletePrefixLen(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "a": 1, "é": 2, "a\xc3": 1, "€\xe2\x82": 3, "\xf0\x9f\x98": 0, "\xff": 1, "a\x80\x80\x80\x80": 5} {
		require.Equal(t, want, jupyter.CompleteUTF8PrefixLen([]byte(text)), "%q", text)
	}
}

// Text and outputs beyond the queue's limit are dropped and counted. Messages that end a run
// are never dropped.
func TestEventQueueIsBounded(t *testing.T) {
	t.Parallel()
	i := jupyter.NewEventQueue()
	large := make([]byte, 100<<20)
	for _, kind := range []string{"stream", "display_data", "stream", "status", "execute_reply", "error"} {
		i.Add(kind, large)
	}
	kinds, lost := i.TakeAll()
	require.Equal(t, []string{"stream", "display_data", "status", "execute_reply", "error"}, kinds)
	require.Equal(t, 100<<20, lost)
	i.Add("stream", large)
	kinds, lost = i.TakeAll()
	require.Equal(t, []string{"stream"}, kinds)
	require.Zero(t, lost)
}

// A connection succeeds whether the kernel joins a socket's path and number with "-" or with
// ":".
func TestDialTriesBothSocketPaths(t *testing.T) {
	t.Parallel()
	for _, joint := range []string{"-", ":"} {
		begin := filepath.Join(t.TempDir(), "k")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		echoed := make(chan error, 1)
		listener, err := net.Listen("unix", begin+joint+"3")
		require.NoError(t, err)
		go func() { echoed <- echoOneMessage(listener) }()
		large := bytes.Repeat([]byte("x"), 1<<20)
		got, err := jupyter.DialAndExchange(ctx, begin, 3, [][]byte{[]byte("a"), {}, large})
		require.NoError(t, err)
		require.Equal(t, [][]byte{[]byte("a"), {}, large}, got)
		require.NoError(t, <-echoed)
		require.NoError(t, listener.Close())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := jupyter.DialAndExchange(ctx, filepath.Join(t.TempDir(), "none"), 1, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// echoOneMessage accepts one connection, as a kernel would, and sends the first message
// back.
func echoOneMessage(listener net.Listener) error {
	socket, err := listener.Accept()
	if err != nil {
		return err
	}
	defer socket.Close()
	conn, err := zmq4.Open(socket, null.Security(), zmq4.Router, nil, true, nil)
	if err != nil {
		return err
	}
	m, err := conn.RecvMsg()
	if err != nil {
		return err
	}
	return conn.SendMsg(m)
}
