package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"

	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/server/endpoint"
)

// How many runs, and attempts, a page has by default and at most.
const (
	defaultRunsPerPage = 50
	maxRunsPerPage     = 500
)

// RunPage is the response of GET /api/runs: runs, the newest first.
type RunPage struct {
	Runs      []runs.ListedRun `json:"runs"` // never null
	NextAfter *string          `json:"next"` // the "after" of the next page; null: this is the last page
}

// listRuns handles GET /api/runs.
func (h *Handlers) listRuns(w http.ResponseWriter, r *http.Request) error {
	q := endpoint.ReadParameters(r, "limit", "after")
	limit, after := q.Number("limit", defaultRunsPerPage, 1, maxRunsPerPage), q.Text("after")
	if err := q.Err(); err != nil {
		return err
	}
	listed, more, err := h.runs.List(r.Context(), after, int(limit))
	if err != nil {
		return err
	}
	page := RunPage{Runs: append([]runs.ListedRun{}, listed...)}
	if more {
		page.NextAfter = &listed[len(listed)-1].Name
	}
	endpoint.WriteJSON(w, http.StatusOK, page)
	return nil
}

// withRun returns a handler that opens the run named by the request's path, calls
// handler, and closes the run.
func (h *Handlers) withRun(handler func(http.ResponseWriter, *http.Request, *runs.Run) error) endpoint.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		run, err := h.runs.Open(r.PathValue("run"))
		if err != nil {
			return err
		}
		defer run.Close()
		return handler(w, r, run)
	}
}

// RunDetail is the response of GET /api/runs/{run}: all fields of run.json (see
// [runs.Info]) and these.
type RunDetail struct {
	Name    string      `json:"name"`    // of the run's folder
	Running []string    `json:"running"` // folders of the attempts without a line in attempts.jsonl; never null
	Summary runs.Counts `json:"summary"`

	info map[string]json.RawMessage // the fields of run.json
}

// MarshalJSON merges the fields of run.json with the others, in the order of their
// names.
func (d RunDetail) MarshalJSON() ([]byte, error) {
	fields := map[string]any{}
	for name, value := range d.info {
		fields[name] = value
	}
	fields["name"], fields["running"], fields["summary"] = d.Name, d.Running, d.Summary
	return protocol.Marshal(fields)
}

// getRun handles GET /api/runs/{run}.
func getRun(w http.ResponseWriter, r *http.Request, run *runs.Run) error {
	if err := endpoint.ReadParameters(r).Err(); err != nil {
		return err
	}
	counts, err := run.Counts(r.Context())
	if err != nil {
		return err
	}
	running, err := run.UnfinishedAttempts(r.Context())
	if err != nil {
		return err
	}
	endpoint.WriteJSON(w, http.StatusOK, RunDetail{
		Name: run.Name, Running: append([]string{}, running...), Summary: counts, info: run.RawInfo,
	})
	return nil
}

// getAttempt handles GET /api/runs/{run}/attempts/{attempt}: the attempt's line of
// attempts.jsonl, or [runs.UnfinishedAttempt] if it has none yet.
func getAttempt(w http.ResponseWriter, r *http.Request, run *runs.Run) error {
	if err := endpoint.ReadParameters(r).Err(); err != nil {
		return err
	}
	name := r.PathValue("attempt")
	line, err := run.AttemptLine(r.Context(), name)
	if errors.Is(err, runs.ErrNotFound) {
		began, err := run.UnfinishedAttempt(name)
		if err != nil {
			return err
		}
		endpoint.WriteJSON(w, http.StatusOK, began)
		return nil
	}
	if err != nil {
		return err
	}
	var item bytes.Buffer
	writeAttempt(&item, line)
	endpoint.WriteJSON(w, http.StatusOK, json.RawMessage(item.Bytes()))
	return nil
}
