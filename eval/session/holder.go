package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/router"
)

// The errors of AttachHolder and AttachView, if the role that the console asks for is not
// free.
var (
	ErrHeldByOtherConsole = errors.New("another console holds this notebook")
	ErrHeldByServer       = errors.New(`the server holds this notebook: come with role "view"`)
	ErrHeldByConsole      = errors.New("a console holds this notebook, so the server has no cells to show")
)

// ConsoleIdentity identifies a console that connects to /agent: its numbers in the session and the name
// that it gives itself.
type ConsoleIdentity struct {
	ConnID    int    // number of this connection, unique in the session
	Name      string // name that the console gave; only of a holder
	RunConnID int    // number of the console's /run connection; 0 if it named none
}

// AttachHolder makes conn, a console's /agent connection, the holder of the document. If a
// console holds it already, only a console of the same name is accepted, and replaces it. It
// fails with ErrHeldByServer, ErrHeldByOtherConsole or, after the end of the session,
// router.ErrClosed.
func (s *Session) AttachHolder(conn protocol.Conn, console ConsoleIdentity) (*router.Peer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == StateEnded {
		return nil, router.ErrClosed
	}
	if s.isHolderDecidedLocked() {
		switch s.holderName {
		case console.Name:
		case "":
			return nil, ErrHeldByServer
		default:
			return nil, ErrHeldByOtherConsole
		}
	}
	peer, err := s.router.AttachHolder(conn, console.ConnID, console.Name, console.RunConnID)
	if err != nil {
		return nil, err
	}
	s.holderName = console.Name
	s.markHolderDecidedLocked()
	return peer, nil
}

// AttachView makes conn, a console's /agent connection, a view of the server's own document. If
// nobody holds the document yet, the server does from then on. Any number of views may be
// attached. It fails with ErrHeldByConsole or, after the end of the session, router.ErrClosed.
func (s *Session) AttachView(conn protocol.Conn, console ConsoleIdentity) (*router.Peer, error) {
	s.mu.Lock()
	err := router.ErrClosed
	if s.state != StateEnded {
		err = s.attachServerDocumentLocked()
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return s.router.AttachView(conn, console.ConnID, console.RunConnID, s.snapshotForView)
}

// snapshotForView returns the first message for a view, a notebook_state with the whole
// notebook, and a follower that continues the trace after it.
func (s *Session) snapshotForView() ([]byte, *trace.Follower) {
	var follower *trace.Follower
	state := s.snapshotNotebook(func() { follower = s.cfg.Journal.Follow() })
	return NotebookStateMessage(follower.LastSeq(), state), follower
}

// NotebookState returns a copy of the current notebook. If a console holds the document, the
// result has no cells, but the results of those that ran.
func (s *Session) NotebookState() notebook.State { return s.snapshotNotebook(func() {}) }

// snapshotNotebook returns a copy of the current notebook. It calls whileFrozen while no cell
// of the server's own document can change.
func (s *Session) snapshotNotebook(whileFrozen func()) (state notebook.State) {
	s.ownDocument.WithFrozenCells(func(cells []notebook.Cell) {
		whileFrozen()
		state.Cells = cells
	})
	state.Executions = s.executions.Snapshot()
	return state
}

// NotebookStateMessage returns the JSON of a notebook_state message with the notebook as it was
// after entry number seq of its trace.
func NotebookStateMessage(seq int64, state notebook.State) []byte {
	body, err := protocol.Marshal(struct {
		Type string `json:"type"`
		Seq  int64  `json:"seq"`
		notebook.State
	}{protocol.TypeNotebookState, seq, state})
	if err != nil { // cannot happen: state consists of strings, numbers and JSON that was parsed
		return fmt.Appendf(nil, `{"type":%q,"error":%q}`, protocol.TypeNotebookState, err.Error())
	}
	return body
}

// takeOverDocumentAfterDelay waits for the agent's first action on the document, and then
// Config.TakeOverDelay for a console. If none has connected by then, the server becomes the
// holder. It returns when ctx ends, which happens when the holder is decided. Actions that are
// not for the document, which have a note, are skipped.
func (s *Session) takeOverDocumentAfterDelay(ctx context.Context, follower *trace.Follower) {
	for {
		entry, err := follower.Next(ctx)
		if err != nil {
			return
		}
		if entry.Hop == trace.AgentToServer && entry.Type == protocol.TypeAgentAction && entry.Note == "" {
			break
		}
	}
	delay := time.NewTimer(s.cfg.TakeOverDelay)
	defer delay.Stop()
	select {
	case <-ctx.Done():
	case <-delay.C:
		s.mu.Lock()
		defer s.mu.Unlock()
		if err := s.attachServerDocumentLocked(); err != nil && !errors.Is(err, ErrHeldByConsole) {
			s.log.Error("the server could not take over the notebook", "error", err)
		}
	}
}

// attachServerDocumentLocked makes the server's own document the holder. It does nothing if it
// is that already. It fails with ErrHeldByConsole if a console is the holder, and with
// router.ErrClosed. The caller holds mu.
func (s *Session) attachServerDocumentLocked() error {
	if s.isHolderDecidedLocked() {
		if s.holderName != "" {
			return ErrHeldByConsole
		}
		return nil
	}
	routerEnd, documentEnd := protocol.Pipe()
	if _, err := s.router.AttachDocument(routerEnd); err != nil {
		return err
	}
	s.goroutines.Go(func() {
		if err := s.ownDocument.Serve(documentEnd); err != nil {
			s.log.Error("the server's document has failed", "error", err)
		}
		_ = documentEnd.Close(protocol.CloseNormal, "")
	})
	s.markHolderDecidedLocked()
	return nil
}

// HolderKind returns which kind of peer holds the document: "server", "console", or "" while
// that is not decided.
func (s *Session) HolderKind() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.isHolderDecidedLocked():
		return ""
	case s.holderName == "":
		return "server"
	default:
		return "console"
	}
}

// isHolderDecidedLocked reports whether it is decided that the server, or a console, holds the
// document. The caller holds mu.
func (s *Session) isHolderDecidedLocked() bool {
	select {
	case <-s.holderDecided:
		return true
	default:
		return false
	}
}

// markHolderDecidedLocked marks the holder of the document as decided, which releases AwaitHolder
// and stops takeOverDocumentAfterDelay. The caller holds mu and has set holderName.
func (s *Session) markHolderDecidedLocked() {
	if !s.isHolderDecidedLocked() {
		close(s.holderDecided)
		s.stopTakeOver()
	}
}

// AwaitHolder waits until the server or a console holds the document. There is no time limit; it
// fails when the agent's or the kernel's connection ends, or with the cause of ctx.
func (s *Session) AwaitHolder(ctx context.Context) error {
	current := s.currentChildren()
	select {
	case <-s.holderDecided:
		return nil
	case <-current.agentPeer.Done():
		return s.AgentError()
	case <-current.kernelPeer.Done():
		return s.KernelError()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
