package flow_test

import (
	"encoding/json"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"assay/internal/trace/flow"
)

// An index of a whole trace has the same frames and requests as WalkFinished gives.
func TestIndexAgreesWithWalkFinished(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(path)
			require.NoError(t, err)
			file := writeTrace(t, string(archive.Files[0].Data))
			index := flow.NewIndex()
			var labels []string
			src := openTail(t, file)
			_, err = src.Next(t.Context())
			require.NoError(t, err)
			for line, err := src.Next(t.Context()); err == nil; line, err = src.Next(t.Context()) {
				index.AddLine(line)
				labels = append(labels, index.LabelAt(index.EntryCount()))
			}
			index.Finish()
			index.Finish() // a second call does nothing
			seq := int64(0)
			var stats flow.StatsCollector
			require.NoError(t, flow.WalkFinished(t.Context(), tailOpener(file), func(walked flow.Frame) error {
				seq++
				stats.AddFrame(walked)
				frame := index.FrameAt(seq)
				want := walked.Record
				want.Message, want.WallTime = nil, frame.Record.WallTime
				require.Equal(t, want, frame.Record)
				require.Len(t, frame.Requests, len(walked.Requests))
				for i, q := range walked.Requests {
					require.Equal(t, q.Delay(), frame.Requests[i].Delay())
					require.Equal(t, q.String(), frame.Requests[i].String())
				}
				line := flow.LineFormatter{}.FormatLine(walked)
				require.Contains(t, line, labels[seq-1])
				return nil
			}))
			require.Equal(t, seq, index.EntryCount())
			require.Equal(t, stats.Summary(), index.Summary())
			require.True(t, index.IsFinished())
			require.Positive(t, index.MemoryBytes())
		})
	}
}

// FuzzIndex adds arbitrary lines to an index: each must become an entry, even if it cannot be
// parsed.
func FuzzIndex(f *testing.F) {
	f.Add(`{"seq":1,"t_ns":5,"hop":"agent>server","type":"agent_action","action":"a","tx_id":"t","bytes":3,"msg":{}}` + "\n" + `{"seq":2,"hop":"server>agent","type":"agent_action_response","tx_id":"t","msg":{}}`)
	f.Add(`{"seq":1,"hop":"session","type":"state","msg":{"state":"ready"}}` + "\n{\nnull\n[]")
	f.Add(`{"seq":9,"hop":"agent>server","type":"agent_event","msg":{"metadata":{"type":7}}}` + "\n" + strings.Repeat(`{"seq":1,"ref":-1,"cause":9e9}`, 2))
	f.Fuzz(func(t *testing.T, text string) {
		index := flow.NewIndex()
		lines := strings.Split(text, "\n")
		for n, line := range lines {
			index.AddLine([]byte(line))
			require.EqualValues(t, n+1, index.EntryCount())
		}
		index.Finish()
		for n := range lines {
			frame := index.FrameAt(int64(n + 1))
			require.EqualValues(t, n+1, frame.Record.Seq)
			for _, q := range frame.Requests {
				require.Positive(t, q.Asked.Seq)
				require.LessOrEqual(t, q.Asked.Seq, frame.Record.Seq)
				_, err := json.Marshal(q.Delay())
				require.NoError(t, err)
			}
			flow.Filter{TxID: "t", MinDelay: 1}.Match(frame)
		}
	})
}

// BenchmarkIndex measures the time and memory that an index of a trace with 100,000 entries
// takes.
func BenchmarkIndex(b *testing.B) {
	session := &syntheticTrace{lastSeq: 100_009}
	var lines [][]byte
	for line, err := session.Next(b.Context()); err == nil; line, err = session.Next(b.Context()) {
		lines = append(lines, []byte(string(line)))
	}
	b.ResetTimer()
	for b.Loop() {
		index := flow.NewIndex()
		for _, line := range lines[1:] {
			index.AddLine(line)
		}
		b.ReportMetric(float64(index.MemoryBytes()), "B")
	}
	before := heapBytes()
	index := flow.NewIndex()
	for _, line := range lines[1:] {
		index.AddLine(line)
	}
	b.Logf("%d entries: the heap grows by %d, the index says %d", index.EntryCount(), heapBytes()-before, index.MemoryBytes())
	runtime.KeepAlive(lines)
}
