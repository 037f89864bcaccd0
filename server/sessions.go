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
	ID           string      `json:"id"`
	State        HostState   `json:"state"`
	StartError   string      `json:"problem,omitempty"` // why the last session could not start; absent: it could
	SessionState string      `json:"working,omitempty"` // a session.State; absent: there is no session yet
	Started      *time.Time  `json:"started"`           // when the session started; null: it has not
	LastSeq      int64       `json:"seq"`               // of the newest entry of its trace
	TracePath    string      `json:"trace,omitempty"`   // path of its trace
	Kernel       *KernelInfo `json:"kernel"`            // null: no kernel was started
	ConsoleCount int         `json:"consoles"`          // connected at /run and /agent
	Holder       string      `json:"holder,omitempty"`  // who holds the notebook: server or console; absent: undecided
	HasResult    bool        `json:"verdict"`           // the session was that of an attempt, which has ended
	QueuedCases  int         `json:"cases"`             // attached cases that wait for their turn
}

// SessionDetail is the response of GET /api/sessions/{id}.
type SessionDetail struct {
	SessionInfo

	Attempt *AttemptInfo    `json:"attempt"`          // the attempt in progress; null: none
	Result  json.RawMessage `json:"result,omitempty"` // EvalResultMessage of the attempt that has ended here; absent: none

	// Previous is the EvalResultMessage of the attempt before the newest session,
	// for consoles that were not connected when it was sent; absent: none.
	PreviousResult json.RawMessage `json:"previous,omitempty"`
}

// KernelInfo describes the kernel process of a session.
type KernelInfo struct {
	PID      int    `json:"pid"`
	Status   string `json:"status"` // running or dead
	Language string `json:"language"`
}

// stateAndStartError returns the state, and why the last session could not start, or nil.
func (h *sessionHost) stateAndStartError() (HostState, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state, h.startErr
}

// newestRecording returns the recording of the newest instance, or nil.
func (h *sessionHost) newestRecording() *trace.Recording {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.instance == nil {
		return nil
	}
	return h.instance.recording
}

func (h *sessionHost) info() SessionInfo {
	h.mu.Lock()
	info := SessionInfo{ID: h.id, State: h.state, ConsoleCount: len(h.consoles), QueuedCases: len(h.queue)}
	if h.startErr != nil {
		info.StartError = h.startErr.Error()
	}
	instance := h.instance
	if instance != nil {
		info.HasResult = instance.result != nil
	}
	h.mu.Unlock()
	if instance == nil {
		return info
	}
	if instance.recording != nil {
		info.TracePath = instance.recording.Path
		info.LastSeq, _ = instance.recording.Journal.LastEntry()
		info.Started = &instance.recording.Journal.Started
	}
	if instance.live != nil {
		info.addSessionFields(instance.live)
	}
	return info
}

// addSessionFields fills in what a session itself knows.
func (info *SessionInfo) addSessionFields(live *session.Session) {
	info.SessionState, info.Holder = string(live.State()), live.HolderKind()
	info.Kernel = &KernelInfo{PID: live.KernelPID(), Status: "dead", Language: live.KernelReady().Language}
	if live.IsKernelAlive() {
		info.Kernel.Status = "running"
	}
}

func (h *sessionHost) detail() SessionDetail {
	detail := SessionDetail{SessionInfo: h.info()}
	h.mu.Lock()
	defer h.mu.Unlock()
	detail.Attempt, detail.PreviousResult = h.attempt, h.previousResult
	if h.instance != nil && h.attempt == nil {
		detail.Result = h.instance.result
	}
	return detail
}

// listSessions handles GET /api/sessions: the sessions, and the ids of which there
// are only stored traces.
func (s *Server) listSessions(w http.ResponseWriter, _ *http.Request) error {
	s.mu.Lock()
	hosts := maps.Clone(s.hosts)
	s.mu.Unlock()
	list := []SessionInfo{}
	for _, host := range hosts {
		list = append(list, host.info())
	}
	for id, paths := range storedTracePaths(s.cfg.TraceDir) {
		if hosts[id] == nil {
			list = append(list, storedSessionInfo(id, paths))
		}
	}
	slices.SortFunc(list, func(a, b SessionInfo) int { return cmp.Compare(a.ID, b.ID) })
	endpoint.WriteJSON(w, http.StatusOK, SessionList{Sessions: list})
	return nil
}

// getSession handles GET /api/sessions/{id}.
func (s *Server) getSession(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if host := s.sessionHostByID(id); host != nil {
		endpoint.WriteJSON(w, http.StatusOK, host.detail())
		return nil
	}
	if paths := storedTracePaths(s.cfg.TraceDir)[id]; paths != nil {
		endpoint.WriteJSON(w, http.StatusOK, SessionDetail{SessionInfo: storedSessionInfo(id, paths)})
		return nil
	}
	return endpoint.StatusErrorf(http.StatusNotFound, "there is no session %q", id)
}

// storedSessionInfo describes an id without a host, of which there are these traces,
// oldest first.
func storedSessionInfo(id string, paths []string) SessionInfo {
	return SessionInfo{ID: id, State: HostStopped, TracePath: paths[len(paths)-1]}
}
