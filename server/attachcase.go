package server

import (
	"encoding/json"
	"io"
	"net/http"

	"assay/server/api"
	"assay/server/endpoint"
)

// maxCaseRequestBytes is the size of the largest body of a request that attaches a
// case.
const maxCaseRequestBytes = 64 << 10

// CaseRequest is the body of POST /api/sessions/{id}/case: attach the case with
// this CaseID in the file Path, or all its cases if CaseID is empty.
type CaseRequest struct {
	CasePath string `json:"path"`
	CaseID   string `json:"id"`
}

// CaseAttached is the response (202) of POST /api/sessions/{id}/case.
type CaseAttached struct {
	CaseID    string `json:"id"`   // as requested
	CasePath  string `json:"path"` // as requested
	SessionID string `json:"session"`
}

func errNoCases() error {
	return endpoint.StatusErrorf(http.StatusConflict, "no cases can be attached here: assay serve --case PATH says where they are")
}

// listCases returns the cases that GET /api/cases lists.
func (s *Server) listCases() ([]api.Case, error) {
	if s.cfg.ListCases == nil {
		return nil, errNoCases()
	}
	return s.cfg.ListCases()
}

// attachCase handles POST /api/sessions/{id}/case.
func (s *Server) attachCase(w http.ResponseWriter, r *http.Request) error {
	var request CaseRequest
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCaseRequestBytes))
	if err == nil {
		err = json.Unmarshal(body, &request)
	}
	if err != nil {
		return endpoint.StatusErrorf(http.StatusBadRequest, "want {\"path\": …, \"id\": …}: %v", err)
	}
	if s.cfg.PrepareCase == nil {
		return errNoCases()
	}
	id := r.PathValue("id")
	attempts, err := s.cfg.PrepareCase(request.CasePath, request.CaseID)
	if err == nil {
		err = s.QueueAttempts(id, attempts)
	}
	if err != nil {
		return endpoint.StatusErrorf(http.StatusBadRequest, "%v", err)
	}
	endpoint.WriteJSON(w, http.StatusAccepted, CaseAttached{CaseID: request.CaseID, CasePath: request.CasePath, SessionID: id})
	return nil
}
