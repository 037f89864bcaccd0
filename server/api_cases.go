package server

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
)

const (
	// caseLimit is the largest body of a request that attaches a case, in bytes.
	caseLimit = 64 << 10

	// casesLimit and casesMost are how many cases an answer has by default and at
	// most, and taskShown how much of each one's task, in characters.
	casesLimit = 500
	casesMost  = 5000
	taskShown  = 300

	noCases = "no cases can be attached here: assay serve --case PATH says where they are"
)

// CaseListed is a case that may be attached.
type CaseListed struct {
	Path string   `json:"path"` // of its file
	ID   string   `json:"id"`
	Task string   `json:"task"`
	Tags []string `json:"tags"`
}

// serveCases lists the cases that may be attached.
func (s *Server) serveCases(w http.ResponseWriter, r *http.Request) error {
	q := readParameters(r, "limit", "after")
	after, limit := q.number("after", 0, 0, math.MaxInt32), q.number("limit", casesLimit, 1, casesMost)
	if q.err != nil {
		return q.err
	}
	if s.cfg.Cases == nil {
		problem(w, http.StatusConflict, codeConflict, noCases)
		return nil
	}
	all, err := s.cfg.Cases()
	if err != nil {
		return err
	}
	answer := struct {
		Cases []CaseListed `json:"cases"`
		Next  *int64       `json:"next"`
	}{Cases: []CaseListed{}}
	count := int64(len(all))
	end := min(after+limit, count)
	for _, c := range all[min(after, count):end] {
		if task := []rune(c.Task); len(task) > taskShown {
			c.Task = string(task[:taskShown])
		}
		c.Tags = append([]string{}, c.Tags...)
		answer.Cases = append(answer.Cases, c)
	}
	if end < count {
		answer.Next = &end
	}
	answerJSON(w, http.StatusOK, answer)
	return nil
}

// serveCase attaches a case to a session: {"path": …, "id": …}.
func (s *Server) serveCase(w http.ResponseWriter, r *http.Request) {
	var wanted struct {
		Path string `json:"path"`
		ID   string `json:"id"`
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, caseLimit))
	if err == nil {
		err = json.Unmarshal(body, &wanted)
	}
	switch {
	case err != nil:
		problem(w, http.StatusBadRequest, codeBadParameter, "want {\"path\": …, \"id\": …}: "+err.Error())
		return
	case s.cfg.Case == nil:
		problem(w, http.StatusConflict, codeConflict, noCases)
		return
	}
	attempts, err := s.cfg.Case(wanted.Path, wanted.ID)
	if err == nil {
		err = s.Attempt(r.PathValue("id"), attempts)
	}
	if err != nil {
		problem(w, http.StatusBadRequest, codeBadParameter, err.Error())
		return
	}
	answerJSON(w, http.StatusAccepted, map[string]any{"session": r.PathValue("id"), "path": wanted.Path, "id": wanted.ID})
}
