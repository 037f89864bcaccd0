package server

import (
	"math"
	"net/http"
	"time"

	"assay/eval/session"
	"assay/internal/notebook"
	"assay/internal/protocol"
)

// moment is the notebook after an entry of its trace: what a view is told, and
// when that was.
type moment struct {
	Type     string    `json:"type"`
	Seq      int64     `json:"seq"`
	TNS      int64     `json:"t_ns"` // since the trace began
	Wall     time.Time `json:"wall"`
	End      int64     `json:"end"` // the newest entry of the trace
	Complete bool      `json:"complete"`
	Held     string    `json:"held,omitempty"` // console: cells are as its answers tell
	notebook.State
}

// at is GET {base}/at: the notebook after an entry, or after all there are.
func (a *tracesAPI) at(w http.ResponseWriter, r *http.Request, file traceFile) error {
	q := readParameters(r, "seq")
	seq := q.number("seq", math.MaxInt64, 0, math.MaxInt64)
	if q.err != nil {
		return q.err
	}
	header, err := file.header(r)
	if err != nil {
		return err
	}
	answer := moment{Type: protocol.TypeNotebookState, Complete: file.complete}
	if header != nil {
		answer.Wall = header.Started
	}
	var fold *session.NotebookFold
	history := a.histories.of(file.CacheKey())
	err = history.read(r.Context(), file, func() (err error) {
		answer.End = history.index.Len()
		answer.Seq = min(seq, answer.End)
		if answer.Seq > 0 {
			since := history.index.Time(answer.Seq)
			answer.TNS, answer.Wall = int64(since), answer.Wall.Add(since)
		}
		fold, err = history.at(r.Context(), file, answer.Seq)
		return err
	})
	if err != nil {
		return err
	}
	answer.State = fold.State()
	if fold.IsHeldByConsole() {
		answer.Held = "console"
	}
	answerJSON(w, http.StatusOK, answer)
	return nil
}
