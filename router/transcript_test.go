package router_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
)

// TestTranscripts plays the conversations in testdata/*.txt. A line that begins
// with "> " is a command; the lines up to the next command are what came of it:
// what each peer was sent, then the new entries of the trace. With -update the
// files are rewritten. The commands:
//
//	> attach agent|kernel|old-kernel|serving-kernel|plotting-kernel|holder|console|console2|view|document [NUMBER]
//	> agent|kernel|holder|console|console2|view {message}
//	> end agent|kernel|holder|console
//	> wait 8s
//	> refuse TEXT
//
// Peers are numbered in the order in which they are attached. NUMBER gives a
// console another number; for a view or holder it is the number of the same
// console's connection at /run. Ids that the router makes are written eval_1,
// eval_2 and so on in both directions.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			var got string
			synctest.Test(t, func(t *testing.T) { got = playTranscript(t, string(want)) })
			if flag.Lookup("update").Value.String() == "true" {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
				return
			}
			require.Equal(t, string(want), got)
		})
	}
}

// playTranscript carries out the commands of a transcript and returns its text with the results
// after each command.
func playTranscript(t *testing.T, script string) string {
	t.Helper()
	h := newHarness(t)
	var out strings.Builder
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "#") || line == "":
			out.WriteString(line + "\n")
		case strings.HasPrefix(line, "> "):
			out.WriteString(line + "\n")
			h.executeCommand(strings.TrimPrefix(line, "> "))
			out.WriteString(h.takeMessagesAndEntries())
		}
	}
	h.router.Close(protocol.CloseGoingAway, "the test is over")
	for _, a := range h.peers {
		_ = a.conn.Close(protocol.CloseNormal, "")
	}
	h.goroutines.Wait()
	return out.String()
}

// executeCommand carries out one command of a transcript and waits until all goroutines are
// blocked.
func (h *harness) executeCommand(command string) {
	what, rest, _ := strings.Cut(command, " ")
	switch what {
	case "attach":
		h.attachListeningPeer(rest)
	case "end":
		require.NoError(h.t, h.peers[rest].conn.Close(protocol.CloseNormal, ""))
	case "wait":
		d, err := time.ParseDuration(rest)
		require.NoError(h.t, err)
		<-time.After(d)
	case "refuse":
		h.router.RefuseActions(rest)
	default:
		body := []byte(h.restoreRandomIDs(rest))
		if text, raw := strings.CutPrefix(rest, "raw "); raw {
			body = protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: protocol.Stdout, CellID: "cell-1", Text: []byte(text)})
		}
		require.NoError(h.t, h.peers[what].conn.Write(body))
	}
	synctest.Wait()
}
