package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"assay/agent"
	"assay/internal/protocol"
)

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
	log       *frameLog // begins with the ready message
	outbox    outbox
	txIDs     txIDs
	script    script

	goroutines sync.WaitGroup
}

// script is what a situation changes in what a server does. It is set before the agent is started. The zero value
// changes nothing.
type script struct {
	// onAction gets each action of the agent, and our id for server.answer. It returns whether the action is not
	// to be carried out.
	onAction func(f frame, id string) (handled bool)

	// onMessage gets each message for the agent, and returns the messages to send in its place.
	onMessage func(body []byte) [][]byte

	withheld atomic.Pointer[withheldAction] // see withholdFirstAnswer
}

// startServer starts the agent in a new working folder and waits for its ready message.
func (c *check) startServer(ctx context.Context, s situation) (*server, error) {
	workdir, err := c.cfg.Supervisor.MkdirTemp(c.cfg.WorkdirRoot, "assay-check-")
	if err != nil {
		return nil, fmt.Errorf("make a working folder: %w", err)
	}
	p := &server{
		check: c, situation: s, socket: &socketTap{}, workdir: workdir, started: time.Now(), log: newFrameLog(),
		outbox: newOutbox(), txIDs: txIDs{byOurs: map[string]json.RawMessage{}},
	}
	p.notebook = newNotebookPeer(p)
	if s.prepare != nil {
		s.prepare(p)
	}
	cfg := c.cfg.Agent
	cfg.Workdir, cfg.Session, cfg.WrapSocket = workdir, "check-"+s.name, p.socket.wrap
	if c.cfg.NewModelServer != nil {
		cfg.ModelServer = c.cfg.NewModelServer()
	}
	if err = writeDataFile(workdir); err == nil {
		p.agent, err = agent.Start(ctx, c.cfg.Supervisor, cfg)
	}
	if err != nil {
		return nil, errors.Join(err, c.cfg.Supervisor.RemoveAll(workdir))
	}
	p.log.add(frame{Envelope: protocol.Envelope{Type: protocol.TypeReady}, body: p.agent.ReadyFrame, at: time.Now()})
	p.goroutines.Go(p.readFrames)
	p.goroutines.Go(func() { p.outbox.writeTo(p.agent) })
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
	close(p.outbox.stopped)
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
			p.log.end(err)
			return
		}
		f := frame{body: body, at: time.Now()}
		f.Envelope, f.malformed = decoder.Decode(body)
		isHandled, id := f.Type != protocol.TypeAgentAction, ""
		if !isHandled {
			id = p.txIDs.add(body)
			isHandled = p.script.onAction != nil && p.script.onAction(f, id)
		}
		p.log.add(f) // what waits for it finds what onAction has done
		if !isHandled {
			p.notebook.carryOut(f, id)
		}
	}
}

// txIDs are the tx_ids of the agent's actions. It is safe for concurrent use.
type txIDs struct {
	mu     sync.Mutex
	byOurs map[string]json.RawMessage // as the agent wrote them, by our own ids
}

// add returns our id for an action of the agent with this body, or "" if it has no tx_id and so gets no answer.
func (t *txIDs) add(body []byte) (ours string) {
	raw := rawTxID(body)
	if raw == nil {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	ours = fmt.Sprintf("tx_%d", len(t.byOurs)+1)
	t.byOurs[ours] = raw
	return ours
}

// get returns the agent's tx_id for our id; nil if there is none.
func (t *txIDs) get(ours string) json.RawMessage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byOurs[ours]
}

// rawTxID returns the tx_id of an action as the agent wrote it; nil if it has none.
func rawTxID(body []byte) json.RawMessage {
	raw := memberOf(body, "tx_id")
	if string(raw) == "null" || string(raw) == `""` {
		return nil
	}
	return raw
}

// answer sends the agent the answer to its action with our id. It does nothing if id is empty. The answer has the
// agent's tx_id as the agent wrote it, even if that is a number, so that this mistake does not hide others.
func (p *server) answer(id string, body []byte) {
	raw := p.txIDs.get(id)
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

// send sends the agent a message, which is encoded as JSON.
func (p *server) send(message any) {
	if body, err := protocol.Marshal(message); err == nil {
		p.sendBody(body)
	}
}

// sendBody queues a message for the agent.
func (p *server) sendBody(body []byte) {
	bodies := [][]byte{body}
	if p.script.onMessage != nil {
		bodies = p.script.onMessage(body)
	}
	for _, body := range bodies {
		p.outbox.put(body)
	}
}

// maxQueuedMessages is how many messages may wait for the agent. Past that, what sends them waits.
const maxQueuedMessages = 1024

// outbox has the messages that wait for the agent.
type outbox struct {
	messages chan []byte
	stopped  chan struct{} // closed when no more may be written
}

func newOutbox() outbox {
	return outbox{messages: make(chan []byte, maxQueuedMessages), stopped: make(chan struct{})}
}

// put queues a message. It does nothing once the outbox is stopped.
func (o outbox) put(body []byte) {
	select {
	case o.messages <- body:
	case <-o.stopped:
	}
}

// writeTo writes the queued messages to conn until the outbox is stopped. After an error, which the reader of
// conn gets too, it drops them.
func (o outbox) writeTo(conn protocol.Conn) {
	var err error
	for {
		select {
		case body := <-o.messages:
			if err == nil {
				err = conn.Write(body)
			}
		case <-o.stopped:
			return
		}
	}
}
