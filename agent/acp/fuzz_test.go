package acp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/acp"
	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
	"assay/agent/builtin/tools"
	"assay/agent/command"
	"assay/internal/protocol"
)

// FuzzOutput sends anything as the output of a program in a turn. The agent survives it, and the
// conversation that it sends can be read.
func FuzzOutput(f *testing.F) {
	update := func(update string) string {
		return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` + update + `}}` + "\n"
	}
	for _, seed := range []string{
		"", "garbage\n", "\n\n", `{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`,
		`{"jsonrpc":"2.0","id":"a","method":"session/request_permission","params":{"toolCall":{"title":"x"},"options":[{"optionId":"y","kind":"allow_once"}]}}`,
		`{"jsonrpc":"2.0","id":null,"method":"fs/read_text_file"}`, update(`null`), update(`{"sessionUpdate":"plan","entries":[{"content":"a","status":"completed"},null]}`),
		update(`{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"\ud800 \u0000"}}`) + update(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"resource","resource":{"uri":"u"}}}`),
		update(`{"sessionUpdate":"tool_call","toolCallId":"1","title":"get_context","kind":"read","rawInput":{"a":[[[]]]},"content":[{"type":"diff"},null]}`) +
			update(`{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed","rawOutput":7}`),
		update(`{"sessionUpdate":"usage_update","used":1,"size":-5,"cost":{"amount":1e300,"currency":"USD"}}`),
	} {
		f.Add([]byte(seed))
	}
	process, err := command.Start(command.Config{Argv: []string{"/bin/true"}})
	require.NoError(f, err)
	<-process.Exited()
	f.Fuzz(func(t *testing.T, output []byte) {
		agents := make(chan *tools.ExternalAgent, 1)
		server := agenttest.Start(t, func(ctx context.Context, conn protocol.Conn) error {
			agent, err := tools.NewExternalAgent(conn, builtin.Config{})
			if err != nil {
				return err
			}
			agents <- agent
			return agent.Run(ctx, func(context.Context, tools.ExternalTask) error {
				acp.HandleOutput(agent, process, bytes.NewReader(output))
				return nil
			})
		})
		<-agents
		server.InitAndAwaitReady(nil)
		require.Equal(t, "done", server.QueryAndWait("x"))
		server.Transcript()
		for _, frame := range server.Frames() {
			_, err := json.Marshal(frame)
			require.NoError(t, err)
		}
	})
}
