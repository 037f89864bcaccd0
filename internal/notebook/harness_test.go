package notebook_test

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"assay/internal/notebook"
	"assay/internal/protocol"
)

func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite the expectations under testdata")
	goleak.VerifyTestMain(m)
}

// isUpdatingGoldenFiles reports whether the test was started with -update, which rewrites the
// expected results in testdata.
func isUpdatingGoldenFiles() bool {
	return flag.Lookup("update").Value.String() == "true"
}

// compareGolden fails the test if the file at path does not have the text found, and names the
// first line that differs. With -update it writes the file instead.
func compareGolden(t *testing.T, path, found string) {
	t.Helper()
	if isUpdatingGoldenFiles() {
		require.NoError(t, os.WriteFile(path, []byte(found), 0o600))
		return
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	want, got := strings.Split(string(text), "\n"), strings.Split(found, "\n")
	for i := range min(len(want), len(got)) {
		require.Equal(t, want[i], got[i], "%s:%d; if this is right, run with -update", path, i+1)
	}
	require.Len(t, got, len(want), path)
}

// testingTB has the methods that *testing.T, *testing.B and a check of package rapid have in
// common.
type testingTB interface {
	require.TestingT
	Helper()
	Cleanup(f func())
}

// testPeer is the client end of the connection on which a test serves a document.
type testPeer struct {
	t       testingTB
	conn    protocol.Conn
	decoder *protocol.EnvelopeDecoder
}

// serveDocument serves doc on an in-memory connection until the test ends, and returns the client's
// end.
func serveDocument(t testingTB, doc *notebook.Document) *testPeer {
	t.Helper()
	near, far := protocol.Pipe()
	served := make(chan error, 1)
	go func() { served <- doc.Serve(far) }()
	t.Cleanup(func() {
		require.NoError(t, near.Close(protocol.CloseNormal, ""))
		require.NoError(t, <-served)
		require.NoError(t, far.Close(protocol.CloseNormal, ""))
	})
	return &testPeer{t: t, conn: near, decoder: protocol.NewEnvelopeDecoder()}
}

// exchange sends the document a message and returns all messages that it causes. To know when
// these end it sends a second request, whose answer comes after them.
func (p *testPeer) exchange(body string) [][]byte {
	p.t.Helper()
	const last = "the-last-one"
	sent := make(chan error, 1)
	go func() {
		if err := p.conn.Write([]byte(body)); err != nil {
			sent <- err
			return
		}
		sent <- p.conn.Write([]byte(`{"type":"agent_action","action":"none","tx_id":"` + last + `"}`))
	}()
	var answers [][]byte
	for {
		answer, err := p.conn.Read()
		require.NoError(p.t, err)
		env, err := p.decoder.Decode(answer)
		require.NoError(p.t, err, "%s", answer)
		if env.TxID == last {
			require.NoError(p.t, <-sent)
			return answers
		}
		answers = append(answers, answer)
	}
}

// actionResponse has the fields of the answers to all actions that tests look at.
type actionResponse struct {
	Type   string `json:"type"`
	TxID   string `json:"tx_id"`
	Status string `json:"status"`
	Error  string `json:"error"`
	CellID string `json:"cell_id"`

	Context json.RawMessage `json:"context"`
}

// sendAction sends the document an action, as an agent does, and returns the answer.
func (p *testPeer) sendAction(action string, params any) actionResponse {
	p.t.Helper()
	body, err := json.Marshal(map[string]any{"type": "agent_action", "action": action, "params": params, "tx_id": "t"})
	require.NoError(p.t, err)
	answers := p.exchange(string(body))
	require.NotEmpty(p.t, answers)
	var r actionResponse
	require.NoError(p.t, json.Unmarshal(answers[0], &r))
	require.Equal(p.t, protocol.TypeActionResponse, r.Type)
	return r
}
