package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"assay/internal/model"
	"assay/internal/model/replay"
	"assay/internal/model/wire"
)

const (
	// maxRequestBytes is the largest body of a request, as with the Messages API.
	maxRequestBytes = 32 << 20

	// maxBodyBytes is how many bytes of bodies are in memory at most. Further requests wait.
	maxBodyBytes = 256 << 20
)

// call is one call of a model, from its request to its reply.
type call struct {
	endpoint *Endpoint
	number   int64
	api      wire.API
	envelope wire.Envelope
	body     []byte
	reply    Reply
	answer   *replay.Answer // from the recording; nil: a model has replied

	slot     *replay.CacheSlot // of the call in the cache; nil: it is not cached
	reasoned *model.Response   // the reply with the reasoning that OpenAI has encrypted; nil: as in reply

	admittedAt time.Time

	mu          sync.Mutex // held while events about silence are sent, so that these are in order
	lastTraffic time.Time
	silence     *time.Timer // fires after Agent.SilenceDelay without traffic; nil: the call has ended
	isSilent    bool
}

// serveCall answers a call of a model in the format of api.
func (e *Endpoint) serveCall(w http.ResponseWriter, r *http.Request, api wire.API) {
	body, status, err := e.readBody(w, r)
	if err != nil {
		e.reject(w, r, api, status, err.Error())
		return
	}
	defer e.bodies.Release(int64(len(body)))
	envelope, err := wire.ReadEnvelope(api, body)
	if err != nil {
		e.reject(w, r, api, http.StatusBadRequest, err.Error())
		return
	}
	if envelope.IsBackground {
		e.reject(w, r, api, http.StatusBadRequest, "background: what such a response uses cannot be counted: leave it out")
		return
	}
	if err := e.checkHosted(api, body); err != nil {
		e.reject(w, r, api, http.StatusBadRequest, err.Error())
		return
	}
	c := &call{endpoint: e, number: e.calls.Add(1), api: api, envelope: envelope, body: body}
	c.event(Event{Kind: CallBegan, Request: &Request{API: api, Path: cutPath(r.URL.RequestURI()), Model: envelope.Model, Body: json.RawMessage(body)}})
	out := e.newReplyWriter(w)
	release := func() {}
	defer func() { // also if a broken connection is passed on by a panic
		c.reply.Status = out.status
		c.end()
		release()
	}()
	admitted, err := c.admit(r.Context())
	switch {
	case err != nil && r.Context().Err() != nil:
		c.abort()
	case err != nil:
		c.refuse(out, err)
		return
	}
	release = admitted
	c.admittedAt = time.Now()
	c.watchSilence()
	c.run(out, r)
}

// readBody reads the body of a request, once e.bodies has room for it. After an error, status is that of the response.
// Otherwise the caller must give the length of the body back to e.bodies.
func (e *Endpoint) readBody(w http.ResponseWriter, r *http.Request) (body []byte, status int, err error) {
	most := int64(maxRequestBytes)
	if r.ContentLength >= 0 {
		most = min(r.ContentLength, most)
	}
	if err := e.bodies.Acquire(r.Context(), most); err != nil {
		return nil, http.StatusBadRequest, context.Cause(r.Context())
	}
	defer func() { e.bodies.Release(most - int64(len(body))) }()
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return nil, http.StatusUnsupportedMediaType, fmt.Errorf("the body is encoded as %s: send it without Content-Encoding", encoding)
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) // of a connection, which has deadlines
	defer func() { _ = http.NewResponseController(w).SetReadDeadline(time.Time{}) }()
	body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	if _, isTooLarge := errors.AsType[*http.MaxBytesError](err); isTooLarge {
		return nil, http.StatusRequestEntityTooLarge, fmt.Errorf("the body is larger than %d bytes", maxRequestBytes)
	}
	if err != nil {
		return nil, http.StatusBadRequest, fmt.Errorf("the body cannot be read: %w", err)
	}
	return body, http.StatusOK, nil
}

// checkHosted returns an error for a request with what the vendor does itself, if that is refused.
func (e *Endpoint) checkHosted(api wire.API, body []byte) error {
	if !e.cfg.RefusesHosted {
		return nil
	}
	if place, what := wire.FindHosted(api, body); place != "" {
		return fmt.Errorf("%s: what the vendor does itself, with its own network, is refused to an agent without one (--agent-network on allows it): %s", place, what)
	}
	return nil
}

// event sends an event of the call.
func (c *call) event(event Event) {
	event.Call = c.number
	c.endpoint.cfg.Agent.OnEvent(event)
}

// admit waits until the call may be made: there is a slot, and no call in flight could reach a
// limit. The caller must call release after the call. It fails as ledger.admit does.
func (c *call) admit(ctx context.Context) (release func(), err error) {
	e := c.endpoint
	most := c.mostUse()
	settled, err := e.ledger.tryAdmit(most)
	if err != nil {
		return nil, err
	}
	isAdmitted := settled == nil
	if !isAdmitted || !e.cfg.Slots.tryAcquire() {
		c.event(Event{Kind: WaitBegan})
		defer c.event(Event{Kind: WaitEnded})
		if !isAdmitted {
			if err := e.ledger.admit(ctx, most); err != nil {
				return nil, err
			}
		}
		if err := e.cfg.Slots.acquire(ctx); err != nil {
			e.ledger.settle(most, Use{})
			return nil, err
		}
	}
	return func() {
		e.cfg.Slots.release()
		e.ledger.settle(most, c.use())
	}, nil
}

// unlimitedReplyTokens is how long a reply is expected to be at most, in tokens, if its request sets no limit.
const unlimitedReplyTokens = 32_000

const (
	// pictureTokens is what a picture takes at most, in tokens: Anthropic's largest, rounded up.
	pictureTokens = 5_000

	// unboundedTokens is what a call reserves of which the request does not say how much it may use: all of any limit.
	unboundedTokens = 1 << 40
)

// mostUse returns the most that the call may use: a token for each four bytes of the request, its pictures, and replies
// of the length that the request allows.
func (c *call) mostUse() Use {
	reply := int64(unlimitedReplyTokens)
	if c.envelope.MaxTokens > 0 {
		reply = c.envelope.MaxTokens
	}
	most := Use{Calls: 1, Tokens: model.Usage{InputTokens: estimateTokens(len(c.body)), OutputTokens: reply * max(1, c.envelope.Choices)}}
	if limits := c.endpoint.cfg.Agent.Limits; limits.MaxTokens > 0 || limits.MaxCostUSD > 0 {
		pictures, isUnbounded := wire.UnmeasuredInput(c.body)
		if most.Tokens.InputTokens += pictures * pictureTokens; isUnbounded {
			most.Tokens.InputTokens = unboundedTokens
		}
	}
	id := c.envelope.Model
	if m := c.endpoint.cfg.Model; m != nil && id == ModelName {
		id = m.ID
	}
	if usd := c.endpoint.cfg.FindCard(c.provider(), id).CostUSD(most.Tokens); usd != nil {
		most.CostUSD = *usd
	}
	return most
}

// refuse answers a call that was not admitted. The vendors' SDKs do not repeat it.
func (c *call) refuse(w *replyWriter, err error) {
	limit, isLimit := errors.AsType[*LimitError](err)
	if c.reply.Error = err.Error(); isLimit {
		c.reply.Limit = limit.Limit
		err = fmt.Errorf("the limit of this attempt is reached: %w", err)
	}
	w.Header().Set("X-Should-Retry", "false")
	c.fail(w, http.StatusForbidden, "permission_error", err.Error())
}

// fail sends an error in the format of the call's API.
func (c *call) fail(w *replyWriter, status int, errorType, text string) {
	if c.reply.Error == "" {
		c.reply.Error = oneLine(text)
	}
	c.slot.Release() // before the agent repeats the call
	wire.WriteError(w, c.api, status, errorType, text)
}

// run makes the call: it answers it from the recording or the cache, forwards it, or has a client of a model reply.
func (c *call) run(w *replyWriter, r *http.Request) {
	e := c.endpoint
	vendor, hasVendor := e.cfg.Vendors[c.api.Provider()]
	body := c.body
	m := e.cfg.Model
	switch {
	case e.cfg.Replayer != nil:
		c.replyFromRecording(w, r)
		return
	case c.envelope.Model != ModelName && !hasVendor:
		c.fail(w, http.StatusNotFound, "not_found_error", fmt.Sprintf("there is no key for the model %q: set %s_API_KEY, or use the model %q", c.envelope.Model, strings.ToUpper(c.api.Provider()), ModelName))
		return
	case c.envelope.Model != ModelName:
		c.reply.Model = c.envelope.Model
	case m == nil:
		c.fail(w, http.StatusNotFound, "not_found_error", fmt.Sprintf("no --model is given for the model name %q", ModelName))
		return
	default:
		c.reply.Model, vendor = m.ID, m.Vendor
	}
	isTranslated := c.envelope.Model == ModelName && m.Provider != c.api.Provider()
	if c.envelope.Model == ModelName && !isTranslated {
		var err error
		if body, err = wire.WithModel(c.body, m.ID); err != nil {
			c.fail(w, http.StatusBadRequest, "invalid_request_error", err.Error())
			return
		}
	}
	switch {
	case c.replyFromCache(w, r, vendor):
	case isTranslated:
		c.replyByClient(w, r, m)
	default:
		c.forward(w, r, vendor, body)
	}
}

// end ends the call.
func (c *call) end() {
	c.stopSilence()
	c.cacheReply()
	switch {
	case c.reply.IsCached:
		c.reply.CostUSD = new(float64)
	case c.reply.Response != nil:
		c.reply.CostUSD = c.card().CostUSD(c.reply.Response.Usage)
	}
	c.record()
	c.event(Event{Kind: CallEnded, Reply: &c.reply})
}

// provider returns the provider of the model that was called.
func (c *call) provider() string {
	if m := c.endpoint.cfg.Model; m != nil && c.envelope.Model == ModelName {
		return m.Provider
	}
	return c.api.Provider()
}

// card returns the price of the model that was called, or nil if it is not known.
func (c *call) card() *model.ModelCard {
	if c.answer != nil {
		return model.FindModelCard(c.answer.Model)
	}
	return c.endpoint.cfg.FindCard(c.provider(), c.reply.Model)
}

// use returns what the call, which has ended, has used. A reply from the cache counts as a reply and has its tokens, so that
// limits end an attempt where they ended it before, but it costs nothing.
func (c *call) use() Use {
	r := c.reply.Response
	if r == nil {
		return Use{}
	}
	used := Use{Tokens: r.Usage}
	if c.reply.IsComplete || c.reply.IsLeft {
		used.Calls = 1
	}
	if usd := c.reply.CostUSD; usd != nil {
		used.CostUSD = *usd
	}
	return used
}

// noteTraffic notes that a piece of the reply has come.
func (c *call) noteTraffic() {
	if c.reply.FirstByte == 0 {
		c.reply.FirstByte = time.Since(c.admittedAt)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	wasSilent, silent := c.isSilent, time.Since(c.lastTraffic)
	c.isSilent, c.lastTraffic = false, time.Now()
	if c.silence != nil {
		c.silence.Reset(c.endpoint.cfg.Agent.SilenceDelay)
	}
	if wasSilent {
		c.event(Event{Kind: SilenceEnded, Silent: silent})
	}
}

// watchSilence starts to send events when nothing comes.
func (c *call) watchSilence() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastTraffic = time.Now()
	c.silence = time.AfterFunc(c.endpoint.cfg.Agent.SilenceDelay, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.silence != nil && !c.isSilent {
			c.isSilent = true
			c.event(Event{Kind: SilenceBegan, Silent: time.Since(c.lastTraffic)})
		}
	})
}

// stopSilence ends what watchSilence started.
func (c *call) stopSilence() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.silence != nil {
		c.silence.Stop()
		c.silence = nil
	}
}

// oneLine returns a text in one line.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
