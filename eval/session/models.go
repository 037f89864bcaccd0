package session

import (
	"context"
	"fmt"
	"net"
	"sync"

	"assay/internal/model"
	"assay/internal/model/calllog"
	"assay/internal/model/gateway"
	"assay/internal/protocol"
	"assay/internal/trace"
)

// modelServer serves the calls of models of one agent, and records them in the session's trace.
type modelServer struct {
	session  *Session
	endpoint *gateway.Endpoint
	stopping context.Context //nolint:containedctx // ends when no more calls are served
	stop     context.CancelFunc

	mu       sync.Mutex // held while an entry is made, so that entries are in the order of their requests
	requests calllog.Encoder
}

// newModelServer returns the server of the next agent's calls, or nil if the session has none.
func (s *Session) newModelServer() *modelServer {
	if s.cfg.OpenModels == nil {
		return nil
	}
	m := &modelServer{session: s}
	m.stopping, m.stop = context.WithCancel(context.Background())
	m.endpoint = s.cfg.OpenModels(gateway.Agent{
		Limits: s.cfg.ModelLimits, OnEvent: m.record, SilenceDelay: s.cfg.ModelSilenceDelay, Session: s.cfg.ID, Workdir: s.workdir, Scope: s.cfg.ModelScope,
	})
	return m
}

// Environ returns the environment of an agent that finds its models at this address.
func (m *modelServer) Environ(environ []string, address string) []string {
	return m.endpoint.Environ(environ, address)
}

// Serve serves the connections of a listener until it is closed, and ends all calls then.
func (m *modelServer) Serve(listener net.Listener) {
	defer func() {
		m.stop()
		m.endpoint.Close()
	}()
	if err := m.endpoint.Serve(listener); err != nil {
		m.session.log.Debug("the agent's model server has ended", "error", err)
	}
}

// record appends what happened to a call to the trace. A request waits until the trace has room:
// an agent could ask faster than a disk writes.
func (m *modelServer) record(e gateway.Event) {
	if e.Kind == gateway.CallBegan || e.Kind == gateway.CallRejected {
		if err := m.session.cfg.Journal.WaitForRoom(m.stopping); err != nil && m.stopping.Err() == nil {
			m.session.log.Warn("a call of a model came while the trace had no room", "error", err)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	entry := trace.Entry{Hop: trace.AgentToModel}
	if e.Call > 0 {
		entry.TxID = fmt.Sprintf("model_%d", e.Call)
	}
	var message any
	entry.Type, message = m.entryOf(e)
	if e.Kind == gateway.SilenceBegan || e.Kind == gateway.SilenceEnded || e.Kind == gateway.CallEnded || e.Kind == gateway.CallRejected {
		entry.Hop = trace.ModelToAgent
	}
	body, err := protocol.Marshal(message)
	if err != nil {
		m.session.log.Error("a call of a model could not be recorded", "call", e.Call, "error", err)
		return
	}
	entry.Body = body
	m.session.cfg.Journal.Append(entry)
}

// entryOf returns the type and the message of the entry about an event.
func (m *modelServer) entryOf(e gateway.Event) (kind string, message any) {
	switch e.Kind {
	case gateway.CallBegan:
		r := e.Request
		return calllog.TypeCall, calllog.Call{
			Type: calllog.TypeCall, Call: e.Call, API: string(r.API), Path: r.Path, Model: r.Model, Stored: m.requests.Encode(e.Call, m.session.cfg.Redactor.JSON(r.Body)),
		}
	case gateway.WaitBegan, gateway.WaitEnded:
		return calllog.TypeWait, calllog.Wait{Type: calllog.TypeWait, Call: e.Call, IsOver: e.Kind == gateway.WaitEnded}
	case gateway.SilenceBegan, gateway.SilenceEnded:
		return calllog.TypeSilence, calllog.Silence{Type: calllog.TypeSilence, Call: e.Call, SilentMS: e.Silent.Milliseconds(), IsOver: e.Kind == gateway.SilenceEnded}
	case gateway.CallRejected:
		return calllog.TypeRejected, calllog.Rejected{Type: calllog.TypeRejected, Path: e.Request.Path, Status: e.Reply.Status, Error: e.Reply.Error}
	default:
		r := e.Reply
		const nanosecondsPerMS = 1e6
		return calllog.TypeReply, calllog.Reply{
			Type: calllog.TypeReply, Call: e.Call, Status: r.Status, Model: r.Model, Response: r.Response, IsComplete: r.IsComplete, IsLeft: r.IsLeft, IsCached: r.IsCached, CostUSD: r.CostUSD,
			Error: r.Error, APIError: apiErrorOf(r.APIError), Limit: r.Limit, IsRefusedByVendor: r.IsRefusedByVendor, RetryAfterMS: r.RetryAfter.Milliseconds(),
			FirstByteMS: float64(r.FirstByte) / nanosecondsPerMS,
		}
	}
}

// apiErrorOf returns an error of an API as it is recorded.
func apiErrorOf(err *model.APIError) *calllog.APIError {
	if err == nil {
		return nil
	}
	return &calllog.APIError{Status: err.Status, Type: err.Type, Message: err.Message}
}
