package calllog_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model/calllog"
)

// conversation returns the body of a request with n messages of a conversation, with long tools.
func conversation(list, name string, n int) string {
	messages := make([]string, n)
	for i := range messages {
		messages[i] = fmt.Sprintf(`{"role":"user","content":"%s %d %s"}`, name, i, strings.Repeat("x", 500))
	}
	return fmt.Sprintf(`{"model":"m","stream":true,"tools":[%q],"%s":[%s],"max_tokens":5}`, strings.Repeat("t", 4000), list, strings.Join(messages, ","))
}

// The stored form of a conversation grows with its length, also if several alternate, and gives
// the same requests.
func TestStoredConversationGrowsLinearly(t *testing.T) {
	t.Parallel()
	for _, list := range []string{"messages", "input"} {
		var encoder calllog.Encoder
		var decoder calllog.Decoder
		bytes := 0
		for n := range 100 {
			for i, name := range []string{"a", "b", "c"} {
				call, body := int64(3*n+i+1), conversation(list, name, n+1)
				stored := encoder.Encode(call, []byte(body))
				text, err := json.Marshal(stored)
				require.NoError(t, err)
				bytes += len(text)
				var read calllog.Stored
				require.NoError(t, json.Unmarshal(text, &read))
				again, err := decoder.Decode(call, read)
				require.NoError(t, err)
				require.JSONEq(t, body, string(again))
			}
		}
		require.Less(t, bytes, 300*1000, "one message of 0.5 KB per call, not 50")
	}
}

func TestWhatChangesIsStored(t *testing.T) {
	t.Parallel()
	for name, pair := range map[string][2]string{
		"another message":  {`{"messages":[1,2,3]}`, `{"messages":[1,5,3]}`},
		"shorter":          {`{"messages":[1,2,3]}`, `{"messages":[1]}`},
		"the same":         {`{"messages":[1,2,3]}`, `{"messages":[1,2,3]}`},
		"no list":          {`{"messages":[1,2,3]}`, `{"x":1}`},
		"a text":           {`{"input":"a"}`, `{"input":"b"}`},
		"another list":     {`{"messages":[1,2]}`, `{"input":[1,2]}`},
		"both lists":       {`{"messages":[1,2],"input":[1]}`, `{"input":[1],"messages":[1,2]}`},
		"twice the same":   {`{"messages":[1]}`, `{"messages":[1],"messages":[2]}`},
		"other whitespace": {`{"messages":[{"a": 1}]}`, ` { "messages" : [ {"a": 1} , 2 ] } `},
		"no JSON":          {`{"messages":[1]}`, `"x"`},
		"large member":     {`{"system":"` + strings.Repeat("s", 500) + `","messages":[1]}`, `{"messages":[1],"system":"` + strings.Repeat("s", 500) + `"}`},
		"changed member":   {`{"system":"` + strings.Repeat("s", 500) + `"}`, `{"system":"` + strings.Repeat("s", 501) + `"}`},
		"empty names":      {`{"":[1],"messages":[1]}`, `{"":[1],"messages":[1,{"":2}]}`},
	} {
		var encoder calllog.Encoder
		var decoder calllog.Decoder
		for call, body := range pair {
			again, err := decoder.Decode(int64(call), encoder.Encode(int64(call), []byte(body)))
			require.NoError(t, err, name)
			if strings.Count(body, `"messages"`) == 2 {
				require.Equal(t, body, string(again), name)
				continue
			}
			require.JSONEq(t, body, string(again), name)
		}
	}
}

func TestMissingRequestsAreReported(t *testing.T) {
	t.Parallel()
	var encoder calllog.Encoder
	first, second := []byte(conversation("messages", "a", 3)), []byte(conversation("messages", "a", 4))
	encoder.Encode(1, first)
	stored := encoder.Encode(2, second)
	require.NotNil(t, stored.Same)

	var empty calllog.Decoder
	_, err := empty.Decode(2, stored)
	require.EqualError(t, err, "request of call 2: that of call 1, to which it refers, is missing")

	var other calllog.Decoder
	_, err = other.Decode(1, calllog.Stored{Request: json.RawMessage(conversation("messages", "b", 3))})
	require.NoError(t, err)
	_, err = other.Decode(2, stored)
	require.EqualError(t, err, "request of call 2: the conversation of call 1 is another one")
}

func FuzzRequestsAreDecodedAsEncoded(f *testing.F) {
	f.Add([]byte(`{"messages":[1,{"a":"b"}],"x":2}`), []byte(`{"messages":[1,{"a":"b"},3]}`))
	f.Add([]byte(`{"input":[[],""]}`), []byte(`{"input":[[],"",null],"messages":[]}`))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var encoder calllog.Encoder
		var decoder calllog.Decoder
		for call, body := range [][]byte{first, second} {
			stored := encoder.Encode(int64(call), body)
			if !json.Valid(body) {
				continue
			}
			again, err := decoder.Decode(int64(call), stored)
			require.NoError(t, err)
			require.JSONEq(t, string(body), string(again))
		}
	})
}
