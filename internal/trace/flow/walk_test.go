package flow_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/internal/trace/flow"
)

// syntheticTrace is a LineSource that generates a trace of lastSeq entries: actions on the
// notebook and for the kernel, and runs, whose ids and cells do not repeat. Every hundredth
// request to the kernel times out.
type syntheticTrace struct{ lastSeq, seq int64 }

// record returns the next record.

func (s *syntheticTrace) record() trace.Record {
	s.seq++
	n, step := s.seq/10, s.seq%10
	r := trace.Record{Seq: s.seq, ElapsedNS: s.seq * 1000, BodyBytes: 100}
	tx, kernel, cell := fmt.Sprintf("tx_%012x", n), fmt.Sprintf("eval_%012x", n), fmt.Sprintf("cell-%d", n)
	set := func(hop trace.Hop, kind, action, tx, cell string, cause int64, note trace.Note) {
		r.Hop, r.Type, r.Action, r.TxID, r.CellID, r.CauseSeq, r.Note = hop, kind, action, tx, cell, cause, note
	}
	silent := n%100 == 0
	switch step {
	case 0:
		set(trace.AgentToServer, protocol.TypeAgentAction, "create_cell", tx+"a", "", 0, "")
	case 1:
		set(trace.ServerToAgent, protocol.TypeActionResponse, "", tx+"a", cell, 0, "")
	case 2:
		set(trace.ServerToKernel, protocol.TypeRunCell, "", "", cell, 0, "")
	case 3:
		set(trace.KernelToServer, protocol.TypeStartCell, "", "", cell, 0, "")
	case 4:
		set(trace.AgentToServer, protocol.TypeAgentAction, "request_globals_summary", tx, "", 0, trace.NoteIntercepted)
	case 5:
		set(trace.ServerToKernel, protocol.TypeGlobalsSummary, "", kernel, "", r.Seq-1, "")
	case 6:
		set(trace.KernelToServer, protocol.TypeKernelStdio, "", "", cell, 0, "")
		if !silent {
			set(trace.KernelToServer, protocol.TypeGlobalsSummary, "", kernel, "", 0, "")
		}
	case 7:
		set(trace.ServerToAgent, protocol.TypeActionResponse, "", tx, "", r.Seq-1, "")
		if silent {
			set(trace.ServerToAgent, protocol.TypeActionResponse, "", tx, "", 0, trace.NoteTimedOut)
		}
	case 8:
		set(trace.KernelToServer, protocol.TypeCellResult, "", "", cell, 0, "")
	default:
		set(trace.AgentToServer, protocol.TypeAgentStatus, "", "", "", 0, "")
	}
	return r
}

// Next generates and returns the next line of the synthetic trace, and io.EOF after the last.
func (s *syntheticTrace) Next(context.Context) ([]byte, error) {
	if s.seq == 0 {
		s.seq = 9 // entries come in groups of ten, the first of which has a number that 10 divides
		return bytes.TrimSpace([]byte(headerLine)), nil
	}
	if s.seq >= s.lastSeq {
		return nil, io.EOF
	}
	r := s.record()
	return fmt.Appendf(nil, `{"seq":%d,"t_ns":%d,"hop":%q,"type":%q,"action":%q,"tx_id":%q,"cell_id":%q,"bytes":%d,"note":%q,"cause":%d,"msg":{"type":%q}}`,
		r.Seq, r.ElapsedNS, r.Hop, r.Type, r.Action, r.TxID, r.CellID, r.BodyBytes, r.Note, r.CauseSeq, r.Type), nil
}

func (s *syntheticTrace) Close() error { return nil }

func heapBytes() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// A Joiner and Stats that have read a million frames take no more memory than the samples of
// their requests.
//
//nolint:paralleltest // it measures the heap
func TestJoinerMemoryIsBounded(t *testing.T) {
	const most = 64 << 20
	frames := 1_000_000
	if testing.Short() {
		frames = 200_000
	}
	before := heapBytes()
	session := &syntheticTrace{lastSeq: int64(frames)}
	var stats flow.StatsCollector
	settled := 0
	joiner := flow.NewJoiner(func(*flow.Request) { settled++ })
	for session.seq < int64(frames) {
		record := session.record()
		frame := flow.Frame{Record: record, Requests: joiner.Add(record)}
		for _, q := range frame.Requests {
			if q.Answered.Seq == record.Seq {
				frame.DelayRequest = q
			}
		}
		stats.AddFrame(frame)
		if record.Seq%int64(frames/4) == 0 {
			require.Less(t, int64(heapBytes())-int64(before), int64(most))
		}
	}
	joiner.Finish()
	sum := stats.Summary()
	require.Equal(t, frames, sum.Frames)
	require.Len(t, sum.Actions, 3)
	require.Equal(t, "request_globals_summary", sum.Actions[1].Action)
	require.Equal(t, frames/10, sum.Actions[1].Count)
	require.Equal(t, frames/1000, sum.Actions[1].TimedOut)
	require.InDelta(t, 0.003, *sum.Actions[1].P99MS, 1e-9)
	require.Equal(t, "server", sum.Actions[1].P99Hop)
	require.Equal(t, "run", sum.Actions[2].P99Hop)
	require.GreaterOrEqual(t, settled, 3*frames/10)
	runtime.KeepAlive(&stats)
}

// WalkFinished holds only the requests between its two readers in memory, not the whole trace.
//
//nolint:paralleltest // it measures the heap
func TestWalkFinishedMemoryIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make nightly runs it")
	}
	const frames, most = 60_000, 16 << 20
	before := heapBytes()
	open := func(context.Context) (flow.LineSource, error) { return &syntheticTrace{lastSeq: frames}, nil }
	n, delays := 0, 0
	require.NoError(t, flow.WalkFinished(t.Context(), open, func(f flow.Frame) error {
		n++
		if f.DelayRequest != nil {
			delays++
		}
		if n%20_000 == 0 {
			require.Less(t, int64(heapBytes())-int64(before), int64(most))
		}
		return nil
	}))
	require.Equal(t, frames-9, n)
	require.InDelta(t, 3*frames/10, delays, 3)
}

// WalkFinished shows with a request's first frame how the request ends, even if that is the
// last entry of the trace. An error of the callback ends the walk.
func TestWalkFinishedKnowsHowRequestsEnd(t *testing.T) {
	t.Parallel()
	path := writeTrace(t, `
		0   session holder msg={"by":"server"}
		1   agent>server agent_action action=get_context tx_id=tx_1
		999 server>agent agent_action_response tx_id=tx_1`)
	enough := errors.New("enough")
	err := flow.WalkFinished(t.Context(), tailOpener(path), func(f flow.Frame) error {
		if f.DelayRequest == nil {
			return nil
		}
		require.EqualValues(t, 2, f.Record.Seq)
		require.Equal(t, 998*time.Millisecond, f.DelayRequest.Answered.Elapsed-f.DelayRequest.Asked.Elapsed)
		return enough
	})
	require.ErrorIs(t, err, enough)
}

func TestWalkRefusesOtherFiles(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, want string }{
		"empty":        {"", "not a trace: it has no first line"},
		"another file": {"PK\x03\x04\n", "not a trace: invalid character 'P'"},
		"no entry":     {headerLine + "{\"seq\":1,\"msg\":1}\nhello\n", "line 3: not a trace"},
		"cut entry":    {headerLine + "{\"seq\":1,\"msg\":{\n{}\n", "line 2: not a trace: it does not end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "trace.jsonl")
			require.NoError(t, os.WriteFile(path, []byte(tc.in), 0o600))
			nothing := func(flow.Frame) error { return nil }
			err := flow.WalkFinished(t.Context(), tailOpener(path), nothing)
			require.ErrorIs(t, err, trace.ErrNotTrace)
			require.ErrorContains(t, err, tc.want)
			require.ErrorContains(t, flow.WalkLive(t.Context(), openTail(t, path), nothing), tc.want)
		})
	}
	_, err := os.Stat("nowhere")
	require.ErrorIs(t, flow.WalkFinished(t.Context(), tailOpener("nowhere"), nil), errors.Unwrap(err))
}

// A name that an agent chose cannot move the terminal's cursor or begin another line.
func TestLineFormatterReplacesControlCharacters(t *testing.T) {
	t.Parallel()
	record := trace.Record{Hop: trace.AgentToServer, Type: "\x1b[2J\n", Action: string(make([]rune, 100)), TxID: "a\u202eb", BodyBytes: 7}
	line := flow.LineFormatter{FullIDs: true}.FormatLine(flow.Frame{Record: record})
	require.Regexp(t, `^\+0\.000 agent>server \x{FFFD}\[2J\x{FFFD} \x{FFFD}{60}… a\x{FFFD}b 7 B$`, line)
}

// FuzzWalk walks over arbitrary lines: they are shown or refused without a panic, and a record
// that was parsed without its message is otherwise the same as that of the whole line.
func FuzzWalk(f *testing.F) {
	f.Add([]byte(`{"seq":1,"hop":"agent>server","type":"agent_action","action":"get_context","tx_id":"a","msg":{}}`))
	f.Add([]byte(`{"seq":1,"hop":"agent>server","type":"agent_action","tx_id":"a","note":"tamper"}
{"seq":1,"hop":"server>kernel","type":"x","tx_id":"a","cause":1}
{"seq":1,"hop":"kernel>server","type":"x","tx_id":"a","note":"late"}
{"seq":-1,"hop":"server>agent","type":"agent_action_response","tx_id":"a","ref":1,"msg":",\"msg\":"}`))
	f.Add([]byte(`{"seq":2,"hop":"server>kernel","type":"run_cell","cell_id":"c"}
{"seq":2,"hop":"kernel>server","type":"start_cell","cell_id":"c"}
{"seq":2,"hop":"session","type":"peer_ended","action":"kernel","msg":null}
{"seq":2,"hop":"kernel>server","type":"cell_result","cell_id":"c"}
{"seq":3,"hop":"console>server","type":"globals_summary","conn":3}
{"seq":3,"hop":"server>console","type":"globals_summary","conn":3,"cause":9}`))
	f.Fuzz(func(t *testing.T, lines []byte) {
		path := filepath.Join(t.TempDir(), "trace.jsonl")
		require.NoError(t, os.WriteFile(path, append([]byte(headerLine), lines...), 0o600))
		var stats flow.StatsCollector
		frames := 0
		each := func(f flow.Frame) error {
			frames++
			stats.AddFrame(f)
			require.NotContains(t, flow.LineFormatter{ShowSlowest: true}.FormatLine(f), "\n")
			if f.DelayRequest != nil {
				toJSONLine(t, f.DelayRequest.Delay())
			}
			if whole, err := trace.ParseRecord(f.Line); err == nil && f.Record.Hop != trace.HopSession {
				whole.Message, f.Record.Message = nil, nil
				require.Equal(t, whole, f.Record)
			}
			flow.Filter{TxID: "a…", MinDelay: time.Second}.Match(f)
			return nil
		}
		if flow.WalkFinished(t.Context(), tailOpener(path), each) == nil {
			require.NoError(t, flow.WalkLive(t.Context(), openTail(t, path), each))
			require.Equal(t, frames, stats.Summary().Frames)
			toJSONLine(t, stats.Summary())
		}
	})
}
