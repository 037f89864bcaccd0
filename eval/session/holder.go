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

// Why a console is refused the role that it asks for.
var (
	ErrHeldByOtherConsole = errors.New("another console holds this notebook")
	ErrHeldByServer       = errors.New(`the server holds this notebook: come with role "view"`)
	ErrHeldByConsole      = errors.New("a console holds this notebook, and so the server has nothing to show")
)

// Console is who comes to /agent.
type Console struct {
	ConnID    int    // its number, which no other connection to the session has
	Name      string // what it calls itself; of a holder
	RunConnID int    // the number of its /run connection; 0: it has named none
}

// AttachHolder makes conn, a console's /agent connection, the holder of the document. The
// first console that comes decides for good who holds: after a holder only one of
// the same name may, and replaces it. When the session has ended it fails with
// router.ErrClosed for all.
func (s *Session) AttachHolder(conn protocol.Conn, who Console) (*router.Peer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == StateEnded {
		return nil, router.ErrClosed
	}
	if s.isHolderDecidedLocked() {
		switch s.holderName {
		case who.Name:
		case "":
			return nil, ErrHeldByServer
		default:
			return nil, ErrHeldByOtherConsole
		}
	}
	peer, err := s.router.AttachHolder(conn, who.ConnID, who.Name, who.RunConnID)
	if err != nil {
		return nil, err
	}
	s.holderName = who.Name
	s.decideHolderLocked()
	return peer, nil
}

// AttachView lets conn, a console's /agent connection, show the server's own document.
// Any number may, until the session has ended: then it is router.ErrClosed.
func (s *Session) AttachView(conn protocol.Conn, who Console) (*router.Peer, error) {
	s.mu.Lock()
	err := router.ErrClosed
	if s.state != StateEnded {
		err = s.attachOwnDocumentLocked()
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return s.router.AttachView(conn, who.ConnID, who.RunConnID, s.snapshotForView)
}

// snapshotForView is what a view is told first, and a follower that stands where that ends.
func (s *Session) snapshotForView() ([]byte, *trace.Follower) {
	var follow *trace.Follower
	state := s.snapshotNotebook(func() { follow = s.cfg.Journal.Follow() })
	return NotebookStateMessage(follow.LastSeq(), state), follow
}

// NotebookState returns what the notebook is at the moment. When a console holds the
// document it has no cells, but what ran in them.
func (s *Session) NotebookState() notebook.State { return s.snapshotNotebook(func() {}) }

// snapshotNotebook calls still while no cell changes.
func (s *Session) snapshotNotebook(still func()) (state notebook.State) {
	s.document.WithFrozenCells(func(cells []notebook.Cell) {
		still()
		state.Cells = cells
	})
	state.Executions = s.executions.Snapshot()
	return state
}

// NotebookStateMessage is the notebook_state of a notebook as it was at entry seq of its
// trace.
func NotebookStateMessage(seq int64, state notebook.State) []byte {
	body, err := protocol.Marshal(struct {
		Type string `json:"type"`
		Seq  int64  `json:"seq"`
		notebook.State
	}{protocol.TypeNotebookState, seq, state})
	if err != nil { // it is made of strings, numbers and JSON that was read
		return fmt.Appendf(nil, `{"type":%q,"error":%q}`, protocol.TypeNotebookState, err.Error())
	}
	return body
}

// takeOverAfterDelay makes the server hold the document when no console has come within its
// time after the agent's first action that is not the kernel's. ctx ends when one
// has.
func (s *Session) takeOverAfterDelay(ctx context.Context, follow *trace.Follower) {
	for {
		entry, err := follow.Next(ctx)
		if err != nil {
			return
		}
		if entry.Hop == trace.AgentToServer && entry.Type == protocol.TypeAgentAction && entry.Note == "" {
			break
		}
	}
	late := time.NewTimer(s.cfg.TakeOverDelay)
	defer late.Stop()
	select {
	case <-ctx.Done():
	case <-late.C:
		s.mu.Lock()
		defer s.mu.Unlock()
		if err := s.attachOwnDocumentLocked(); err != nil && !errors.Is(err, ErrHeldByConsole) {
			s.log.Error("the server could not take over the notebook", "error", err)
		}
	}
}

// attachOwnDocumentLocked makes the server's own document the one that answers, unless it is
// already. The lock is held.
func (s *Session) attachOwnDocumentLocked() error {
	if s.isHolderDecidedLocked() {
		if s.holderName != "" {
			return ErrHeldByConsole
		}
		return nil
	}
	ours, theirs := protocol.Pipe()
	if _, err := s.router.AttachDocument(ours); err != nil {
		return err
	}
	s.tasks.Go(func() {
		if err := s.document.Serve(theirs); err != nil {
			s.log.Error("the notebook broke off", "error", err)
		}
		_ = theirs.Close(protocol.CloseNormal, "")
	})
	s.decideHolderLocked()
	return nil
}

// HolderKind tells who holds the document: "server" or "console"; empty: that is not
// settled.
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

// isHolderDecidedLocked tells whether it is settled who holds the document. The lock is
// held.
func (s *Session) isHolderDecidedLocked() bool {
	select {
	case <-s.holderDecided:
		return true
	default:
		return false
	}
}

// decideHolderLocked settles it. The lock is held.
func (s *Session) decideHolderLocked() {
	if !s.isHolderDecidedLocked() {
		close(s.holderDecided)
		s.stopTakeOver()
	}
}

// AwaitHolder waits until it is settled who holds the document, however long
// that takes while kernel and agent live. Before that the agent is asked nothing.
func (s *Session) AwaitHolder(ctx context.Context) error {
	pair := s.currentChildren()
	select {
	case <-s.holderDecided:
		return nil
	case <-pair.agentPeer.Done():
		return s.AgentError()
	case <-pair.kernelPeer.Done():
		return s.KernelError()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
