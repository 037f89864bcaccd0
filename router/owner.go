package router

import (
	"slices"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// A session's owner is the console at /run that was connected first of those
// that are: the one with the least number, which a console that comes back gets
// again. Only the owner may run, stop and set things, edit, and talk to the
// agent, unless the Config says otherwise. An /agent connection belongs to the
// /run connection that it names; a holder that names none owns what it holds.
// All this keeps people out of each other's way: whoever has the token can claim
// any number.

// enterOwned enters what only the session's owner may send, and tells another that
// it may not.
func (r *Router) enterOwned(p *Peer, it item) (entered item, may bool) {
	if r.owns(p) {
		return p.enter(it, ""), true
	}
	p.enter(it, trace.NoteDropped)
	why := "another console owns this session"
	if r.cfg.ReadOnly {
		why = "this session is only shown"
	}
	p.send(message(protocol.Error{Type: protocol.TypeNotSessionOwner, TxID: it.env.TxID, Data: protocol.ErrorData{
		Message: it.env.Type + ": " + why + "; it may be watched, and asked for summaries",
	}}))
	return it, false
}

func (r *Router) owns(p *Peer) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.cfg.ReadOnly:
		return false
	case r.cfg.Shared:
		return true
	case p.greet != nil: // at /run
		return p == r.owner
	case p.tie != 0:
		return r.owner != nil && p.tie == r.owner.id
	default:
		return p == r.holder
	}
}

// willOwn tells whether a console with this number owns the session when it is
// attached.
func (r *Router) willOwn(id int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := !slices.ContainsFunc(r.consoles, func(c *Peer) bool { return c.id < id })
	return !r.cfg.ReadOnly && (r.cfg.Shared || first)
}

// succeed settles who owns the session after consoles have come or gone, and
// greets again those for whom that is news. kernelOrder is held.
func (r *Router) succeed() {
	if r.cfg.Shared || r.cfg.ReadOnly {
		return
	}
	r.mu.Lock()
	was := r.owner
	r.owner = nil
	displaced := false
	for _, console := range r.consoles {
		if r.owner == nil || console.id < r.owner.id {
			r.owner = console
		}
		displaced = displaced || console == was
	}
	now := r.owner
	r.mu.Unlock()
	if now == was {
		return
	}
	if displaced {
		was.send(was.greet(false))
		return // by one that has just come, and was told so
	}
	if now != nil && was != nil {
		now.send(now.greet(true))
	}
}
