//go:build bench

package bench_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"assay/internal/protocol"
)

// Roles of this test binary, which it plays in processes of their own: see measureGateway.
const (
	roleVendor = "vendor"
	roleRelay  = "relay"
	roleAgent  = "agent"
)

const (
	chunksPerReply = 40
	chunkInterval  = 20 * time.Millisecond // 50 tokens per second

	// repliesPerRound is how many replies each stream reads, one after the other, in a round.
	repliesPerRound = 3
	gatewayRounds   = 7
)

// playRole plays a role until its end, and reports whether args name one.
func playRole(args []string) bool {
	if len(args) < 2 {
		return false
	}
	var err error
	switch args[1] {
	case roleVendor:
		err = serveUntilStdinEnds(http.HandlerFunc(streamReply))
	case roleRelay:
		err = serveRelay(args[2])
	case roleAgent:
		err = measureStreamsAsAgent(args[2], args[3], args[4], args[5])
	default:
		return false
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// monotonicTime returns a time that all processes of the machine share.
func monotonicTime() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // cannot fail
	return now.Nano()
}

// serveUntilStdinEnds serves HTTP on loopback until stdin ends, and prints its port.
func serveUntilStdinEnds(handler http.Handler) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		return err
	}
	fmt.Println(port)
	go func() { _ = http.Serve(ln, handler) }()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// serveRelay passes on what a Messages API replies, piece by piece, and looks at nothing: a server that speaks HTTP on both
// sides cannot add less.
func serveRelay(api string) error {
	client := &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 128}}
	return serveUntilStdinEnds(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		reply, err := client.Post(api+r.URL.Path, r.Header.Get("Content-Type"), bytes.NewReader(body))
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer reply.Body.Close()
		maps.Copy(w.Header(), reply.Header)
		w.WriteHeader(reply.StatusCode)
		piece := make([]byte, 32<<10)
		for {
			n, err := reply.Body.Read(piece)
			_, _ = w.Write(piece[:n])
			_ = http.NewResponseController(w).Flush()
			if err != nil {
				return
			}
		}
	}))
}

// streamReply is a Messages API. Each piece of text of its reply is the time at which it was written.
func streamReply(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, fmt.Sprintf(format, args...))
		_ = http.NewResponseController(w).Flush()
	}
	send("message_start", `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}`)
	send("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
	for range chunksPerReply {
		<-time.After(chunkInterval)
		send("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"at %d."}}`, monotonicTime())
	}
	send("content_block_stop", `{"type":"content_block_stop","index":0}`)
	send("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":40}}`)
	send("message_stop", `{"type":"message_stop"}`)
}

// streamTimes are the times of one round, in nanoseconds.
type streamTimes struct {
	FirstByte []time.Duration // from the request to the first byte of the reply's body
	Chunk     []time.Duration // from the API's writing of a piece of text to its arrival
}

// streamRounds are the rounds of one number of streams.
type streamRounds struct{ Direct, Relay, Gateway []streamTimes }

// measureStreamsAsAgent is the agent of an attempt: it reads streamed replies in turns from the API directly, through the
// relay and from ANTHROPIC_BASE_URL, and writes what it has measured to a file, by number of streams.
func measureStreamsAsAgent(direct, relay, file, descriptor string) error {
	fd, err := strconv.Atoi(descriptor)
	if err != nil {
		return err
	}
	conn := protocol.NewStream(os.NewFile(uintptr(fd), "server"), 0)
	write := func(text string) { err = errors.Join(err, conn.Write([]byte(text))) }
	write(`{"type":"ready"}`)
	if _, readErr := conn.Read(); readErr != nil { // init
		return readErr
	}
	write(`{"type":"agent_status","status":"ready"}`)
	if _, readErr := conn.Read(); readErr != nil { // agent_query
		return readErr
	}
	measured := map[int]*streamRounds{}
	for _, streams := range []int{1, 50} {
		rounds := &streamRounds{}
		measured[streams] = rounds
		for i := range gatewayRounds + 1 {
			a, directErr := readStreams(direct, streams)
			b, relayErr := readStreams(relay, streams)
			c, gatewayErr := readStreams(os.Getenv("ANTHROPIC_BASE_URL"), streams)
			if err := errors.Join(directErr, relayErr, gatewayErr); err != nil {
				return err
			}
			if i > 0 { // the first round is a warm-up
				rounds.Direct, rounds.Relay, rounds.Gateway = append(rounds.Direct, a), append(rounds.Relay, b), append(rounds.Gateway, c)
			}
		}
	}
	text, marshalErr := json.Marshal(measured)
	if err := errors.Join(marshalErr, os.WriteFile(file, text, 0o600)); err != nil {
		return err
	}
	write(`{"type":"agent_status","status":"done"}`)
	for err == nil {
		_, err = conn.Read()
	}
	return nil
}

// readStreams reads repliesPerRound replies on each of some streams at the same time.
func readStreams(baseURL string, streams int) (streamTimes, error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: streams}}
	defer client.CloseIdleConnections()
	each := make([]streamTimes, streams)
	var all errgroup.Group
	for i := range streams {
		all.Go(func() error {
			<-time.After(chunksPerReply * chunkInterval * time.Duration(i) / time.Duration(streams)) // streams of agents are not in step
			for range repliesPerRound {
				if err := each[i].readReply(client, baseURL); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := all.Wait()
	var joined streamTimes
	for _, s := range each {
		joined.FirstByte, joined.Chunk = append(joined.FirstByte, s.FirstByte...), append(joined.Chunk, s.Chunk...)
	}
	return joined, err
}

func (s *streamTimes) readReply(client *http.Client, baseURL string) error {
	const body = `{"model":"m","max_tokens":1000,"stream":true,"messages":[{"role":"user","content":"go"}]}`
	request, err := http.NewRequest(http.MethodPost, baseURL+"/v1/messages", strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Api-Key", os.Getenv("ANTHROPIC_API_KEY"))
	began := monotonicTime()
	reply, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = reply.Body.Close() }()
	lines := bufio.NewReader(reply.Body)
	first, err := lines.ReadByte()
	s.FirstByte = append(s.FirstByte, time.Duration(monotonicTime()-began))
	if err != nil || reply.StatusCode != http.StatusOK {
		rest, _ := io.ReadAll(lines)
		return fmt.Errorf("%s: status %d: %c%s: %w", baseURL, reply.StatusCode, first, rest, err)
	}
	chunks := 0
	for {
		line, err := lines.ReadBytes('\n')
		now := monotonicTime()
		if errors.Is(err, io.EOF) && chunks == chunksPerReply {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: the reply broke off after %d of %d pieces: %w", baseURL, chunks, chunksPerReply, err)
		}
		if _, text, ok := bytes.Cut(line, []byte(`"text":"at `)); ok {
			text, _, _ = bytes.Cut(text, []byte("."))
			sent, err := strconv.ParseInt(string(text), 10, 64)
			if err != nil {
				return err
			}
			chunks++
			s.Chunk = append(s.Chunk, time.Duration(now-sent))
		}
	}
}

// measureGateway measures what the gateway of models adds to a streamed reply. Agent, server and vendor are processes.
func measureGateway(t *testing.T, r *report, p *assayProgram) {
	t.Helper()
	r.addSection("Calls of models through the gateway",
		fmt.Sprintf("An agent, `assay run`, a Messages API on loopback and a relay (which copies and looks at nothing), each in its\n"+
			"own process. The agent reads streamed replies of %d pieces, %v apart, from the API directly, through the relay and through the\n"+
			"gateway, in turns, %d rounds of %d replies per stream. *first byte*: from the request to the first byte of the reply's body.\n"+
			"*piece*: from its writing by the API to its arrival at the agent. What relay and gateway add to *direct* is the median of the\n"+
			"rounds' differences of p50 and p99: what the relay adds is what a further process costs on this machine.", chunksPerReply, chunkInterval, gatewayRounds, repliesPerRound))
	api := startServer(t, roleVendor)
	relay := startServer(t, roleRelay, api)

	dir := t.TempDir()
	cases, figures := filepath.Join(dir, "case.json"), filepath.Join(dir, "figures.json")
	require.NoError(t, os.WriteFile(cases, []byte(`{"id":"streams","task":"Read."}`), 0o600))
	run := exec.CommandContext(t.Context(), p.path, "run", cases, "--agent", fmt.Sprintf("%s %s %s %s %s", self(t), roleAgent, api, relay, figures),
		"--sandbox-agent=false", "--turns", "0", "--idle", "0", "--quiet", "--out", filepath.Join(dir, "run"))
	run.Env = append(os.Environ(), "ANTHROPIC_BASE_URL="+api, "ANTHROPIC_API_KEY=sk-ant-benchmark")
	output, err := run.CombinedOutput() // 1: nothing is submitted
	text, readErr := os.ReadFile(figures)
	require.NoError(t, readErr, "%v: %s", err, output)
	var measured map[int]*streamRounds
	require.NoError(t, json.Unmarshal(text, &measured))

	table := [][]string{{"streams", "", "direct p50", "p99", "relay adds p50", "p99", "gateway adds p50", "p99", "gateway over relay p50", "aim for the gateway"}}
	for _, streams := range []int{1, 50} {
		for _, of := range []struct {
			name, aim string
			times     func(streamTimes) []time.Duration
		}{
			{"first byte", "300 µs", func(s streamTimes) []time.Duration { return s.FirstByte }},
			{"piece", "50.0 µs", func(s streamTimes) []time.Duration { return s.Chunk }},
		} {
			rounds := measured[streams]
			added := func(p float64, to, by []streamTimes) string {
				var differences []time.Duration
				for i := range to {
					differences = append(differences, percentile(of.times(by[i]), p)-percentile(of.times(to[i]), p))
				}
				return formatDuration(max(0, median(differences)))
			}
			var direct []time.Duration
			for _, round := range rounds.Direct {
				direct = append(direct, of.times(round)...)
			}
			row := []string{
				strconv.Itoa(streams), of.name, formatDuration(median(direct)), formatDuration(percentile(direct, 99)),
				added(50, rounds.Direct, rounds.Relay), added(99, rounds.Direct, rounds.Relay),
				added(50, rounds.Direct, rounds.Gateway), added(99, rounds.Direct, rounds.Gateway),
				added(50, rounds.Relay, rounds.Gateway), of.aim,
			}
			table = append(table, row)
			t.Log(row)
		}
	}
	r.addTable(table...)
}

// self returns the path of this program.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return path
}

// startServer starts this program in a role that serves HTTP, and returns its URL. It ends with the test.
func startServer(t *testing.T, role ...string) string {
	t.Helper()
	server := exec.CommandContext(t.Context(), self(t), role...)
	stdin, err := server.StdinPipe()
	require.NoError(t, err)
	stdout, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = stdin.Close() // ends the process
		_ = server.Wait()
	})
	port, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	return "http://127.0.0.1:" + strings.TrimSpace(port)
}
