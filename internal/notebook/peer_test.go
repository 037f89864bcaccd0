package notebook_test

import (
	"encoding/json"

	"github.com/stretchr/testify/require"

	"assay/internal/notebook"
	"assay/internal/protocol"
)

// tester is a test, a benchmark or a rapid check.
type tester interface {
	require.TestingT
	Helper()
	Cleanup(f func())
}

// peer is the other end of a document that is being served.
type peer struct {
	t       tester
	conn    protocol.Conn
	decoder *protocol.EnvelopeDecoder
}

// serve serves doc on a pipe until the test ends.
func serve(t tester, doc *notebook.Document) *peer {
	t.Helper()
	near, far := protocol.Pipe()
	served := make(chan error, 1)
	go func() { served <- doc.Serve(far) }()
	t.Cleanup(func() {
		require.NoError(t, near.Close(protocol.CloseNormal, ""))
		require.NoError(t, <-served)
		require.NoError(t, far.Close(protocol.CloseNormal, ""))
	})
	return &peer{t: t, conn: near, decoder: protocol.NewEnvelopeDecoder()}
}

// exchange sends a message and returns all that comes back for it. It knows
// that by a further request, whose answer comes after them.
func (p *peer) exchange(body string) [][]byte {
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

// response is an answer to an action as an agent reads it.
type response struct {
	Type   string `json:"type"`
	TxID   string `json:"tx_id"`
	Status string `json:"status"`
	Error  string `json:"error"`
	CellID string `json:"cell_id"`

	Context json.RawMessage `json:"context"`
}

// act sends an action and returns its answer.
func (p *peer) act(action string, params any) response {
	p.t.Helper()
	body, err := json.Marshal(map[string]any{"type": "agent_action", "action": action, "params": params, "tx_id": "t"})
	require.NoError(p.t, err)
	answers := p.exchange(string(body))
	require.NotEmpty(p.t, answers)
	var r response
	require.NoError(p.t, json.Unmarshal(answers[0], &r))
	require.Equal(p.t, protocol.TypeActionResponse, r.Type)
	return r
}
