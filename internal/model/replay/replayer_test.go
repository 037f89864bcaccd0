package replay_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/modeltest"
	"assay/internal/model/open"
	"assay/internal/model/replay"
)

// newRecordingLine returns a line of a recording in which a session sends userText and
// receives answer.
func newRecordingLine(t *testing.T, session, userText, answer string) string {
	t.Helper()
	var out bytes.Buffer
	modeltest.RequireReplyText(t, replay.Normalizer{Session: session}.NewRecordingClient("m", modeltest.ParseScript(t, `{"content":`+modeltest.MustMarshalJSON(t, answer)+`}`).Client(), &out), answer, modeltest.UserTextMessage(userText))
	return out.String()
}

func writeRecording(t *testing.T, lines ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "calls.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "")), 0o600))
	return file
}

// From a file with the calls of several sessions, each session gets only its own calls.
func TestSessionsGetTheirOwnCalls(t *testing.T) {
	t.Parallel()
	file := writeRecording(t,
		newRecordingLine(t, "0001-sum-e1-t1", "go", "sum"), newRecordingLine(t, "0002-sum-e2-t1", "go", "sum again"),
		newRecordingLine(t, "0003-max-e1-t1", "go", "max"), newRecordingLine(t, "", "go", "nobody's"))
	for session, want := range map[string]string{
		"0001-sum-e1-t1": "sum", "0002-sum-e2-t1": "sum again", "0003-max-e1-t1": "max",
		"0009-max-e1-t1": "max", // the number of the session differed when it was recorded
		"0009-min-e1-t1": "sum", // the session has no calls: all are played
		"":               "sum",
	} {
		client, err := open.Open("replay:"+file, open.Options{Normalizer: replay.Normalizer{Session: session}})
		require.NoError(t, err)
		modeltest.RequireReplyText(t, client, want, modeltest.UserTextMessage("go"))
	}
}

func TestNotRecordedNamesMissingSession(t *testing.T) {
	t.Parallel()
	file := writeRecording(t, newRecordingLine(t, "0001-sum-e1-t1", "go", "sum"), newRecordingLine(t, "0003-max-e1-t1", "go", "max"))
	client, err := open.Open("replay:"+file, open.Options{Normalizer: replay.Normalizer{Session: "0001-min-e1-t1"}})
	require.NoError(t, err)
	_, err = modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("stop"))
	require.EqualError(t, err, file+`:1: the request was not recorded: at "/messages/0/content/0/text" the next recorded one has "go", this one has "stop" (none in it is of session "0001-min-e1-t1")`)
}

// With MatchOrder the next recorded call answers any request.
func TestMatchOrderIgnoresRequests(t *testing.T) {
	t.Parallel()
	file := writeRecording(t, newRecordingLine(t, "a", "one", "1"), newRecordingLine(t, "b", "x", "x"),
		`{"session":"a","request":{},"error":{"text":"script: 529 overloaded_error: busy","refusal":{"provider":"script","status":529,"type":"overloaded_error","message":"busy"}}}`+"\n",
		newRecordingLine(t, "a", "two", "2"))
	client, err := open.Open("replay:"+file, open.Options{Normalizer: replay.Normalizer{Session: "a"}, MatchMode: replay.MatchOrder})
	require.NoError(t, err)
	modeltest.RequireReplyText(t, client, "1", modeltest.UserTextMessage("something else"))
	_, err = modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("again"))
	require.True(t, model.IsTransient(err), err)
	modeltest.RequireReplyText(t, client, "2", modeltest.UserTextMessage("again"))
	_, err = modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("and?"))
	require.EqualError(t, err, file+`: the request was not recorded: all of the 3 calls in it have been played`)
	require.ErrorIs(t, err, replay.ErrNotRecorded)
}

// With MatchOrder, a recording of several other sessions is an error, because their
// calls have no common order.
func TestMatchOrderNeedsOneSession(t *testing.T) {
	t.Parallel()
	file := writeRecording(t, newRecordingLine(t, "0001-sum-e1-t1", "go", "sum"), newRecordingLine(t, "0002-max-e1-t1", "go", "max"))
	_, err := open.Open("replay:"+file, open.Options{Normalizer: replay.Normalizer{Session: "0001-min-e1-t1"}, MatchMode: replay.MatchOrder})
	require.EqualError(t, err, file+`: none of the calls is of session "0001-min-e1-t1" and they are of 2 others, so there is no order to play them in`)

	one := writeRecording(t, newRecordingLine(t, "default", "go", "sum"))
	client, err := open.Open("replay:"+one, open.Options{Normalizer: replay.Normalizer{Session: "0001-min-e1-t1"}, MatchMode: replay.MatchOrder})
	require.NoError(t, err)
	modeltest.RequireReplyText(t, client, "sum", modeltest.UserTextMessage("whatever"))
}

func TestCheckMatchMode(t *testing.T) {
	t.Parallel()
	require.NoError(t, replay.CheckMatchMode("strict"))
	require.NoError(t, replay.CheckMatchMode("order"))
	require.EqualError(t, replay.CheckMatchMode("fuzzy"), `match is strict or order, not "fuzzy"`)
}

// An empty recording, and a malformed line of the session, are errors of Open.
// Malformed lines of other sessions are skipped.
func TestReadRecordingErrors(t *testing.T) {
	t.Parallel()
	empty := writeRecording(t, "\n")
	_, err := open.Open("replay:"+empty, open.Options{})
	require.EqualError(t, err, empty+": the recording has no calls")

	half := writeRecording(t, newRecordingLine(t, "a", "go", "ok"), `{"session":"b","request":{"mess`)
	for session, fault := range map[string]string{"a": "", "b": half + ":2: unexpected EOF", "": half + ":2: unexpected EOF"} {
		_, err := open.Open("replay:"+half, open.Options{Normalizer: replay.Normalizer{Session: session}})
		if fault == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, fault)
		}
	}
	_, err = replay.ParseRecording("r", []byte(`{"at":"yesterday","request":{},"error":{}}`))
	require.ErrorContains(t, err, "r:1: at: parsing time")
}

// With MatchStrict, a request that differs only in a cache marker does not match.
func TestCacheMarkersAreCompared(t *testing.T) {
	t.Parallel()
	recorded := newRecordingLine(t, "", "go", "ok")
	marked := model.Text("go")
	marked.Cache = true
	_, err := modeltest.Ask(t.Context(), parseReplayer(t, recorded), modeltest.UserMessage(marked))
	require.ErrorContains(t, err, `at "/messages/0/content/0/cache_control" the next recorded one has nothing, this one has {"type":"ephemeral"}`)
}

// A recorded error has placeholders for the sandbox's path, and the replayed error has
// the path of the new sandbox.
func TestErrorsAreNormalizedAndRestored(t *testing.T) {
	t.Parallel()
	o := replay.Normalizer{Sandbox: []string{"/tmp/box"}}
	for _, err := range []error{
		&model.APIError{Provider: "anthropic", Status: 400, Type: "invalid_request_error", Message: "no file /tmp/box/x"},
		fmt.Errorf("in /tmp/box: %w", model.ErrCutStream),
		errors.New("/tmp/box is gone"),
	} {
		var out bytes.Buffer
		_, _ = modeltest.Ask(t.Context(), o.NewRecordingClient("m", failingClient{err}, &out), modeltest.UserTextMessage("go"))
		require.NotContains(t, out.String(), "/tmp/box")
		_, again := modeltest.Ask(t.Context(), newReplayer(t, o, out.String(), ""), modeltest.UserTextMessage("go"))
		require.EqualError(t, again, err.Error())
		require.Equal(t, model.IsTransient(err), model.IsTransient(again))
	}
}
