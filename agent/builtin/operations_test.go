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
	"assay/internal/protocol"
)

// Two hundred operations at once, answered in random order, some late, some
// twice, with foreign ids in between: each gets its own answer.
func TestCO3_ManyOperationsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const count, limit = 200, 10 * time.Second
		ours, theirs := protocol.Pipe()
		operations := builtin.NewOperations(theirs)
		var reading sync.WaitGroup
		reading.Go(operations.Read)

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
				respond(t, ours, "tx_foreign", `0`)
				if i%10 != 0 {
					respond(t, ours, request.TxID, string(request.Params))
					respond(t, ours, request.TxID, `{"n":-1}`)
				} else {
					var params struct{ N int }
					require.NoError(t, json.Unmarshal(request.Params, &params))
					late[params.N] = true
				}
			}
			time.Sleep(limit + time.Second) //nolint:forbidigo // of the bubble's clock
			for _, request := range requests {
				respond(t, ours, request.TxID, `{"n":-2}`)
			}
		})

		got := make([]string, count)
		for n := range count {
			working.Go(func() {
				body, failure := operations.Do(t.Context(), "get_context", map[string]int{"n": n}, limit)
				got[n] = string(body) + failure
			})
		}
		working.Wait()
		require.Zero(t, operations.Pending())
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

func respond(t *testing.T, conn protocol.Conn, tx, echo string) {
	t.Helper()
	require.NoError(t, conn.Write(fmt.Appendf(nil, `{"type":"agent_action_response","tx_id":%q,"status":"success","echo":%s}`, tx, echo)))
}

func TestCO2_FailuresAreResults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := protocol.Pipe()
		operations := builtin.NewOperations(theirs)
		var reading sync.WaitGroup
		reading.Go(operations.Read)
		reading.Go(func() {
			for range 3 {
				_, _ = ours.Read() // and no answer
			}
		})

		began := time.Now()
		_, failure := operations.Do(t.Context(), "delete_cell", nil, 2500*time.Millisecond)
		require.Contains(t, failure, "OPERATION FAILED: 'delete_cell' timed out after 2.5 seconds")
		require.Equal(t, 2500*time.Millisecond, time.Since(began))

		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errors.New("no longer wanted")) })
		_, failure = operations.Do(ctx, "get_context", nil, time.Minute)
		require.Equal(t, "OPERATION FAILED: 'get_context' was given up: no longer wanted. The operation did not complete.", failure)

		_, failure = operations.Do(t.Context(), "get_context", func() {}, time.Minute)
		require.Contains(t, failure, "could not be sent")

		require.NoError(t, ours.Close(protocol.CloseNormal, ""))
		_, failure = operations.Do(t.Context(), "run_cell", nil, time.Minute)
		require.Contains(t, failure, "OPERATION FAILED: 'run_cell' could not be sent: ")
		require.Contains(t, failure, "did not complete")
		require.Zero(t, operations.Pending())
		require.NoError(t, theirs.Close(protocol.CloseNormal, ""))
		reading.Wait()
	})
}

// An answer that reports an error is one, with or without a reason.
func TestCO2_ErrorsOfTheNotebook(t *testing.T) {
	t.Parallel()
	p := startTools(t, builtin.Config{}, uses("get_context", `{}`, "run_cell", `{"cell_id":"gone"}`, "create_markdown_cell", `{"position":0,"source":"x"}`), `{"content":"x"}`)
	p.onAction(func(action string, _ frame, tx string) bool {
		switch action {
		case "get_context":
			p.answer(tx, frame{"status": "error"})
		case "run_cell":
			p.answer(tx, frame{"status": "error", "error": "no cell gone"})
		default:
			p.answer(tx, nil) // names no cell
		}
		return true
	})
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	for i, want := range []string{"the operation failed and gave no reason", "no cell gone", "the answer names no cell"} {
		text, isError := p.resultText(i)
		require.True(t, isError)
		require.Equal(t, want, text)
	}
}

// The end of what a busy server does to an agent: the text that EH-4 asks for.
func TestEH4_TheAgentEndsAnOperationItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := startTools(t, builtin.Config{}, uses("get_context", `{}`), `{"content":"x"}`)
		p.onAction(func(string, frame, string) bool { return true })
		p.init(nil)
		began := time.Now()
		require.Equal(t, "done", p.ask("go"))
		require.Equal(t, 10*time.Second, time.Since(began))
		text, isError := p.resultText(0)
		require.True(t, isError)
		require.Regexp(t, `^OPERATION FAILED: 'get_context' timed out after 10 seconds`, text)
	})
}
