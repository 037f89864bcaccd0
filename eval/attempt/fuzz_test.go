package attempt_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/attempt"
	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/internal/trace"
)

// FuzzWatcher feeds the watcher arbitrary frames of all peers: it must not panic, and only a
// frame of the agent may complete an attempt.
//
// Each line of the input is a letter for the hop and a frame: a is agent>server, A
// server>agent, k kernel>server, K server>kernel, c console>server, s session.
func FuzzWatcher(f *testing.F) {
	for _, frames := range watcherFuzzSeeds() {
		f.Add([]byte(strings.Join(frames, "\n")))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		journal := trace.NewJournal("s")
		w := attempt.NewWatcher(journal, runs.Limits{WallTimeoutS: 0.003, IdleTimeoutS: 0.002, MaxTurns: 3, MaxActions: 5, MaxTokens: 100, MaxCostUSD: 1})
		defer w.Close()
		frames := appendFuzzEntries(journal, input)
		journal.Append(parseEntry(t, "session", `{"type":"peer_ended","action":"agent"}`))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		for range frames + 2 { // also after a verdict: further entries are counted
			outcome, detail, _ := w.NextVerdict(ctx)
			require.NotEqual(t, runs.OutcomeCancelled, outcome, "no verdict: a limit was missed")
			require.Contains(t, []runs.Outcome{
				"", runs.OutcomeCompleted, runs.OutcomeStopped, runs.OutcomeLimit, runs.OutcomeAskedQuestion, runs.OutcomeKernelExit, runs.OutcomeAgentExit, runs.OutcomeAgentError, runs.OutcomeConsoleLost,
			}, outcome)
			if outcome == runs.OutcomeCompleted {
				require.True(t, canHaveMarker(input), "%s", detail)
			}
			if outcome == runs.OutcomeLimit && strings.HasPrefix(detail, "wall") {
				break // all further verdicts are the same
			}
		}
	})
}

// appendFuzzEntries appends the frames of a fuzz input to the journal, as the router would, and
// returns how many it appended.
func appendFuzzEntries(journal *trace.Journal, input []byte) (frames int) {
	hops := map[byte]trace.Hop{
		'a': trace.AgentToServer, 'A': trace.ServerToAgent, 'k': trace.KernelToServer, 'K': trace.ServerToKernel,
		'c': trace.ConsoleToServer, 's': trace.HopSession,
	}
	decoder := protocol.NewEnvelopeDecoder()
	for line := range bytes.SplitSeq(input, []byte("\n")) {
		if len(line) < 2 || hops[line[0]] == "" {
			continue
		}
		e := trace.Entry{Hop: hops[line[0]], ConsoleID: 1, Body: line[1:]}
		env, err := decoder.Decode(e.Body)
		if err != nil {
			e.Note = trace.NoteMalformed
		}
		e.Envelope = env
		journal.Append(e)
		frames++
	}
	return frames
}

// canHaveMarker reports whether a frame of the agent may have the completion marker, in which
// characters may be escaped or which may be split over several frames.
func canHaveMarker(input []byte) bool {
	for line := range bytes.SplitSeq(input, []byte("\n")) {
		if bytes.HasPrefix(line, []byte("a")) && (bytes.ContainsAny(line, `\`) || bytes.Contains(line, []byte("[EVAL")) || bytes.Contains(line, []byte("agent_stream_delta"))) {
			return true
		}
	}
	return false
}

// watcherFuzzSeeds returns inputs for FuzzWatcher that together have frames of every kind.
func watcherFuzzSeeds() (seeds [][]string) {
	letters := strings.NewReplacer(
		"agent>server ", "a", "server>agent ", "A", "kernel>server ", "k", "server>kernel ", "K", "console>server#1 ", "c", "session#1 ", "s", "session ", "s")
	submitted := submissionFrame(`{"summary":"x ` + completionMarker + `","next_status":"done"}`)
	asks := submissionFrame(`{"summary":"x","questions":["which?"]}`)
	for _, frames := range [][]string{
		{submitted},
		{asks, asks},
		{submissionFrame(`{"summary":["` + completionMarker + `"],"questions":7,"next_status":{}}`)},
		{frameRunA, frameStartA, frameRunAction, frameRunAction, frameRunAccepted, frameRunRefused, submitted, frameResultA, frameResultA, frameAgentDone},
		{frameRunActionWithoutID, frameRunA, `server>kernel {"type":"dispose_cell","cell_id":"a"}`, `kernel>server {"type":"start_cell","cell_id":null}`, submitted},
		{`kernel>server {"type":"run_queue","queue":["a",7]}`, `kernel>server {"type":"run_queue","queue":"a"}`, `kernel>server {"type":"run_queue","queue":["a"]}`, frameAgentDone},
		{"kernel>server \x00\x01\x01\x00a" + completionMarker, `kernel>server {"type":"cell_output","output":"` + completionMarker + `"}`, submitted},
		{entryConsoleHolds, `session#1 {"type":"peer_ended","action":"console"}`, `console>server#1 {"type":"run_cell"}`, `session {"type":"peer_ended","action":"kernel"}`},
		append(submissionStreamFrames(`{"summary":"`+completionMarker+`"}`), frameStreamComplete, frameUpdateWithoutEntry, submitted),
		append(submissionStreamFrames(`{"summary":"`+completionMarker+`"`), `agent>server {"type":"agent_stream_delta","block_index":-1,"delta":[]}`, frameStreamStart, frameStreamError),
		{historyMessageFrame("assistant", `[null,7,{"type":"tool_use","name":null,"input":[]}]`), historyMessageFrame("assistant", `"bye"`), historyMessageFrame("user", `"`+completionMarker+`"`)},
		{`agent>server {"type":"agent_usage_update","input_tokens":9223372036854775807,"output_tokens":1,"cost_usd":1e308}`},
		{`agent>server {"type":"agent_usage_update","input_tokens":1.5}`, `agent>server {"type":"agent_event","metadata":{"type":"limit"},"text":"turns"}`, frameAgentDone},
		{`agent>server {"type":"agent_result","structured_output":{"summary":"` + completionMarker + `"}}`, `agent>server {"type":"agent_error","error":7}`},
		{`agent>server {"type":"agent_error","error":"bye","fatal":true}`, `agent>server []`, `agent>server {"type":"agent_history_updated","entry":[]}`},
	} {
		for i, frame := range frames {
			frames[i] = letters.Replace(frame)
		}
		seeds = append(seeds, frames)
	}
	return seeds
}
