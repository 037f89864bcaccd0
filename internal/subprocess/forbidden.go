package subprocess

import (
	"maps"
	"slices"

	"assay/internal/peers"
)

// Guard returns the Guard that recognises this Supervisor's subprocesses, and those of other
// servers.
func (s *Supervisor) Guard() *peers.Guard { return s.guard }

// ReportForbidden handles the attempt of a process to connect where it may not, such as "a
// connection to the page": it logs it, and calls Spec.OnForbidden of the subprocess that peer
// belongs to, if it is one of this Supervisor.
func (s *Supervisor) ReportForbidden(peer peers.Peer, what string) {
	s.log.Warn("refused", "tried", what, "peer", peer.String())
	if p := s.processOf(peer); p != nil && p.onForbidden != nil {
		p.onForbidden(what)
	}
}

// NameOf returns Spec.Name of the running subprocess that peer belongs to, or "" if it belongs to
// none of this Supervisor.
func (s *Supervisor) NameOf(peer peers.Peer) string {
	if p := s.processOf(peer); p != nil {
		return p.name
	}
	return ""
}

// processOf returns the running subprocess that is peer or has started it, or nil.
func (s *Supervisor) processOf(peer peers.Peer) *Process {
	s.liveMu.Lock()
	live := slices.Collect(maps.Keys(s.live))
	s.liveMu.Unlock()
	for _, p := range live {
		if peer.IsWithin(p.cgroupDir, p.PID()) {
			return p
		}
	}
	return nil
}

func (s *Supervisor) addLive(p *Process) {
	s.liveMu.Lock()
	defer s.liveMu.Unlock()
	s.live[p] = true
	s.countMemorySharersLocked()
}

func (s *Supervisor) removeLive(p *Process) {
	s.liveMu.Lock()
	defer s.liveMu.Unlock()
	delete(s.live, p)
}
