package server

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"assay/eval/session"
	"assay/internal/trace"
)

// sessionInfo is what the API says of a session.
type sessionInfo struct {
	ID       string     `json:"id"`
	State    phase      `json:"state"`
	Problem  string     `json:"problem,omitempty"` // why it could not start
	Working  string     `json:"working,omitempty"` // the state of the session itself
	Started  *time.Time `json:"started"`           // null: it has not
	Seq      int64      `json:"seq"`               // the newest entry of its trace
	Trace    string     `json:"trace,omitempty"`   // the file
	Kernel   *childInfo `json:"kernel"`            // null: none was started
	Consoles int        `json:"consoles"`
	Holder   string     `json:"holder,omitempty"` // server or console; empty: it is not settled
	Verdict  bool       `json:"verdict"`          // an attempt has ended, and consoles that come are told how
	Cases    int        `json:"cases"`            // attached, and waiting for their turn
}

// sessionDetail is what it says of one session.
type sessionDetail struct {
	sessionInfo

	Attempt *AttemptInfo    `json:"attempt"`          // null: none goes on
	Result  json.RawMessage `json:"result,omitempty"` // eval_result of one that has ended, as consoles are told

	// Previous is that of the attempt before, whose place another session has
	// taken: for who was not there to be told.
	Previous json.RawMessage `json:"previous,omitempty"`
}

type childInfo struct {
	PID      int    `json:"pid"`
	Status   string `json:"status"` // running or dead
	Language string `json:"language"`
}

// at tells where the slot is, and why its last session could not start.
func (sl *slot) at() (phase, string) {
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
func (sl *slot) info() sessionInfo {
	sl.mu.Lock()
	info := sessionInfo{ID: sl.id, State: sl.phase, Consoles: len(sl.sitting), Cases: len(sl.attempts)}
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
		info.Seq, _ = sc.recording.Journal.Last()
		info.Started = &sc.recording.Journal.Started
	}
	if sc.live != nil {
		info.describe(sc.live)
	}
	return info
}

// detail is all of it.
func (sl *slot) detail() sessionDetail {
	detail := sessionDetail{sessionInfo: sl.info()}
	sl.mu.Lock()
	defer sl.mu.Unlock()
	detail.Attempt, detail.Previous = sl.going, sl.before
	if sl.scene != nil && sl.going == nil {
		detail.Result = sl.scene.result
	}
	return detail
}

func (info *sessionInfo) describe(live *session.Session) {
	info.Working, info.Holder = string(live.State()), live.HolderKind()
	info.Kernel = &childInfo{PID: live.KernelPID(), Status: "dead", Language: live.KernelReady().Language}
	if live.IsKernelAlive() {
		info.Kernel.Status = "running"
	}
}

// serveSessions lists the sessions there are, and those of which only traces are
// left.
func (s *Server) serveSessions(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	infos := maps.Clone(s.slots)
	s.mu.Unlock()
	list := []sessionInfo{}
	for _, sl := range infos {
		list = append(list, sl.info())
	}
	for id, paths := range storedTraces(s.cfg.Out) {
		if infos[id] == nil {
			list = append(list, sessionInfo{ID: id, State: phaseStopped, Trace: paths[len(paths)-1]})
		}
	}
	slices.SortFunc(list, func(a, b sessionInfo) int { return cmp.Compare(a.ID, b.ID) })
	answerJSON(w, http.StatusOK, map[string]any{"sessions": list})
}

func (s *Server) serveSession(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if sl := s.known(id); sl != nil {
		answerJSON(w, http.StatusOK, sl.detail())
		return
	}
	if paths := storedTraces(s.cfg.Out)[id]; paths != nil {
		answerJSON(w, http.StatusOK, sessionDetail{sessionInfo: sessionInfo{ID: id, State: phaseStopped, Trace: paths[len(paths)-1]}})
		return
	}
	problem(w, http.StatusNotFound, codeNotFound, "there is no session "+strconv.Quote(id))
}
