package server_test

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

// slack is what an answer may take beside its limit on a machine that is busy.
const slack = 1500 * time.Millisecond

// asking is what the agent of the moment has asked, by tx_id.
type asking struct {
	asked, answered map[string]int
	last            map[string]time.Duration // when it was asked last
}

func newAsking() *asking {
	return &asking{asked: map[string]int{}, answered: map[string]int{}, last: map[string]time.Duration{}}
}

// checkTrace reads a trace and complains of what must not be in one: entries that
// are missing, references to what is not there, and actions of the agent that were
// answered never, or more than once. within is how long an action may take. It
// returns when the trace began.
func (w *world) checkTrace(t *testing.T, path string, within time.Duration) time.Time {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	bad := func(r trace.Record, format string, args ...any) {
		w.complain(fmt.Sprintf("%s: entry %d: %s", filepath.Base(path), r.Seq, fmt.Sprintf(format, args...)))
	}
	now, last, state := newAsking(), int64(0), ""
	header, err := trace.ReadRecords(file, func(r trace.Record) error {
		if r.Seq != last+1 {
			bad(r, "it follows %d", last)
		}
		last = r.Seq
		if r.RefSeq >= r.Seq || r.CauseSeq >= r.Seq {
			bad(r, "it refers to %d, because of %d", r.RefSeq, r.CauseSeq)
		}
		switch {
		case r.Hop == trace.AgentToServer && r.Type == protocol.TypeAgentAction && r.TxID != "":
			now.asked[r.TxID]++
			now.last[r.TxID] = time.Duration(r.ElapsedNS)
		case r.Hop == trace.ServerToAgent && r.Type == protocol.TypeActionResponse && r.Note != trace.NoteDropped:
			now.answered[r.TxID]++
			if now.answered[r.TxID] > now.asked[r.TxID] {
				bad(r, "%s was asked %d times and answered %d times", r.TxID, now.asked[r.TxID], now.answered[r.TxID])
			}
		case r.Type == router.TypePeerEnded && r.Action == "agent":
			for tx, times := range now.asked {
				if waited := time.Duration(r.ElapsedNS) - now.last[tx]; now.answered[tx] < times && waited > within+slack {
					bad(r, "%s was not answered in %v", tx, waited)
				}
			}
			now = newAsking()
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
		w.complain(path + ": " + err.Error())
	}
	if state != string(session.StateEnded) {
		w.complain(fmt.Sprintf("%s: its session is %q at the end", path, state))
	}
	if len(now.asked) > 0 {
		w.complain(path + ": its agent never ended")
	}
	return header.Started
}

// checkLife complains of a session that has not ended, or in which something runs
// on, or whose trace tells another story.
func (w *world) checkLife(t *testing.T, live *session.Session, traces map[time.Time]string) {
	t.Helper()
	id := live.Journal().SessionID
	if live.State() != session.StateEnded {
		w.complain(id + ": it is " + string(live.State()))
	}
	if open := live.Executions().OpenCells(); len(open) > 0 {
		w.complain(fmt.Sprintf("%s: cells that run for ever: %q", id, open))
	}
	state := live.NotebookState()
	for cell, status := range state.Executions.CellStatus {
		if status == notebook.StatusRunning {
			w.complain(fmt.Sprintf("%s: cell %q runs for ever", id, cell))
		}
	}
	path := traces[live.Journal().Started.UTC()]
	require.NotEmpty(t, path, "the trace of %s", id)
	rebuilt, err := session.NotebookFromTrace(t.Context(), path)
	if err != nil {
		w.complain(path + ": " + err.Error())
		return
	}
	if rebuilt == nil {
		rebuilt = &notebook.State{Cells: []notebook.Cell{}}
		state.Executions = rebuilt.Executions
	}
	for what, pair := range map[string][2]any{"cells": {state.Cells, rebuilt.Cells}, "runs": {state.Executions, rebuilt.Executions}} {
		lived, err := json.Marshal(pair[0])
		require.NoError(t, err)
		told, err := json.Marshal(pair[1])
		require.NoError(t, err)
		if !bytes.Equal(lived, told) {
			at := 0
			for at < min(len(lived), len(told)) && lived[at] == told[at] {
				at++
			}
			from := max(0, at-300)
			w.complain(fmt.Sprintf("%s: its %s are not what its trace tells: …%.600s… and …%.600s…", path, what, lived[from:], told[from:]))
		}
	}
}

// processes are the children that still live: their command lines name marks.
func processes(t *testing.T, marks string) (pids []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && bytes.Contains(line, []byte(marks)) { // a zombie's is empty
			pids = append(pids, filepath.Base(filepath.Dir(file))+": "+string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	return pids
}

// descriptors are what this process has open.
func descriptors(t *testing.T) (open []string) {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil { // the one that reads the folder is gone
			open = append(open, to)
		}
	}
	return open
}
