package router_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/router"
)

// A cell that runs for longer than the limit is stopped, and the agent learns why. The limit
// counts for each run anew, and ends with the run.
func TestCellLimitStopsRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		journal := trace.NewJournal("s")
		r := router.New(journal, notebook.NewExecutions(notebook.ExecutionsConfig{}), router.Config{CellRunLimit: time.Minute})
		defer r.Close(protocol.CloseGoingAway, "the test is over")
		ours, kernel := protocol.Pipe()
		_, err := r.AttachKernel(ours, protocol.Ready{})
		require.NoError(t, err)
		ours, agent := protocol.Pipe()
		_, err = r.AttachAgent(ours)
		require.NoError(t, err)
		send := func(frames ...string) {
			for _, frame := range frames {
				require.NoError(t, kernel.Write([]byte(frame)))
			}
			synctest.Wait()
		}
		exceptionToAgent := func() string {
			body, err := agent.Read()
			require.NoError(t, err)
			var message struct {
				Message protocol.CellResult `json:"message"`
			}
			require.NoError(t, json.Unmarshal(body, &message))
			return message.Message.Exception
		}
		follower := journal.Follow()
		defer follower.Close()
		var stopped []string
		readTrace := func() {
			for entry := follower.TryNext(); entry != nil; entry = follower.TryNext() {
				if entry.Type == router.EntryTypeCellLimit {
					stopped = append(stopped, string(entry.Body))
				}
			}
		}

		send(`{"type":"start_cell","cell_id":"a","run_sequencer":1}`)
		<-time.After(59 * time.Second)
		send(`{"type":"cell_result","cell_id":"a","run_sequencer":1,"status":"ok"}`, `{"type":"start_cell","cell_id":"a","run_sequencer":2}`)
		<-time.After(59 * time.Second)
		readTrace()
		require.Empty(t, stopped)
		<-time.After(time.Second)
		require.JSONEq(t, `{"type":"stop_cell","cell_id":"a"}`, string(mustRead(t, kernel)))
		readTrace()
		require.Equal(t, []string{`{"cell_id":"a","limit_s":60,"type":"cell_limit"}`}, stopped)
		send(`{"type":"cell_result","cell_id":"a","run_sequencer":2,"status":"interrupted","has_exception":true,"exception":"KeyboardInterrupt"}`)
		send(`{"type":"start_cell","cell_id":"b","run_sequencer":3}`, `{"type":"cell_result","cell_id":"b","run_sequencer":3,"status":"error","has_exception":true,"exception":"own"}`)
		<-time.After(time.Hour)
		readTrace()
		require.Len(t, stopped, 1)

		var exceptions []string
		for range 6 {
			exceptions = append(exceptions, exceptionToAgent())
		}
		require.Equal(t, []string{"", "", "", "KeyboardInterrupt\nThe cell was stopped because it ran longer than the limit of 1m0s for one cell.", "", "own"}, exceptions)
	})
}

func mustRead(t *testing.T, conn protocol.Conn) []byte {
	t.Helper()
	body, err := conn.Read()
	require.NoError(t, err)
	return body
}
