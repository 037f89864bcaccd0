package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
	"assay/internal/protocol"
)

// Two hundred actions at once are answered in random order, some late, some twice, with foreign
// ids in between: each gets its own response.
func TestCO3_ManyActionsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const count, timeout = 200, 10 * time.Second
		ours, theirs := protocol.Pipe()
		client := builtin.NewActionClient(theirs)
		var reading sync.WaitGroup
		reading.Go(client.ReadResponses)

		late := map[int]bool{}
		var working sync.WaitGroup
		working.Go(func() {
			requests := make([]protocol.AgentAction, count)
			for i := range requests {
				body, err := ours.Read()
				require.NoError(t, err)
				require.NoError(t, json.Unmarshal(body, &requests[i]))
			}
			rand.Shuffle(count, func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
			for i, request := range requests {
				sendSuccessResponse(t, ours, "tx_foreign", `0`)
				if i%10 != 0 {
					sendSuccessResponse(t, ours, request.TxID, string(request.Params))
					sendSuccessResponse(t, ours, request.TxID, `{"n":-1}`)
				} else {
					var params struct{ N int }
					require.NoError(t, json.Unmarshal(request.Params, &params))
					late[params.N] = true
				}
			}
			time.Sleep(timeout + time.Second) //nolint:forbidigo // of the bubble's clock
			for _, request := range requests {
				sendSuccessResponse(t, ours, request.TxID, `{"n":-2}`)
			}
		})

		got := make([]string, count)
		for n := range count {
			working.Go(func() {
				body, failure := client.Do(t.Context(), "get_context", map[string]int{"n": n}, timeout)
				got[n] = string(body) + failure
			})
		}
		working.Wait()
		require.Zero(t, client.PendingCount())
		require.NoError(t, ours.Close(protocol.CloseNormal, ""))
		reading.Wait()

		require.Len(t, late, count/10)
		for n, text := range got {
			if late[n] {
				require.Equal(t, "OPERATION FAILED: 'get_context' timed out after 10 seconds. No answer came: the operation did not complete.", text)
				continue
			}
			var answer struct{ Echo struct{ N int } }
			require.NoError(t, json.Unmarshal([]byte(text), &answer), text)
			require.Equal(t, n, answer.Echo.N)
		}
	})
}

// sendSuccessResponse sends the agent a successful response to the action with this tx_id.
func sendSuccessResponse(t *testing.T, conn protocol.Conn, tx, echo string) {
	t.Helper()
	require.NoError(t, conn.Write(fmt.Appendf(nil, `{"type":"agent_action_response","tx_id":%q,"status":"success","echo":%s}`, tx, echo)))
}

func TestCO2_ActionWithoutResponseFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := protocol.Pipe()
		client := builtin.NewActionClient(theirs)
		var reading sync.WaitGroup
		reading.Go(client.ReadResponses)
		reading.Go(func() {
			for range 3 {
				_, _ = ours.Read() // they get no response
			}
		})

		began := time.Now()
		_, failure := client.Do(t.Context(), "delete_cell", nil, 2500*time.Millisecond)
		require.Contains(t, failure, "OPERATION FAILED: 'delete_cell' timed out after 2.5 seconds")
		require.Equal(t, 2500*time.Millisecond, time.Since(began))

		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errors.New("no longer wanted")) })
		_, failure = client.Do(ctx, "get_context", nil, time.Minute)
		require.Equal(t, "OPERATION FAILED: 'get_context' was given up: no longer wanted. The operation did not complete.", failure)

		_, failure = client.Do(t.Context(), "get_context", func() {}, time.Minute)
		require.Contains(t, failure, "could not be sent")

		require.NoError(t, ours.Close(protocol.CloseNormal, ""))
		_, failure = client.Do(t.Context(), "run_cell", nil, time.Minute)
		require.Contains(t, failure, "OPERATION FAILED: 'run_cell' could not be sent: ")
		require.Contains(t, failure, "did not complete")
		require.Zero(t, client.PendingCount())
		require.NoError(t, theirs.Close(protocol.CloseNormal, ""))
		reading.Wait()
	})
}

// A response with status error is an error, with or without a reason.
func TestCO2_ErrorsOfTheNotebook(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t, builtin.Config{}, agenttest.ToolCallScriptLine("get_context", `{}`, "run_cell", `{"cell_id":"gone"}`, "create_markdown_cell", `{"position":0,"source":"x"}`), `{"content":"x"}`)
	p.SetActionHook(func(action string, _ frame, tx string) bool {
		switch action {
		case "get_context":
			p.RespondToAction(tx, frame{"status": "error"})
		case "run_cell":
			p.RespondToAction(tx, frame{"status": "error", "error": "no cell gone"})
		default:
			p.RespondToAction(tx, nil) // without a cell_id
		}
		return true
	})
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	for i, want := range []string{"the operation failed and gave no reason", "no cell gone", "the answer names no cell"} {
		text, isError := p.ToolResult(i)
		require.True(t, isError)
		require.Equal(t, want, text)
	}
}

// If the server does not answer, the agent itself ends the action, with the text that EH-4
// asks for.
func TestEH4_ActionWithoutResponseTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := startToolsAgent(t, builtin.Config{}, agenttest.ToolCallScriptLine("get_context", `{}`), `{"content":"x"}`)
		p.SetActionHook(func(string, frame, string) bool { return true })
		p.InitAndAwaitReady(nil)
		began := time.Now()
		require.Equal(t, "done", p.QueryAndWait("go"))
		require.Equal(t, 10*time.Second, time.Since(began))
		text, isError := p.ToolResult(0)
		require.True(t, isError)
		require.Regexp(t, `^OPERATION FAILED: 'get_context' timed out after 10 seconds`, text)
	})
}
