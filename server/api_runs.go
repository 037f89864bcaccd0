package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"

	"assay/eval/runs"
)

const (
	// runsLimit and runsMost are how many runs, or attempts, an answer has by
	// default and at most.
	runsLimit = 50
	runsMost  = 500
)

// runsAPI answers what is asked about the runs in a folder. It is safe for
// concurrent use.
type runsAPI struct {
	store  *runs.Store
	traces *tracesAPI
}

// newRunsAPI returns the API of the runs in store, and of the traces in them.
func newRunsAPI(store *runs.Store, traces *tracesAPI) *runsAPI {
	return &runsAPI{store: store, traces: traces}
}

// register routes /api/runs and all below it.
func (a *runsAPI) register(mux *http.ServeMux) {
	get := func(path string, handler handlerFunc) {
		endpoint(mux, path, map[string]http.HandlerFunc{http.MethodGet: answering(a.traces.log, handler)})
	}
	const attempts = "/api/runs/{run}/attempts"
	get("/api/runs", a.list)
	get("/api/runs/{run}", a.inRun(a.run))
	get(attempts, a.inRun(a.attempts))
	get(attempts+"/{attempt}", a.inRun(a.attempt))
	a.traces.register(mux, attempts+"/{attempt}", a.openTrace)
	for path, name := range map[string]string{
		"state": "state.json", "notebook": "notebook.ipynb", "conversation": "conversation.jsonl", "stderr": "stderr.txt",
	} {
		get(attempts+"/{attempt}/"+path, a.inRun(a.shown(name)))
	}
	get(attempts+"/{attempt}/files/{name}", a.inRun(a.attached))
}

// inRun opens the run that a request's path names.
func (a *runsAPI) inRun(handler func(http.ResponseWriter, *http.Request, *runs.Run) error) handlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		run, err := a.store.Open(r.PathValue("run"))
		if err != nil {
			return err
		}
		defer run.Close()
		return handler(w, r, run)
	}
}

// list is GET /api/runs.
func (a *runsAPI) list(w http.ResponseWriter, r *http.Request) error {
	p := readParameters(r, "limit", "after")
	limit, after := p.number("limit", runsLimit, 1, runsMost), p.text("after")
	if p.err != nil {
		return p.err
	}
	page, more, err := a.store.List(r.Context(), after, int(limit))
	if err != nil {
		return err
	}
	answer := struct {
		Runs []runs.ListedRun `json:"runs"`
		Next *string          `json:"next"`
	}{Runs: append([]runs.ListedRun{}, page...)}
	if more {
		answer.Next = &page[len(page)-1].Name
	}
	answerJSON(w, http.StatusOK, answer)
	return nil
}

// run is GET /api/runs/{run}: run.json, and what the folder tells beside it.
func (a *runsAPI) run(w http.ResponseWriter, r *http.Request, run *runs.Run) error {
	if p := readParameters(r); p.err != nil {
		return p.err
	}
	counts, err := run.Counts(r.Context())
	if err != nil {
		return err
	}
	running, err := run.UnfinishedAttempts(r.Context())
	if err != nil {
		return err
	}
	answer := map[string]any{}
	for name, value := range run.RawInfo {
		answer[name] = value
	}
	answer["name"], answer["summary"], answer["running"] = run.Name, counts, append([]string{}, running...)
	answerJSON(w, http.StatusOK, answer)
	return nil
}

// attempt is GET /api/runs/{run}/attempts/{attempt}.
func (a *runsAPI) attempt(w http.ResponseWriter, r *http.Request, run *runs.Run) error {
	if p := readParameters(r); p.err != nil {
		return p.err
	}
	name := r.PathValue("attempt")
	line, err := run.AttemptLine(r.Context(), name)
	if errors.Is(err, runs.ErrNotFound) {
		return a.began(w, run, name)
	}
	if err != nil {
		return err
	}
	var item bytes.Buffer
	writeAttempt(&item, line)
	answerJSON(w, http.StatusOK, json.RawMessage(item.Bytes()))
	return nil
}

// began answers with an attempt that has no line yet.
func (a *runsAPI) began(w http.ResponseWriter, run *runs.Run, name string) error {
	began, err := run.UnfinishedAttempt(name)
	if err != nil {
		return err
	}
	answerJSON(w, http.StatusOK, began)
	return nil
}
