package replay_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/modeltest"
	"assay/internal/model/replay"
)

// newReplayer parses a recording and returns a Replayer that plays it with the
// Normalizer's settings. An error fails the test.
func newReplayer(t *testing.T, o replay.Normalizer, recording string, match replay.MatchMode) *replay.Replayer {
	t.Helper()
	r, err := replay.ParseRecording("calls.jsonl", []byte(recording))
	require.NoError(t, err)
	replay, err := o.NewReplayer(r, match)
	require.NoError(t, err)
	return replay
}

// runConversationInSandbox makes model calls in which the sandbox's path occurs in
// every kind of string, in requests and in replies. It returns the contents of the
// replies.
func runConversationInSandbox(t *testing.T, client model.Client, sandbox, real string) (replies []string) {
	t.Helper()
	chat := []model.Message{modeltest.UserTextMessage("Work in " + sandbox + " as ${SANDBOX} says.")}
	for range 2 {
		reply, err := client.Complete(t.Context(), model.Request{Messages: chat}, nil)
		require.NoError(t, err)
		replies = append(replies, modeltest.MustMarshalJSON(t, reply.Content))
		chat = append(chat, modeltest.AssistantMessage(reply.Content...))
		var results []model.Block
		for _, c := range model.ToolUses(reply.Content) {
			results = append(results, modeltest.ToolResultBlock(c.ID, fmt.Sprintf("%s/x, %s/y\n%s", real, sandbox, modeltest.MustMarshalJSON(t, map[string]string{"path": sandbox + "/é<z>"}))))
		}
		chat = append(chat, modeltest.UserMessage(append(results, model.Text("go on"))...))
	}
	return replies
}

// A conversation that was recorded in one sandbox is replayed in another one with the
// other's path. Recorded there again, it gives the same recording.
func TestReplayInAnotherSandbox(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ here, there string }{
		"plain":     {"/tmp/assay-1/sandbox-12", "/var/other/sandbox-9"},
		"prefix":    {"/tmp/box", "/tmp/box/inner"},
		"quotes":    {`/tmp/a "b" \c`, `/tmp/é 数据`},
		"like mark": {"/tmp/${SANDBOX}", "/tmp/${SANDBOX:=}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conversation := func(sandbox string) model.Client {
				path, inJSON := modeltest.MustMarshalJSON(t, sandbox+"/x"), modeltest.MustMarshalJSON(t, modeltest.MustMarshalJSON(t, []string{sandbox}))
				return modeltest.ParseScript(t, fmt.Sprintf(`{"content":[{"type":"text","text":%s},{"type":"tool_use","name":"create_cell","input":{"source":%s,"n":1.50,"${SANDBOX}":"$${SANDBOX}"}}]}
{"content":[{"type":"text","text":%s}]}`, path, inJSON, path)).Client()
			}
			var first, second bytes.Buffer
			here := replay.Normalizer{Session: "0001-x-e1-t1", Sandbox: []string{c.here, "/private" + c.here}}
			runConversationInSandbox(t, here.NewRecordingClient("m", conversation(c.here), &first), c.here, "/private"+c.here)
			if !strings.Contains(c.here, "$") {
				require.NotContains(t, first.String(), strings.Trim(modeltest.MustMarshalJSON(t, c.here), `"`))
				require.Contains(t, first.String(), `Work in ${SANDBOX} as ${SANDBOX:=} says.`)
			}

			there := replay.Normalizer{Session: here.Session, Sandbox: []string{c.there, "/real" + c.there}}
			want := runConversationInSandbox(t, conversation(c.there), c.there, "/real"+c.there)
			played := runConversationInSandbox(t, there.NewRecordingClient("n", newReplayer(t, there, first.String(), replay.MatchStrict), &second), c.there, "/real"+c.there)
			require.Equal(t, want, played)
			require.Equal(t, first.String(), second.String())
		})
	}
}

// The sandbox's path is also found in JSON in which <, > and & are escaped for HTML.
func TestSandboxPathWithHTMLEscapes(t *testing.T) {
	t.Parallel()
	here, there := replay.Normalizer{Sandbox: []string{"/tmp/<é>&"}}, replay.Normalizer{Sandbox: []string{"/tmp/x"}}
	said := func(o replay.Normalizer) model.Message {
		return modeltest.UserTextMessage(modeltest.MustMarshalJSON(t, o.Sandbox) + o.Sandbox[0])
	}
	var out bytes.Buffer
	modeltest.RequireReplyText(t, here.NewRecordingClient("m", modeltest.ParseScript(t, `{"content":"ok"}`).Client(), &out), "ok", said(here))
	require.NotContains(t, out.String(), "é")
	modeltest.RequireReplyText(t, newReplayer(t, there, out.String(), ""), "ok", said(there))
}

// Memory addresses are ignored when requests are compared; other numbers are not.
func TestAddressesAreNormalized(t *testing.T) {
	t.Parallel()
	o := replay.Normalizer{Sandbox: []string{"/tmp/box"}}
	var out bytes.Buffer
	modeltest.RequireReplyText(t, o.NewRecordingClient("m", modeltest.ParseScript(t, `{"content":"ok"}`).Client(), &out), "ok", modeltest.UserTextMessage("<function f at 0x7f0123456789> <environment: 0x55d5c8aa>"))
	require.Contains(t, out.String(), "<function f at ${ADDRESS}> <environment: ${ADDRESS}>")
	modeltest.RequireReplyText(t, newReplayer(t, o, out.String(), replay.MatchStrict), "ok", modeltest.UserTextMessage("<function f at 0x7fffffffffff> <environment: 0x12345678>"))
	for _, text := range []string{"<function f at 0x7f> <environment: 0x55d5c8aa>", "<function g at 0x7f0123456789> <environment: 0x55d5c8aa>"} {
		_, err := modeltest.Ask(t.Context(), newReplayer(t, o, out.String(), replay.MatchStrict), modeltest.UserTextMessage(text))
		require.ErrorIs(t, err, replay.ErrNotRecorded)
	}
}

// The zero Normalizer changes neither requests nor answers.
func TestZeroNormalizerChangesNothing(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	text := "${SANDBOX} /tmp/box at 0x7f0123456789"
	modeltest.RequireReplyText(t, replay.NewRecordingClient("m", modeltest.ParseScript(t, `{"content":"in ${SANDBOX}"}`).Client(), &out), "in ${SANDBOX}", modeltest.UserTextMessage(text))
	require.Contains(t, out.String(), `{"request":{"model":"m",`)
	require.Contains(t, out.String(), text)
	modeltest.RequireReplyText(t, parseReplayer(t, out.String()), "in ${SANDBOX}", modeltest.UserTextMessage(text))
}

// Recorded times come from the Normalizer's clock, and the clock of a Replayer shows
// the recorded times.
func TestReplayerClock(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.FixedZone("", 3600))
	o := replay.Normalizer{Clock: func() time.Time { now = now.Add(1500 * time.Millisecond); return now }}
	var first, second bytes.Buffer
	recorded := o.NewRecordingClient("anthropic/claude-x", modeltest.ParseScript(t, `{"content":"one"}
{"error":{"status":529}}
{"content":"two"}`).Client(), &first)
	chat := []model.Message{modeltest.UserTextMessage("a")}
	for range 3 {
		if reply, err := modeltest.Ask(t.Context(), recorded, chat...); err == nil {
			chat = append(chat, modeltest.AssistantMessage(reply.Content...), modeltest.UserTextMessage("b"))
		}
	}
	for _, at := range []string{"2026-01-02T02:04:07.178Z", "2026-01-02T02:04:08.678Z", "2026-01-02T02:04:10.178Z"} {
		require.Contains(t, first.String(), `{"at":"`+at+`","request":{"model":"anthropic/claude-x"`)
	}

	replayer := newReplayer(t, replay.Normalizer{}, first.String(), "")
	require.Equal(t, "anthropic/claude-x", replayer.ModelName())
	clock := replayer.Clock()
	again := replay.Normalizer{Clock: clock}.NewRecordingClient("replay:x", replayer, &second)
	chat = []model.Message{modeltest.UserTextMessage("a")}
	for _, at := range []string{"07.178", "07.178", "08.678", "10.178"} {
		require.Equal(t, "2026-01-02 02:04:"+at, clock().UTC().Format("2006-01-02 15:04:05.000"))
		if reply, err := modeltest.Ask(t.Context(), again, chat...); err == nil {
			chat = append(chat, modeltest.AssistantMessage(reply.Content...), modeltest.UserTextMessage("b"))
		}
	}
	require.Equal(t, first.String(), strings.Join(strings.SplitAfter(second.String(), "\n")[:3], ""))
	require.Nil(t, newReplayer(t, replay.Normalizer{}, "", "").Clock())
}

// For any text and sandbox path, the replay gives the same reply and, recorded again,
// the same recording.
func FuzzReplayWithNormalizer(f *testing.F) {
	f.Add("in /tmp/box/x", "/tmp/box")
	f.Add("${SANDBOX}${SANDBOX:=}$${SANDBOX:json}", "/${SANDBOX")
	f.Add(`{"a":"/tmp/a \\\"b"}`, `/tmp/a "b`)
	f.Add("at 0x7f0123456789 \u2028<&>", "/tmp/\u2028<")
	f.Fuzz(func(t *testing.T, text, sandbox string) {
		if !utf8.ValidString(text) || !filepath.IsAbs(sandbox) || strings.TrimSpace(text) == "" || !utf8.ValidString(sandbox) {
			return
		}
		o := replay.Normalizer{Sandbox: []string{sandbox}}
		var first, second bytes.Buffer
		line := `{"content":` + modeltest.MustMarshalJSON(t, []model.Block{model.Text(text), modeltest.ToolCallBlock("x", "run_cell")}) + `}`
		want, err := modeltest.Ask(t.Context(), o.NewRecordingClient("m", modeltest.ParseScript(t, line).Client(), &first), modeltest.UserTextMessage(text))
		require.NoError(t, err)
		got, err := modeltest.Ask(t.Context(), o.NewRecordingClient("m", newReplayer(t, o, first.String(), ""), &second), modeltest.UserTextMessage(text))
		require.NoError(t, err)
		require.Equal(t, modeltest.MustMarshalJSON(t, want), modeltest.MustMarshalJSON(t, got))
		require.Equal(t, first.String(), second.String())
	})
}
