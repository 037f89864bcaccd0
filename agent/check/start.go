package check

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"
)

// slowReadyDelay is the time to ready from which the handshake is reported as slow.
const slowReadyDelay = 10 * time.Second

// startSituations returns the situations about the start and the framing.
func startSituations() []situation {
	return []situation{
		{
			name: handshake, section: sectionStarting, startsItself: true, run: tryHandshake,
			rule: `send {"type":"ready"} first, and answer init with {"type":"agent_status","status":"ready"}`,
		},
		{
			name: query, section: sectionEvaluation, needs: handshake, run: tryQuery,
			rule: "end the turn with a submission, a message without tool use, or agent_status done",
		},
		{
			name: "init-in-pieces", section: sectionFraming, needs: query, startsItself: true, run: tryInitInPieces,
			rule: "read until all bytes of a frame have come: one read may return any part of it",
		},
		{
			name: "gzip", section: sectionFraming, needs: handshake, run: tryGzip,
			rule: "an agent whose first body is gzip gets gzip: unpack what the server sends",
		},
		{
			name: "large-numbers", section: sectionAgents, needs: query, startsItself: true, run: tryLargeNumbers,
			rule: "read session_id as an integer of up to 53 bits, and limits as numbers that may have fractions",
		},
	}
}

// earlyStatusDelay is how long the handshake withholds the init, in case the agent does not wait for it.
const earlyStatusDelay = 200 * time.Millisecond

// tryHandshake is the situation in which the agent is started and gets its init.
func tryHandshake(ctx context.Context, p *server) Finding {
	readyAfter := p.log.from(0)[0].at.Sub(p.started)
	if _, err := p.log.awaitFrame(ctx, 0, earlyStatusDelay, "no status", isReadyStatus); err == nil {
		return warn("it said agent_status ready before init came")
	}
	took, err := p.initialize(ctx, newInit(true))
	if err != nil {
		return p.failure(err)
	}
	if readyAfter > slowReadyDelay {
		f := warn("ready only after %v; the limit is %v", round(readyAfter), p.cfg.Agent.ReadyTimeout)
		f.Remedy = "send ready before what takes long, such as imports"
		return f
	}
	return pass("ready after %v, agent_status ready %v after init", round(readyAfter), round(took))
}

// round rounds a duration up to be shown.
func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Truncate(time.Millisecond) + time.Millisecond
	}
	return d.Round(100 * time.Millisecond)
}

// tryQuery is the situation in which the agent gets a query and all its actions succeed.
func tryQuery(ctx context.Context, p *server) Finding {
	start := time.Now()
	t, err := p.ask(ctx)
	switch {
	case err != nil:
		return p.failure(err)
	case len(t.fatalErrors) > 0:
		return fail("it %s", t.describe())
	}
	p.baseline = t
	if complaint := complaintAbout(t); complaint != "" {
		f := warn("it %s: %s", t.describe(), complaint)
		f.Remedy = "do what the query asks, and submit its answer as it says"
		return f
	}
	return pass("%s, in %v", t.describe(), round(t.lastAt.Sub(start)))
}

// complaintAbout returns what is wrong with the answer to the task that an agent has submitted in its turn; "" if nothing
// is, or if it was streamed.
func complaintAbout(t turn) string {
	if len(t.summaries) == 0 {
		if t.submissions() == 0 {
			return "an evaluation would have no answer"
		}
		return ""
	}
	_, rest, hasBegin := strings.Cut(t.summaries[0], "<EVAL_ANSWER>")
	text, _, hasEnd := strings.Cut(rest, "</EVAL_ANSWER>")
	var answer struct {
		Result float64 `json:"result"`
	}
	switch text = strings.TrimSpace(text); {
	case !hasBegin || !hasEnd:
		return "the summary has no <EVAL_ANSWER>…</EVAL_ANSWER>"
	case text == "":
		return "there is nothing between the <EVAL_ANSWER> tags"
	case json.Unmarshal([]byte(text), &answer) != nil || answer.Result != 42:
		return fmt.Sprintf(`the answer is %.100s, want {"result": 42}`, text)
	}
	return ""
}

// tryInitInPieces is the situation in which the init comes byte by byte.
func tryInitInPieces(ctx context.Context, p *server) Finding {
	p.socket.inPieces.Store(true)
	took, err := p.initialize(ctx, newInit(true))
	if err != nil {
		return p.failure(err)
	}
	p.socket.inPieces.Store(false)
	t, err := p.ask(ctx) // a status alone can come before the init was read
	if f := p.judge(t, err); f.Status != StatusPass {
		return f
	}
	return pass("init came byte by byte, agent_status ready after %v; it %s", round(took), t.describe())
}

// tryGzip is the situation in which the server mirrors whether the agent's first body is gzip.
func tryGzip(ctx context.Context, p *server) Finding {
	if !p.socket.startsWithGzip() {
		return pass("the agent's first body is plain, and so are the server's")
	}
	t, err := p.ask(ctx)
	if f := p.judge(t, err); f.Status != StatusPass {
		return f
	}
	return pass("the agent's first body is gzip, and so were the server's; %s", t.describe())
}

// maxSessionID is the largest integer that every reader of JSON takes exactly.
const maxSessionID = 1<<53 - 1

// tryLargeNumbers is the situation in which the numbers of the init are unusual.
func tryLargeNumbers(ctx context.Context, p *server) Finding {
	init := newInit(true)
	init.SessionID, init.Limits = maxSessionID, json.RawMessage(`{"wall_s":600.5,"idle_s":0,"cell_s":0.25,"turns":2147483648,"cost_usd":1e-3}`)
	if _, err := p.initialize(ctx, init); err != nil {
		return p.failure(err)
	}
	t, err := p.ask(ctx) // as above
	if f := p.judge(t, err); f.Status != StatusPass {
		return f
	}
	return pass("session_id %d and limits with fractions were taken; it %s", int64(maxSessionID), t.describe())
}

// pieceInterval is the time between two bytes of a message that is sent in pieces, so that the agent reads them
// apart.
const pieceInterval = time.Millisecond

// socketTap is the server's end of the socket. It keeps the beginning of what the agent sends, and can write byte
// by byte.
type socketTap struct {
	io.ReadWriteCloser
	inPieces atomic.Bool
	begin    bytes.Buffer // the first bytes that were read; complete after the first frame
}

// gzipBeginBytes is how many bytes of the stream show whether the first body is gzip: its length and the mark.
const gzipBeginBytes = 8 + 2

// wrap makes the tap carry what goes over socket.
func (s *socketTap) wrap(socket io.ReadWriteCloser) io.ReadWriteCloser {
	s.ReadWriteCloser = socket
	return s
}

// startsWithGzip reports whether the first body that was read is gzip. It may be called after the first frame.
func (s *socketTap) startsWithGzip() bool {
	return bytes.HasSuffix(s.begin.Bytes(), []byte{0x1f, 0x8b})
}

func (s *socketTap) Read(b []byte) (int, error) {
	n, err := s.ReadWriteCloser.Read(b)
	if missing := gzipBeginBytes - s.begin.Len(); missing > 0 {
		s.begin.Write(b[:min(n, missing)])
	}
	return n, err
}

func (s *socketTap) Write(b []byte) (int, error) {
	if !s.inPieces.Load() {
		return s.ReadWriteCloser.Write(b)
	}
	tick := time.NewTicker(pieceInterval)
	defer tick.Stop()
	for i := range b {
		if _, err := s.ReadWriteCloser.Write(b[i : i+1]); err != nil {
			return i, err
		}
		<-tick.C
	}
	return len(b), nil
}
