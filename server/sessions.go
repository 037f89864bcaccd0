package server

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"time"

	"assay/eval/session"
	"assay/internal/trace"
	"assay/server/endpoint"
)

// SessionList is the response of GET /api/sessions.
type SessionList struct {
	Sessions []SessionInfo `json:"sessions"` // by id; never null
}

// SessionInfo describes what is behind a session's id: a session, or what is left
// of the last one.
type SessionInfo struct {
	ID       string      `json:"id"`
	State    HostState   `json:"state"`
	Problem  string      `json:"problem,omitempty"` // why the last session could not start; absent: it could
	Working  string      `json:"working,omitempty"` // a session.State; absent: there is no session yet
	Started  *time.Time  `json:"started"`           // when the session started; null: it has not
	Seq      int64       `json:"seq"`               // of the newest entry of its trace
	Trace    string      `json:"trace,omitempty"`   // path of its trace
	Kernel   *KernelInfo `json:"kernel"`            // null: no kernel was started
	Consoles int         `json:"consoles"`          // connections at /run and /agent
	Holder   string      `json:"holder,omitempty"`  // who holds the notebook: server or console; absent: undecided
	Verdict  bool        `json:"verdict"`           // the session was that of an attempt, which has ended
	Cases    int         `json:"cases"`             // attached cases that wait for their turn
}

// SessionDetail is the response of GET /api/sessions/{id}.
type SessionDetail struct {
	SessionInfo

	Attempt *AttemptInfo    `json:"attempt"`          // the attempt in progress; null: none
	Result  json.RawMessage `json:"result,omitempty"` // EvalResultMessage of the attempt that has ended here; absent: none

	// Previous is the EvalResultMessage of the attempt before the newest session,
	// for consoles that were not connected when it was sent; absent: none.
	Previous json.RawMessage `json:"previous,omitempty"`
}

// KernelInfo describes the kernel process of a session.
type KernelInfo struct {
	PID      int    `json:"pid"`
	Status   string `json:"status"` // running or dead
	Language string `json:"language"`
}

// at tells where the slot is, and why its last session could not start.
func (sl *slot) at() (HostState, string) {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	if sl.problem != nil {
		return sl.phase, sl.problem.Error()
	}
	return sl.phase, ""
}

// trace is that of the newest session; nil: there is none yet.
func (sl *slot) trace() *trace.Recording {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	if sl.scene == nil {
		return nil
	}
	return sl.scene.recording
}

// info is what the API says of the slot.
func (sl *slot) info() SessionInfo {
	sl.mu.Lock()
	info := SessionInfo{ID: sl.id, State: sl.phase, Consoles: len(sl.sitting), Cases: len(sl.attempts)}
	if sl.problem != nil {
		info.Problem = sl.problem.Error()
	}
	sc := sl.scene
	if sc != nil {
		info.Verdict = sc.result != nil
	}
	sl.mu.Unlock()
	if sc == nil {
		return info
	}
	if sc.recording != nil {
		info.Trace = sc.recording.Path
		info.Seq, _ = sc.recording.Journal.LastEntry()
		info.Started = &sc.recording.Journal.Started
	}
	if sc.live != nil {
		info.describe(sc.live)
	}
	return info
}

// detail is all of it.
func (sl *slot) detail() SessionDetail {
	detail := SessionDetail{SessionInfo: sl.info()}
	sl.mu.Lock()
	defer sl.mu.Unlock()
	detail.Attempt, detail.Previous = sl.going, sl.before
	if sl.scene != nil && sl.going == nil {
		detail.Result = sl.scene.result
	}
	return detail
}

func (info *SessionInfo) describe(live *session.Session) {
	info.Working, info.Holder = string(live.State()), live.HolderKind()
	info.Kernel = &KernelInfo{PID: live.KernelPID(), Status: "dead", Language: live.KernelReady().Language}
	if live.IsKernelAlive() {
		info.Kernel.Status = "running"
	}
}

// serveSessions lists the sessions there are, and those of which only traces are
// left.
func (s *Server) serveSessions(w http.ResponseWriter, _ *http.Request) error {
	s.mu.Lock()
	infos := maps.Clone(s.slots)
	s.mu.Unlock()
	list := []SessionInfo{}
	for _, sl := range infos {
		list = append(list, sl.info())
	}
	for id, paths := range storedTraces(s.cfg.TraceDir) {
		if infos[id] == nil {
			list = append(list, SessionInfo{ID: id, State: HostStopped, Trace: paths[len(paths)-1]})
		}
	}
	slices.SortFunc(list, func(a, b SessionInfo) int { return cmp.Compare(a.ID, b.ID) })
	endpoint.WriteJSON(w, http.StatusOK, SessionList{Sessions: list})
	return nil
}

func (s *Server) serveSession(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if sl := s.known(id); sl != nil {
		endpoint.WriteJSON(w, http.StatusOK, sl.detail())
		return nil
	}
	if paths := storedTraces(s.cfg.TraceDir)[id]; paths != nil {
		endpoint.WriteJSON(w, http.StatusOK, SessionDetail{SessionInfo: SessionInfo{ID: id, State: HostStopped, Trace: paths[len(paths)-1]}})
		return nil
	}
	return endpoint.Errorf(http.StatusNotFound, "there is no session %q", id)
}
