package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"assay/agent"
	"assay/internal/protocol"
)

// maxQueuedMessages is how many messages may wait for the agent. Past that, reading from the agent waits.
const maxQueuedMessages = 1024

// server plays a server to one process of the agent: it sends messages, records what the agent sends, and answers
// its actions. Its methods may be called concurrently.
type server struct {
	*check
	situation situation
	agent     *agent.Agent
	socket    *socketTap
	workdir   string
	started   time.Time // when the process was started
	notebook  *notebookPeer

	outgoing   chan []byte
	stopped    chan struct{} // closed by stop
	goroutines sync.WaitGroup

	// What a situation changes, before the agent is started; nil changes nothing. onAction gets each action of the agent,
	// and our id for server.answer, and returns whether the action is not to be carried out. onMessage gets each message for the
	// agent, and returns the messages to send in its place.
	onAction  func(f frame, id string) (handled bool)
	onMessage func(body []byte) [][]byte

	mu       sync.Mutex
	frames   []frame                    // that the agent has sent, from its ready on
	endErr   error                      // why its connection has ended; nil: it has not
	changed  chan struct{}              // closed and replaced with each change of frames and endErr
	pending  map[string]json.RawMessage // tx_ids of the agent's actions, as it wrote them, by ours
	txCount  int
	withheld *withheldAction // see withholdFirstAnswer; nil: none
}

// frame is one message of the agent.
type frame struct {
	protocol.Envelope
	body      []byte
	at        time.Time
	malformed error // why body is no message; nil: it is one
}

// startServer starts the agent in a new working folder and waits for its ready message.
func (c *check) startServer(ctx context.Context, s situation) (*server, error) {
	workdir, err := c.cfg.Supervisor.MkdirTemp(c.cfg.WorkdirRoot, "assay-check-")
	if err != nil {
		return nil, fmt.Errorf("make a working folder: %w", err)
	}
	p := &server{
		check: c, situation: s, workdir: workdir, socket: &socketTap{}, started: time.Now(),
		outgoing: make(chan []byte, maxQueuedMessages), stopped: make(chan struct{}), changed: make(chan struct{}), pending: map[string]json.RawMessage{},
	}
	p.notebook = newNotebookPeer(p)
	if s.prepare != nil {
		s.prepare(p)
	}
	cfg := c.cfg.Agent
	cfg.Workdir, cfg.Session, cfg.WrapSocket = workdir, "check-"+s.name, p.socket.wrap
	err = writeDataFile(workdir)
	if err == nil {
		p.agent, err = agent.Start(ctx, c.cfg.Supervisor, cfg)
	}
	if err != nil {
		return nil, errors.Join(err, c.cfg.Supervisor.RemoveAll(workdir))
	}
	p.frames = []frame{{Envelope: protocol.Envelope{Type: protocol.TypeReady}, body: p.agent.ReadyFrame, at: time.Now()}}
	p.goroutines.Go(p.readFrames)
	p.goroutines.Go(p.writeMessages)
	p.notebook.start(&p.goroutines)
	return p, nil
}

// dataFile is the file of the query, relative to the working folder.
const dataFile = "data/rows.csv"

// writeDataFile writes the file of the query into the working folder.
func writeDataFile(workdir string) error {
	path := filepath.Join(workdir, dataFile)
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte("a,b\n6,7\n"), 0o600)
}

// stop stops the agent and waits for the goroutines.
func (p *server) stop(ctx context.Context) error {
	close(p.stopped)
	err := p.agent.Stop(ctx)
	p.notebook.close()
	p.goroutines.Wait()
	return errors.Join(err, p.cfg.Supervisor.RemoveAll(p.workdir))
}

// readFrames records what the agent sends, and carries out its actions, until its connection ends.
func (p *server) readFrames() {
	decoder := protocol.NewEnvelopeDecoder()
	for {
		body, err := p.agent.Read()
		if err != nil {
			p.record(nil, err)
			return
		}
		f := frame{body: body, at: time.Now()}
		f.Envelope, f.malformed = decoder.Decode(body)
		isHandled, id := f.Type != protocol.TypeAgentAction, ""
		if !isHandled {
			id = p.addPending(f)
			isHandled = p.onAction != nil && p.onAction(f, id)
		}
		p.record(&f, nil) // what waits for it sees what onAction has done
		if !isHandled {
			p.notebook.carryOut(f, id)
		}
	}
}

// record adds a frame, or the end of the connection, and wakes what waits for one.
func (p *server) record(f *frame, endErr error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f != nil {
		p.frames = append(p.frames, *f)
	}
	p.endErr = endErr
	close(p.changed)
	p.changed = make(chan struct{})
}

// addPending returns our id for an action of the agent, or "" if it has no tx_id and so gets no answer. An answer
// has the agent's tx_id as the agent wrote it, even if that is a number, so that one mistake does not hide others.
func (p *server) addPending(f frame) string {
	raw := rawTxID(f.body)
	if raw == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.txCount++
	id := fmt.Sprintf("tx_%d", p.txCount)
	p.pending[id] = raw
	return id
}

// rawTxID returns the tx_id of an action as the agent wrote it; nil if it has none.
func rawTxID(body []byte) json.RawMessage {
	var action struct {
		TxID json.RawMessage `json:"tx_id"`
	}
	if err := json.Unmarshal(body, &action); err != nil || string(action.TxID) == "null" || string(action.TxID) == `""` {
		return nil
	}
	return action.TxID
}

// answer sends the agent the answer to its action with our id. It does nothing if id is empty.
func (p *server) answer(id string, body []byte) {
	p.mu.Lock()
	raw := p.pending[id]
	p.mu.Unlock()
	if raw == nil {
		return
	}
	if body, err := protocol.ReplaceFields(body, protocol.Field{Name: "type", Value: protocol.TypeActionResponse}, protocol.Field{Name: "tx_id", Value: raw}); err == nil {
		p.sendBody(body)
	}
}

// answerWith sends the agent an answer with these fields to its action with our id.
func (p *server) answerWith(id string, fields map[string]any) {
	if body, err := protocol.Marshal(fields); err == nil {
		p.answer(id, body)
	}
}

// answerError sends the agent the answer that its action with our id has failed.
func (p *server) answerError(id, text string) {
	p.answerWith(id, map[string]any{"status": protocol.StatusError, "error": text})
}

// send sends the agent a message, which is encoded as JSON.
func (p *server) send(message any) {
	if body, err := protocol.Marshal(message); err == nil {
		p.sendBody(body)
	}
}

// sendBody queues a message for the agent. It does nothing once the server is stopped.
func (p *server) sendBody(body []byte) {
	bodies := [][]byte{body}
	if p.onMessage != nil {
		bodies = p.onMessage(body)
	}
	for _, body := range bodies {
		select {
		case p.outgoing <- body:
		case <-p.stopped:
		}
	}
}

// writeMessages writes the queued messages to the agent until the server is stopped. After an error, which the
// reader sees too, it drops them.
func (p *server) writeMessages() {
	var err error
	for {
		select {
		case body := <-p.outgoing:
			if err == nil {
				err = p.agent.Write(body)
			}
		case <-p.stopped:
			return
		}
	}
}

// frameCount returns how many frames have come.
func (p *server) frameCount() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.frames)
}

// framesFrom returns the frames from number from on, a channel that is closed when there are more, and why the
// connection has ended, if it has.
func (p *server) framesFrom(from int) (frames []frame, changed <-chan struct{}, endErr error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.frames[from:len(p.frames):len(p.frames)], p.changed, p.endErr
}

// silentError is the error of a wait in which what was waited for has not come.
type silentError struct {
	what   string // such as "no agent_status ready"
	waited time.Duration
}

func (e *silentError) Error() string { return fmt.Sprintf("%s within %v", e.what, e.waited) }

// await waits until ready returns true for the frames from number from on. ready also returns when to ask again although
// no frame has come; zero: never. It fails with what, which names what has not come, after timeout, and when the connection or ctx
// ends.
func (p *server) await(ctx context.Context, from int, timeout time.Duration, what string, ready func(frames []frame) (isReady bool, again time.Time)) error {
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	for {
		frames, changed, endErr := p.framesFrom(from)
		isReady, at := ready(frames)
		if isReady {
			return nil
		}
		if endErr != nil {
			return endErr
		}
		var again <-chan time.Time
		if !at.IsZero() {
			again = time.After(time.Until(at))
		}
		select {
		case <-changed:
		case <-again:
		case <-deadline.C:
			return &silentError{what: what, waited: timeout}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// awaitFrame waits for a frame from number from on for which matches returns true.
func (p *server) awaitFrame(ctx context.Context, from int, timeout time.Duration, what string, matches func(frame) bool) (found frame, err error) {
	err = p.await(ctx, from, timeout, what, func(frames []frame) (bool, time.Time) {
		for _, f := range frames {
			if matches(f) {
				found = f
				return true, time.Time{}
			}
		}
		return false, time.Time{}
	})
	return found, err
}

// awaitEnd waits until the agent's connection has ended and returns why, or a silentError after timeout.
func (p *server) awaitEnd(ctx context.Context, timeout time.Duration) error {
	return p.await(ctx, 0, timeout, "its connection has not ended", func([]frame) (bool, time.Time) { return false, time.Time{} })
}
