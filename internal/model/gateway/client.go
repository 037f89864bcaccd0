package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"assay/internal/model"
	"assay/internal/model/endpoint"
	"assay/internal/model/wire"
)

// replyByClient has the client of a model reply, in the format in which the agent has asked.
func (c *call) replyByClient(w *replyWriter, r *http.Request, m *Model) {
	if m.Client == nil {
		c.fail(w, http.StatusNotFound, "not_found_error", fmt.Sprintf("the model %s does not speak the API of %s", m.Name, r.URL.Path))
		return
	}
	request, err := wire.DecodeRequest(c.api, c.body)
	if err != nil {
		c.fail(w, http.StatusBadRequest, "invalid_request_error", fmt.Sprintf("this cannot be asked of %s: %v", m.Name, err))
		return
	}
	request.Model = ""                                                // the client's
	request.Thinking, request.ReasoningEffort = nil, ""               // each vendor has another setting
	request.Turn, _ = strconv.Atoi(r.Header.Get(endpoint.TurnHeader)) // 0 without the header
	out := wire.NewReplyWriter(w, c.api, c.envelope, "call_"+strconv.FormatInt(c.number, 10))
	ctx, cancel := c.endpoint.outlive(r.Context())
	defer cancel()
	response, err := m.Client.Complete(ctx, request, func(d model.Delta) {
		c.noteTraffic()
		out.WriteDelta(d)
	})
	c.reply.Response = response
	if err != nil {
		c.failByClient(w, r, out, err)
		return
	}
	c.noteTraffic()
	c.reply.IsComplete = true
	if err := out.Finish(response); err != nil {
		c.giveUp()
	}
}

// failByClient answers a call for which the client of a model had no reply. A reply that broke off
// breaks off for the agent, too.
func (c *call) failByClient(w *replyWriter, r *http.Request, out *wire.ReplyWriter, err error) {
	if r.Context().Err() != nil {
		c.giveUp()
		c.abort()
	}
	c.slot.Release() // before the agent repeats the call
	c.reply.Error = oneLine(err.Error())
	c.reply.IsRefusedByVendor = model.IsTransient(err)
	if refused, isRefusal := errors.AsType[*model.APIError](err); isRefusal {
		c.reply.RetryAfter, c.reply.APIError = refused.RetryAfter, refused
		out.Fail(refused)
		return
	}
	if errors.Is(err, model.ErrCutStream) && w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	status := statusOfFailure(err)
	if !model.IsTransient(err) {
		status = http.StatusBadRequest // calling again does not help
	}
	out.Fail(&model.APIError{Status: status, Type: model.ErrorTypeOfStatus(status), Message: err.Error()})
}

// serveTokenCount forwards a request to count the tokens of a prompt. It is no call: nothing is
// counted or limited.
func (e *Endpoint) serveTokenCount(w http.ResponseWriter, r *http.Request) {
	body, status, err := e.readBody(w, r)
	if err != nil {
		e.reject(w, r, wire.Messages, status, err.Error())
		return
	}
	defer e.bodies.Release(int64(len(body)))
	if err := e.checkHosted(wire.Messages, body); err != nil {
		e.reject(w, r, wire.Messages, http.StatusBadRequest, err.Error())
		return
	}
	envelope, err := wire.ReadEnvelope(wire.Messages, body)
	vendor, hasVendor := e.cfg.Vendors[wire.Messages.Provider()]
	if m := e.cfg.Model; err == nil && envelope.Model == ModelName {
		hasVendor = m != nil && m.Provider == wire.Messages.Provider()
		if hasVendor {
			vendor = m.Vendor
			body, err = wire.WithModel(body, m.ID)
		}
	}
	switch {
	case err != nil:
		e.reject(w, r, wire.Messages, http.StatusBadRequest, err.Error())
	case !hasVendor:
		e.reject(w, r, wire.Messages, http.StatusNotFound, "the tokens of this model's prompts cannot be counted")
	default:
		e.relay(w, r, wire.Messages, vendor, body)
	}
}

// serveModels answers a request about models: with the vendor's if there is a key. Else the list has the
// model "assay", if there is one.
func (e *Endpoint) serveModels(w http.ResponseWriter, r *http.Request, api wire.API) {
	vendor, hasVendor := e.cfg.Vendors[api.Provider()]
	var ids []string
	if e.cfg.Model != nil || e.cfg.Replayer != nil {
		ids = []string{ModelName}
	}
	switch id, isOne := strings.CutPrefix(r.URL.Path, modelsPath+"/"); {
	case r.Method != http.MethodGet:
		e.reject(w, r, api, http.StatusMethodNotAllowed, "the method must be GET")
	case isOne && slices.Contains(ids, id):
		wire.WriteModel(w, api.Provider(), id)
	case hasVendor && e.cfg.Replayer == nil:
		e.relay(w, r, api, vendor, nil)
	case isOne:
		e.reject(w, r, api, http.StatusNotFound, fmt.Sprintf("there is no model %q", cutPath(id)))
	default:
		wire.WriteModelList(w, api.Provider(), ids)
	}
}

// relay forwards a request that is no call of a model and its whole response.
func (e *Endpoint) relay(w http.ResponseWriter, r *http.Request, api wire.API, vendor Vendor, body []byte) {
	c := &call{endpoint: e, api: api, body: body}
	out := e.newReplyWriter(w)
	request, err := vendor.newRequest(r, api, bytes.NewReader(body))
	if err != nil {
		c.fail(out, http.StatusBadGateway, "api_error", err.Error())
		return
	}
	response, err := endpoint.NewHTTPClient(e.transport, e.cfg.IdleTimeout).Do(request) //nolint:gosec // the address is the one that the user gave
	if err != nil {
		c.failUnreachable(out, r, vendor, err)
		return
	}
	defer response.Body.Close()
	c.passOn(out, r, vendor, response, vendor.filters())
}
