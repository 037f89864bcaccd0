package trace_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"assay/internal/protocol"
	"assay/internal/trace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// headerLine is the first line of a trace file, for tests.
const headerLine = `{"type":"trace","version":1,"session":"s","started":"2026-01-02T03:04:05Z"}` + "\n"

// newTestEntry returns an entry with this hop and body; it has NoteMalformed if body is not a
// message.
func newTestEntry(hop trace.Hop, body string) trace.Entry {
	env, err := protocol.NewEnvelopeDecoder().Decode([]byte(body))
	if err != nil {
		return trace.Entry{Hop: hop, Note: trace.NoteMalformed, Body: []byte(body)}
	}
	return trace.Entry{Hop: hop, Envelope: env, Body: []byte(body)}
}

func TestEntriesAreWrittenAndReadBack(t *testing.T) {
	t.Parallel()
	journal := trace.NewJournal("s1")
	var file bytes.Buffer
	writer := trace.NewWriter(journal, &file, nil)
	journal.Append(newTestEntry(trace.AgentToServer, `{ "type" : "agent_action", "action":"get_context", "tx_id":"tx_1", "params":{} }`))
	journal.Append(trace.Entry{Hop: trace.ServerToConsole, ConsoleID: 2, Envelope: protocol.Envelope{Type: "agent_action"}, BodyBytes: 81, RefSeq: 1})
	journal.Append(trace.Entry{
		Hop: trace.KernelToServer, Envelope: protocol.Envelope{Type: "kernel_stdio", CellID: "c"},
		Body: protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: protocol.Stdout, CellID: "c", Text: []byte("a\nb")}),
	})
	journal.Append(newTestEntry(trace.AgentToServer, "no JSON\xff\n"))
	journal.Append(trace.Entry{Hop: trace.HopSession, Envelope: protocol.Envelope{Type: "state"}})
	summary := newTestEntry(trace.KernelToServer, `{"type":"globals_summary","agent_tx_id":"eval_1","summary":{"s":"\ud800"}}`)
	summary.CauseSeq = 3
	journal.Append(summary)
	journal.Close()
	require.NoError(t, writer.Run(t.Context()))

	var got []string
	header, err := trace.ReadRecords(&file, func(r trace.Record) error {
		require.NotZero(t, r.WallTime)
		require.Positive(t, r.ElapsedNS)
		r.WallTime, r.ElapsedNS = time.Time{}, 0
		line, err := json.Marshal(r)
		got = append(got, strings.ReplaceAll(string(line), `"wall":"0001-01-01T00:00:00Z",`, ""))
		return err
	})
	require.NoError(t, err)
	require.Equal(t, "s1", header.Session)
	require.WithinDuration(t, time.Now(), header.Started, time.Minute)
	require.Equal(t, []string{
		`{"seq":1,"t_ns":0,"hop":"agent\u003eserver","conn":0,"type":"agent_action","action":"get_context","tx_id":"tx_1","cell_id":"","bytes":80,"note":"","msg":{"type":"agent_action","action":"get_context","tx_id":"tx_1","params":{}},"ref":0,"cause":0}`,
		`{"seq":2,"t_ns":0,"hop":"server\u003econsole","conn":2,"type":"agent_action","action":"","tx_id":"","cell_id":"","bytes":81,"note":"","msg":null,"ref":1,"cause":0}`,
		`{"seq":3,"t_ns":0,"hop":"kernel\u003eserver","conn":0,"type":"kernel_stdio","action":"","tx_id":"","cell_id":"c","bytes":8,"note":"","msg":{"type":"kernel_stdio","active_cell":"c","stream":"stdout","data":"a\nb"},"ref":0,"cause":0}`,
		`{"seq":4,"t_ns":0,"hop":"agent\u003eserver","conn":0,"type":"","action":"","tx_id":"","cell_id":"","bytes":9,"note":"malformed","msg":"no JSON�\n","ref":0,"cause":0}`,
		`{"seq":5,"t_ns":0,"hop":"session","conn":0,"type":"state","action":"","tx_id":"","cell_id":"","bytes":0,"note":"","msg":null,"ref":0,"cause":0}`,
		`{"seq":6,"t_ns":0,"hop":"kernel\u003eserver","conn":0,"type":"globals_summary","action":"","tx_id":"eval_1","cell_id":"","bytes":74,"note":"","msg":{"type":"globals_summary","agent_tx_id":"eval_1","summary":{"s":"\ud800"}},"ref":0,"cause":3}`,
	}, got)
}

// While eight goroutines append, a follower from the start, a follower that comes late, and the
// file see the same entries in the same order, without gaps.
func TestFollowersAndFileSeeOneOrder(t *testing.T) {
	t.Parallel()
	const appenders, each = 8, 200
	journal := trace.NewJournal("s")
	var file bytes.Buffer
	writer := trace.NewWriter(journal, &file, nil)
	early := journal.Follow()
	var late *trace.Follower
	var all sync.WaitGroup
	all.Go(func() { require.NoError(t, writer.Run(context.Background())) })
	var appending sync.WaitGroup
	for a := range appenders {
		appending.Go(func() {
			for i := range each {
				journal.Append(trace.Entry{Hop: trace.HopSession, ConsoleID: a + 1, BodyBytes: i + 1})
			}
			if a == 0 {
				late = journal.Follow()
			}
		})
	}
	appending.Wait()
	journal.Close()
	all.Wait()
	require.Zero(t, journal.Append(trace.Entry{}), "closed")

	seen := readWholeJournal(t, early)
	require.Len(t, seen, appenders*each)
	next := make([]int, appenders+1)
	for i, entry := range seen {
		require.EqualValues(t, i+1, entry.Seq)
		next[entry.ConsoleID]++
		require.Equal(t, next[entry.ConsoleID], entry.BodyBytes, "the order of each appender is kept")
		if i > 0 {
			require.GreaterOrEqual(t, entry.Elapsed, seen[i-1].Elapsed)
		}
	}
	tail := readWholeJournal(t, late)
	require.Equal(t, append([]*trace.Entry(nil), seen[len(seen)-len(tail):]...), tail) // nil if late came last
	lines := 0
	_, err := trace.ReadRecords(&file, func(r trace.Record) error {
		lines++
		require.EqualValues(t, lines, r.Seq)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, len(seen), lines)
}

// readWholeJournal returns all entries that a follower reads from a closed journal.
func readWholeJournal(t *testing.T, f *trace.Follower) []*trace.Entry {
	t.Helper()
	var seen []*trace.Entry
	for {
		entry, err := f.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return seen
		}
		require.NoError(t, err)
		seen = append(seen, entry)
	}
}

func TestFollowerWaitsForTheNextEntry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		journal := trace.NewJournal("s")
		follower := journal.Follow()
		got := make(chan int64)
		go func() {
			entry, err := follower.Next(t.Context())
			if err != nil {
				entry = &trace.Entry{Seq: -1}
			}
			got <- entry.Seq
		}()
		synctest.Wait()
		require.EqualValues(t, 1, journal.Append(trace.Entry{}))
		require.EqualValues(t, 1, <-got)

		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("gave up"))
		defer cancel()
		_, err := follower.Next(ctx)
		require.EqualError(t, err, "gave up")
	})
}

// stalledDisk is a writer that blocks every write until the channel release is closed.
type stalledDisk struct{ release chan struct{} }

func (s stalledDisk) Write(p []byte) (int, error) {
	<-s.release
	return len(p), nil
}

func TestWaitForRoomWaitsForDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		journal := trace.NewJournal("s")
		disk := stalledDisk{release: make(chan struct{})}
		writer := trace.NewWriter(journal, disk, nil)
		written := make(chan error)
		go func() { written <- writer.Run(context.Background()) }()
		synctest.Wait() // the writer is blocked with its header
		block := []byte(`{"type":"x","a":"` + strings.Repeat("x", 1<<20) + `"}`)
		for range trace.MaxUnwrittenBytes >> 20 {
			require.NoError(t, journal.WaitForRoom(t.Context()))
			journal.Append(trace.Entry{Hop: trace.KernelToServer, Body: block})
		}
		before := time.Now()
		require.ErrorIs(t, journal.WaitForRoom(t.Context()), trace.ErrCannotWrite)
		require.Equal(t, trace.RoomTimeout, time.Since(before))

		waiting := make(chan error)
		go func() { waiting <- journal.WaitForRoom(t.Context()) }()
		synctest.Wait()
		close(disk.release)
		require.NoError(t, <-waiting, "there is room as soon as the disk writes")
		journal.Close()
		require.NoError(t, <-written)
	})
}

// Entries that take long, one after the other, are waited for as long as each is read in time.
func TestWaitForRoomWaitsForSlowFollower(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		journal := trace.NewJournal("s")
		follower := journal.FollowWithBackpressure()
		defer follower.Close()
		for range 3 {
			journal.Append(trace.Entry{Body: make([]byte, trace.MaxUnwrittenBytes)})
		}
		go func() {
			for range 3 {
				<-time.After(trace.RoomTimeout - time.Second)
				_, _ = follower.Next(t.Context())
			}
		}()
		before := time.Now()
		require.NoError(t, journal.WaitForRoom(t.Context()))
		require.Equal(t, 3*(trace.RoomTimeout-time.Second), time.Since(before))
	})
}

func TestWaitForRoomReturnsWithoutWriter(t *testing.T) {
	t.Parallel()
	journal := trace.NewJournal("s")
	for range 40 {
		journal.Append(trace.Entry{Body: make([]byte, 1<<20)})
	}
	require.NoError(t, journal.WaitForRoom(t.Context()))
}

// fullDisk is a writer that fails every write.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestWaitForRoomFailsWhenWritingFailed(t *testing.T) {
	t.Parallel()
	journal := trace.NewJournal("s")
	writer := trace.NewWriter(journal, fullDisk{}, nil)
	journal.Append(trace.Entry{Hop: trace.HopSession})
	require.ErrorContains(t, writer.Run(t.Context()), "no space left")
	require.ErrorContains(t, journal.WaitForRoom(t.Context()), "no space left")
	journal.Append(trace.Entry{Hop: trace.HopSession})
	journal.Close()
}

func TestReadRecordsRefusesOtherFiles(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, want string }{
		"empty":           {"", "no header line"},
		"another file":    {"{}\n", "trace line 1: not a trace of version 1: {}"},
		"another version": {strings.Replace(headerLine, "1,", "2,", 1), "not a trace of version 1"},
		"a broken line":   {headerLine + "{\"seq\":\n", "trace line 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := trace.ReadRecords(strings.NewReader(tc.in), func(trace.Record) error { return nil })
			require.ErrorContains(t, err, tc.want)
		})
	}
	n := 0
	_, err := trace.ReadRecords(strings.NewReader(headerLine+`{"seq":1}`+"\n"+`{"seq":2`), func(trace.Record) error { n++; return nil })
	require.NoError(t, err, "a cut last line, which a killed server leaves, is ignored")
	require.Equal(t, 1, n)
}

func TestLineWithoutMessage(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"seq":1,"type":"x","msg":{"a":{"msg":1}}}`:      `{"seq":1,"type":"x"}`,
		`{"seq":1,"type":"say \",\"msg\":","msg":"text"}`: `{"seq":1,"type":"say \",\"msg\":"}`,
		`{"seq":1,"ref":7}`:                               `{"seq":1,"ref":7}`,
		`{"type":"trace","version":1}`:                    `{"type":"trace","version":1}`,
		``:                                                ``,
	} {
		text := []byte(line)
		outline := trace.LineWithoutMessage(text)
		require.Equal(t, want, string(outline))
		for i := range outline {
			outline[i] = '!'
		}
		require.Equal(t, line, string(text), "the result shares no memory with the line")
	}
}

// FuzzEntryIsOneLine writes entries with arbitrary content: each becomes one line of the trace
// file, which can be parsed. What is no message has NoteMalformed, as the router sets it.
func FuzzEntryIsOneLine(f *testing.F) {
	f.Add([]byte(`{"type":"a","x":[1, 2]}`), "tx", true)
	f.Add([]byte("\x00\x01\x01\x00ctext\xff"), "\xff", false)
	f.Add([]byte(`{"type":"\ud800"}`), "", false)
	f.Add([]byte("A"), "", false)
	f.Fuzz(func(t *testing.T, body []byte, id string, malformed bool) {
		if _, err := protocol.NewEnvelopeDecoder().Decode(body); err != nil && len(body) > 0 {
			malformed = true
		}
		journal := trace.NewJournal(id)
		var file bytes.Buffer
		writer := trace.NewWriter(journal, &file, nil)
		entry := trace.Entry{Hop: trace.AgentToServer, Body: body}
		entry.TxID = id
		if malformed {
			entry.Note = trace.NoteMalformed
		}
		journal.Append(entry)
		journal.Close()
		require.NoError(t, writer.Run(t.Context()))
		require.Equal(t, 2, bytes.Count(file.Bytes(), []byte("\n")), "an entry is one line, whatever the body holds")
		n := 0
		_, err := trace.ReadRecords(&file, func(r trace.Record) error {
			n++
			require.Equal(t, len(body), r.BodyBytes)
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, 1, n)
	})
}
