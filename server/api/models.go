package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"

	"assay/eval/runs"
	"assay/internal/model/calllog"
	"assay/internal/trace"
	"assay/internal/trace/flow"
	"assay/server/endpoint"
)

// ModelRequest is the response of GET {base}/request: the request of a call of a model, with what
// its entry leaves out because an earlier request has it.
type ModelRequest struct {
	Seq     int64           `json:"seq"`  // of the entry
	Call    int64           `json:"call"` // number of the call
	Request json.RawMessage `json:"request"`
}

// serveModelRequest handles GET {base}/request: the request of the call whose entry the parameter
// "seq" names. It reads the calls before that one, to which the entry can refer.
func serveModelRequest(w http.ResponseWriter, r *http.Request, file TraceFile) error {
	q := endpoint.ReadParameters(r, "seq")
	seq := q.Number("seq", 1, 1, math.MaxInt64)
	if err := q.Err(); err != nil {
		return err
	}
	if _, err := file.header(r); err != nil {
		return err
	}
	var decoder calllog.Decoder
	for line, err := range file.LinesFrom(r.Context(), 1) {
		if err != nil {
			return err
		}
		isWanted := line.Number >= seq
		if !isModelCall(line.Text) {
			if isWanted {
				break
			}
			continue
		}
		var call calllog.Call
		if err := json.Unmarshal(trace.LineMessage(line.Text), &call); err != nil {
			return fmt.Errorf("entry %d: %w", line.Number, err)
		}
		request, err := decoder.Decode(call.Call, call.Stored)
		switch {
		case !isWanted: // an error is one of a call to which this one may not refer
		case err != nil:
			return fmt.Errorf("entry %d: %w", line.Number, err)
		default:
			endpoint.WriteJSON(w, http.StatusOK, ModelRequest{Seq: line.Number, Call: call.Call, Request: request})
			return nil
		}
	}
	return fmt.Errorf("%w: entry %d is no call of a model", runs.ErrNotFound, seq)
}

// isModelCall reports whether a line of a trace is the entry about a call of a model.
func isModelCall(line []byte) bool {
	outline, _, _ := bytes.Cut(line, []byte(`,"msg":`))
	return bytes.Contains(outline, []byte(`"hop":"agent>model","type":"model_call"`))
}

// serveStatistics handles GET {base}/stats: the statistics of the whole trace.
func (h *Handlers) serveStatistics(w http.ResponseWriter, r *http.Request, file TraceFile) error {
	if err := endpoint.ReadParameters(r).Err(); err != nil {
		return err
	}
	if _, err := file.header(r); err != nil {
		return err
	}
	var sum flow.Summary
	cached := h.traces.get(file.CacheKey())
	err := cached.update(r.Context(), file, func() error {
		sum = cached.index.Summary()
		return nil
	})
	if err != nil {
		return err
	}
	endpoint.WriteJSON(w, http.StatusOK, sum)
	return nil
}
