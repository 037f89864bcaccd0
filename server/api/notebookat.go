package api

import (
	"math"
	"net/http"
	"time"

	"assay/eval/session"
	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/server/endpoint"
)

// NotebookAt is the response of GET {base}/at: the notebook_state message that a
// view would have received after the entry Seq, and when that was.
type NotebookAt struct {
	Type       string    `json:"type"`           // notebook_state
	Seq        int64     `json:"seq"`            // of the entry; 0: before the first
	ElapsedNS  int64     `json:"t_ns"`           // time of the entry since the trace began, in ns
	WallTime   time.Time `json:"wall"`           // time of the entry
	NewestSeq  int64     `json:"end"`            // seq of the newest entry of the trace
	IsComplete bool      `json:"complete"`       // the trace has ended
	HeldBy     string    `json:"held,omitempty"` // "console": a console held the notebook, and the cells are pieced together from its answers
	notebook.State
}

// serveNotebookAt handles GET {base}/at: the notebook after the entry that the
// parameter "seq" names, by default after the newest.
func (h *Handlers) serveNotebookAt(w http.ResponseWriter, r *http.Request, file TraceFile) error {
	q := endpoint.ReadParameters(r, "seq")
	seq := q.Number("seq", math.MaxInt64, 0, math.MaxInt64)
	if err := q.Err(); err != nil {
		return err
	}
	header, err := file.header(r)
	if err != nil {
		return err
	}
	answer := NotebookAt{Type: protocol.TypeNotebookState, IsComplete: file.IsComplete}
	if header != nil {
		answer.WallTime = header.Started
	}
	var fold *session.NotebookFold
	cached := h.traces.get(file.CacheKey())
	err = cached.update(r.Context(), file, func() (err error) {
		answer.NewestSeq = cached.index.EntryCount()
		answer.Seq = min(seq, answer.NewestSeq)
		if answer.Seq > 0 {
			since := cached.index.ElapsedAt(answer.Seq)
			answer.ElapsedNS, answer.WallTime = int64(since), answer.WallTime.Add(since)
		}
		fold, err = cached.notebookAt(r.Context(), file, answer.Seq)
		return err
	})
	if err != nil {
		return err
	}
	answer.State = fold.State()
	if fold.IsHeldByConsole() {
		answer.HeldBy = "console"
	}
	endpoint.WriteJSON(w, http.StatusOK, answer)
	return nil
}
