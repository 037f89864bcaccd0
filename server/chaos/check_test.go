package chaos_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/session"
	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/router"
)

// lateAnswerSlack is how much later than its timeout an answer may come, because the
// machine is busy.
const lateAnswerSlack = 1500 * time.Millisecond

// actionCounts counts the actions of one agent process, and their answers, by tx_id.
type actionCounts struct {
	asked, answered map[string]int
	lastAsked       map[string]time.Duration // trace time
}

func newActionCounts() *actionCounts {
	return &actionCounts{asked: map[string]int{}, answered: map[string]int{}, lastAsked: map[string]time.Duration{}}
}

// checkTrace reports missing entries of a trace, references to entries that do not
// exist, and actions of the agent without an answer within actionTimeout or with more
// than one. It returns when the trace began.
func (c *chaosRun) checkTrace(t *testing.T, path string, actionTimeout time.Duration) time.Time {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	fault := func(r trace.Record, format string, args ...any) {
		c.reportFault(fmt.Sprintf("%s: entry %d: %s", filepath.Base(path), r.Seq, fmt.Sprintf(format, args...)))
	}
	counts, last, state := newActionCounts(), int64(0), ""
	header, err := trace.ReadRecords(file, func(r trace.Record) error {
		if r.Seq != last+1 {
			fault(r, "it follows entry %d", last)
		}
		last = r.Seq
		if r.RefSeq >= r.Seq || r.CauseSeq >= r.Seq {
			fault(r, "it refers to entry %d, and its cause is entry %d", r.RefSeq, r.CauseSeq)
		}
		switch {
		case r.Hop == trace.AgentToServer && r.Type == protocol.TypeAgentAction && r.TxID != "":
			counts.asked[r.TxID]++
			counts.lastAsked[r.TxID] = time.Duration(r.ElapsedNS)
		case r.Hop == trace.ServerToAgent && r.Type == protocol.TypeActionResponse && r.Note != trace.NoteDropped:
			counts.answered[r.TxID]++
			if counts.answered[r.TxID] > counts.asked[r.TxID] {
				fault(r, "%s was asked %d times and answered %d times", r.TxID, counts.asked[r.TxID], counts.answered[r.TxID])
			}
		case r.Type == router.EntryTypePeerEnded && r.Action == "agent":
			for tx, times := range counts.asked {
				if waited := time.Duration(r.ElapsedNS) - counts.lastAsked[tx]; counts.answered[tx] < times && waited > actionTimeout+lateAnswerSlack {
					fault(r, "%s was not answered in %v", tx, waited)
				}
			}
			counts = newActionCounts()
		case r.Hop == trace.HopSession && r.Type == "state":
			var entered struct {
				State string `json:"state"`
			}
			if json.Unmarshal(r.Message, &entered) == nil {
				state = entered.State
			}
		}
		return nil
	})
	if err != nil {
		c.reportFault(path + ": " + err.Error())
	}
	if state != string(session.StateEnded) {
		c.reportFault(fmt.Sprintf("%s: its session ends in state %q", path, state))
	}
	if len(counts.asked) > 0 {
		c.reportFault(path + ": the end of its agent is not recorded")
	}
	return header.Started
}

// checkSession reports a session that has not ended, a cell that still runs, and a
// notebook that differs from the one rebuilt from the trace. tracePaths are by the
// time at which a trace began.
func (c *chaosRun) checkSession(t *testing.T, live *session.Session, tracePaths map[time.Time]string) {
	t.Helper()
	id := live.Journal().SessionID
	if live.State() != session.StateEnded {
		c.reportFault(id + ": its state is " + string(live.State()))
	}
	if open := live.Executions().CellsWithOpenRuns(); len(open) > 0 {
		c.reportFault(fmt.Sprintf("%s: cells that run for ever: %q", id, open))
	}
	state := live.NotebookState()
	for cell, status := range state.Executions.CellStatus {
		if status == notebook.StatusRunning {
			c.reportFault(fmt.Sprintf("%s: cell %q runs for ever", id, cell))
		}
	}
	path := tracePaths[live.Journal().Started.UTC()]
	require.NotEmpty(t, path, "the trace of %s", id)
	rebuilt, err := session.NotebookFromTrace(t.Context(), path)
	if err != nil {
		c.reportFault(path + ": " + err.Error())
		return
	}
	if rebuilt == nil {
		rebuilt = &notebook.State{Cells: []notebook.Cell{}}
		state.Executions = rebuilt.Executions
	}
	for what, pair := range map[string][2]any{"cells": {state.Cells, rebuilt.Cells}, "runs": {state.Executions, rebuilt.Executions}} {
		want, err := json.Marshal(pair[0])
		require.NoError(t, err)
		got, err := json.Marshal(pair[1])
		require.NoError(t, err)
		if !bytes.Equal(want, got) {
			at := 0
			for at < min(len(want), len(got)) && want[at] == got[at] {
				at++
			}
			from := max(0, at-300)
			c.reportFault(fmt.Sprintf("%s: the %s differ: the session has …%.600s…, its trace …%.600s…", path, what, want[from:], got[from:]))
		}
	}
}

// processesWithText returns the ids and command lines of running processes whose command
// line contains text.
func processesWithText(t *testing.T, text string) (pids []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && bytes.Contains(line, []byte(text)) { // the command line of a zombie is empty
			pids = append(pids, filepath.Base(filepath.Dir(file))+": "+string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	return pids
}

// openFileTargets returns what the file descriptors of this process refer to.
func openFileTargets(t *testing.T) (open []string) {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil { // the descriptor that Glob used is closed by now
			open = append(open, to)
		}
	}
	return open
}
