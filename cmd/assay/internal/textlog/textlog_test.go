package textlog_test

import (
	"bytes"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/slogtest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/cmd/assay/internal/terminal"
	"assay/cmd/assay/internal/textlog"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/internal/trace/flow"
)

// newLog returns a logger that writes lines for people to out, from level info.
func newLog(out *bytes.Buffer) *slog.Logger {
	return slog.New(textlog.NewHandler(out, slog.LevelInfo, "default"))
}

// parseLogLine parses a line of the log into the nested maps that slogtest expects.
func parseLogLine(t *testing.T, line string) map[string]any {
	t.Helper()
	all := map[string]any{}
	parts := regexp.MustCompile(`^(?:(\d\d:\d\d:\d\d\.\d{3}) )?([A-Z]+) (\w+)(.*)$`).FindStringSubmatch(line)
	require.NotNil(t, parts, line)
	if parts[1] != "" {
		all[slog.TimeKey] = parts[1]
	}
	all[slog.LevelKey], all[slog.MessageKey] = parts[2], parts[3]
	for _, pair := range regexp.MustCompile(` (\S+?)=("(?:[^"\\]|\\.)*"|\S+)`).FindAllStringSubmatch(parts[4], -1) {
		path := strings.Split(pair[1], ".")
		at := all
		for _, group := range path[:len(path)-1] {
			inner, ok := at[group].(map[string]any)
			if !ok {
				inner = map[string]any{}
				at[group] = inner
			}
			at = inner
		}
		at[path[len(path)-1]] = pair[2]
	}
	return all
}

func TestHandlerKeepsTheRulesOfSlog(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	slogtest.Run(t, func(*testing.T) slog.Handler {
		out.Reset()
		return newLog(&out).Handler()
	}, func(t *testing.T) map[string]any {
		t.Helper()
		return parseLogLine(t, strings.TrimSuffix(out.String(), "\n"))
	})
}

func TestLogLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := newLog(&out)
	log.With("session", "s 1").WithGroup("g").Warn("deadline missed", "limit", 8*time.Second, "error", errors.New("no \"x\"\nat all"), "empty", "", "equal", "a=b")
	odd := slog.NewRecord(time.Now(), slog.LevelError, "odd\x1b[2J\nline", 0)
	odd.Add("key\n", "\x1b[2J", "text", "é→", "bidi", "\u202e", "bad", "\xff")
	require.NoError(t, log.Handler().Handle(t.Context(), odd))
	log.Debug("not logged")
	clock := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d\.\d\d\d `)
	require.Len(t, clock.FindAllString(out.String(), -1), 2)
	require.Equal(t, `WARN deadline missed g.limit=8s g.error="no \"x\"\nat all" g.empty="" g.equal="a=b" session="s 1"
ERROR odd`+"\uFFFD[2J\uFFFD"+`line "key\n"="\x1b[2J" text=é→ bidi="\u202e" bad="\xff"
`, clock.ReplaceAllString(out.String(), ""))
}

// The messages of a session (EH-9): after the time the lines are exactly these.
func TestLogLinesOfMessages(t *testing.T) {
	t.Parallel()
	journal, other := trace.NewJournal("default"), trace.NewJournal("0002-sum-e1-t1")
	follow, followOther := journal.Follow(), other.Follow()
	action := protocol.Envelope{Type: "agent_action", Action: "create_cell", TxID: "tx_1a2b3c4d5e6f"}
	edit := protocol.Envelope{Type: "agent_action", Action: "edit_cell", TxID: "tx_2", CellID: "c1"}
	forged := protocol.Envelope{Type: "agent_action", Action: "x\n12:00:00.000 [eval] y", TxID: "a b"}
	for _, entry := range []trace.Entry{
		{Hop: trace.AgentToServer, Envelope: action},
		{Hop: trace.AgentToServer, Envelope: edit},
		{Hop: trace.ServerToAgent, Envelope: protocol.Envelope{Type: "agent_action_response", TxID: "tx_2", Status: "error"}, Note: trace.NoteTimedOut},
		{Hop: trace.AgentToServer, Envelope: forged},
		{Hop: trace.AgentToServer, Note: trace.NoteMalformed},
		{Hop: trace.HopSession, Envelope: protocol.Envelope{Type: "state"}, Body: []byte(`{"state":"ended","cause":"it is\u001b[2J over"}`)},
	} {
		journal.Append(entry)
	}
	other.Append(trace.Entry{Hop: trace.AgentToServer, Envelope: action})
	journal.Close()
	other.Close()
	var out bytes.Buffer
	require.NoError(t, flow.LogSessionMessages(t.Context(), follow, newLog(&out)))
	require.NoError(t, flow.LogSessionMessages(t.Context(), followOther, newLog(&out).With("case", "sum")))
	require.Equal(t, `[eval] agent→console: agent_action create_cell tx_1a2b3c4d5e6f
[eval] agent→console: agent_action edit_cell tx_2 cell=c1
[eval] console→agent: agent_action_response tx_2 status=error (timed_out)
[eval] agent→console: agent_action "x\n12:00:00.000 [eval] y" "a b"
[eval] agent→console: (malformed)
[eval] session: state ended: it is`+"\uFFFD"+`[2J over
[eval] agent→console: agent_action create_cell tx_1a2b3c4d5e6f session=0002-sum-e1-t1 case=sum
`, regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d\.\d\d\d `).ReplaceAllString(out.String(), ""))
}

func FuzzHandler(f *testing.F) {
	f.Add("message", "key", "value")
	f.Add("a\nb", "k=\x1b", "\xff\u2028")
	f.Fuzz(func(t *testing.T, message, key, value string) {
		var out bytes.Buffer
		for _, text := range []string{message, flow.LogRecordMessage} {
			record := slog.NewRecord(time.Now(), slog.LevelWarn, text, 0)
			record.Add("direction", "agent→kernel", "detail", value, "action", value, key, value)
			require.NoError(t, newLog(&out).Handler().WithGroup(key).Handle(t.Context(), record))
		}
		lines := strings.Split(out.String(), "\n")
		require.Len(t, lines, 3, "one line per record")
		for _, line := range lines {
			require.Equal(t, line, terminal.Printable(line))
		}
	})
}
