package router

import (
	"slices"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// The owner of a session is the attached /run console with the lowest number,
// which is the one that connected first; a console that reconnects gets its number
// again. Unless [Config] says otherwise, only the owner may run, stop and set
// things, edit the notebook, and talk to the agent. A connection at /agent belongs
// to the owner if it names the owner's /run connection; a holder that names none
// may do everything with the notebook it holds. This keeps people out of each
// other's way and is no protection: a client with the server's token can claim any
// number.

// recordIfFromOwner records a frame that only the session's owner may send. If p may send it, it
// returns the recorded frame and true. Otherwise it records the frame as dropped, sends p a
// not_session_owner_error and returns false.
func (r *Router) recordIfFromOwner(p *Peer, f frame) (recorded frame, allowed bool) {
	if r.isOwner(p) {
		return p.recordReceived(f, ""), true
	}
	p.recordReceived(f, trace.NoteDropped)
	why := "another console owns this session"
	if r.cfg.ReadOnly {
		why = "this session is only shown"
	}
	p.send(newFrame(protocol.ErrorResponse{Type: protocol.TypeNotSessionOwner, TxID: f.envelope.TxID, Data: protocol.ErrorResponseData{
		Message: f.envelope.Type + ": " + why + "; you can watch it and ask for summaries",
	}}))
	return f, false
}

// isOwner reports whether the console p may send what only the session's owner may. Every
// console may in a shared session, and none in a read-only one.
func (r *Router) isOwner(p *Peer) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	console, atRun := p.role.(*runConsoleRole)
	switch {
	case r.cfg.ReadOnly:
		return false
	case r.cfg.Shared:
		return true
	case atRun:
		return console == r.owner
	case p.pairedConsole != 0:
		return r.owner != nil && p.pairedConsole == r.owner.id
	default:
		return p == r.holder
	}
}

// wouldBeOwner reports whether a console with this number at /run will be the session's owner
// once it is attached: its number is the lowest, or the session is shared. It is false in a
// read-only session.
func (r *Router) wouldBeOwner(id int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	lowest := !slices.ContainsFunc(r.runConsoles, func(c *runConsoleRole) bool { return c.id < id })
	return !r.cfg.ReadOnly && (r.cfg.Shared || lowest)
}

// reassignOwner makes the lowest-numbered console at /run the session's owner and sends a new
// hello message to consoles whose ownership changed. It is called after a console was attached
// or has ended; the console that was just attached learns it from its first hello. It does
// nothing in a shared or read-only session. The caller holds kernelOrder.
func (r *Router) reassignOwner() {
	if r.cfg.Shared || r.cfg.ReadOnly {
		return
	}
	r.mu.Lock()
	previous := r.owner
	r.owner = nil
	displaced := false // the previous owner is still attached
	for _, console := range r.runConsoles {
		if r.owner == nil || console.id < r.owner.id {
			r.owner = console
		}
		displaced = displaced || console == previous
	}
	current := r.owner
	r.mu.Unlock()
	if current == previous {
		return
	}
	if displaced { // by a console that was just attached
		previous.sendHello(false)
		return
	}
	if current != nil && previous != nil {
		current.sendHello(true)
	}
}
