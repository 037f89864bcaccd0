package gateway

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"assay/internal/model"
	"assay/internal/model/endpoint"
	"assay/internal/model/wire"
)

// replyWriter is a response to an agent. It bounds the time in which the agent must read a
// piece of it.
type replyWriter struct {
	http.ResponseWriter
	controller *http.ResponseController
	timeout    time.Duration // of a write
	status     int           // that was sent; 0: none
}

// newReplyWriter returns a response of the endpoint.
func (e *Endpoint) newReplyWriter(w http.ResponseWriter) *replyWriter {
	return &replyWriter{ResponseWriter: w, controller: http.NewResponseController(w), timeout: e.writeTimeout}
}

// WriteHeader sends the status and the headers.
func (w *replyWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write sends a piece of the response. It fails if the agent does not read for the timeout.
func (w *replyWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	_ = w.controller.SetWriteDeadline(time.Now().Add(w.timeout)) // without one, a write waits
	return w.ResponseWriter.Write(p)
}

// Unwrap returns the response below, for http.ResponseController.
func (w *replyWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// forward sends a request to a vendor and passes its reply on while it arrives.
func (c *call) forward(w *replyWriter, r *http.Request, vendor Vendor, body []byte) {
	hidesUsage := c.api == wire.Chat && c.envelope.IsStreamed && !c.envelope.IncludesUsage
	if hidesUsage {
		var err error
		if body, err = wire.WithUsage(body); err != nil {
			c.fail(w, http.StatusBadRequest, "invalid_request_error", err.Error())
			return
		}
	}
	ctx, cancel := c.endpoint.outlive(r.Context())
	defer cancel()
	request, err := vendor.newRequest(r.WithContext(ctx), c.api, bytes.NewReader(body))
	if err != nil {
		c.fail(w, http.StatusBadGateway, "api_error", err.Error())
		return
	}
	client := endpoint.NewHTTPClient(c.endpoint.transport, c.endpoint.idleTimeoutOf(c.envelope))
	response, err := client.Do(request) //nolint:gosec // the address is the one that the user gave
	if err != nil {
		c.failUnreachable(w, r, vendor, err)
		return
	}
	defer response.Body.Close()
	filters := vendor.filters()
	if hidesUsage && response.StatusCode == http.StatusOK {
		filters = append(filters, &usageFilter{})
	}
	c.passOn(w, r, vendor, response, filters)
}

// drainTimeout is how long a vendor's reply is read on after the agent has gone: its end says what it has used.
const drainTimeout = 5 * time.Second

// outlive returns a context for a call to a vendor. It ends drainTimeout after that of the agent's request, and with
// the endpoint at once. The caller must call cancel.
func (e *Endpoint) outlive(agent context.Context) (ctx context.Context, cancel context.CancelFunc) {
	ctx, end := context.WithCancel(context.WithoutCancel(agent))
	stopClosing := context.AfterFunc(e.ctx, end)
	stopDraining := context.AfterFunc(agent, func() { time.AfterFunc(drainTimeout, end) })
	return ctx, func() {
		stopClosing()
		stopDraining()
		end()
	}
}

// newRequest returns the request of an agent as a request to the vendor, with another body: the
// headers are the agent's, except for keys and what belongs to the connection.
func (v Vendor) newRequest(r *http.Request, api wire.API, body io.Reader) (*http.Request, error) {
	target := *v.BaseURL
	base, path := strings.TrimSuffix("/"+strings.Trim(target.Path, "/"), "/"), r.URL.Path
	if strings.HasSuffix(base, "/v1") {
		path = strings.TrimPrefix(path, "/v1")
	}
	target.Path, target.RawQuery = base+path, r.URL.RawQuery
	request, err := http.NewRequestWithContext(r.Context(), r.Method, target.String(), body)
	if err != nil {
		return nil, fmt.Errorf("make the request to the vendor: %w", err)
	}
	for name, values := range r.Header {
		if !isLocalHeader(name) {
			request.Header[name] = values
		}
	}
	if slices.Contains(vendorHosts(), target.Hostname()) {
		request.Header.Del(endpoint.TurnHeader) // for scripted models
	}
	switch {
	case v.APIKey == "":
	case api == wire.Messages:
		request.Header.Set("X-Api-Key", v.APIKey)
	default:
		request.Header.Set("Authorization", "Bearer "+v.APIKey)
	}
	return request, nil
}

// vendorHosts returns the hosts of the vendors' own APIs.
func vendorHosts() []string { return []string{"api.anthropic.com", "api.openai.com"} }

// isLocalHeader reports whether a header belongs to one of the two connections, or tells of the
// agent's or the vendor's account, so that it is not passed on.
func isLocalHeader(name string) bool {
	return slices.Contains([]string{
		"Authorization", "X-Api-Key", "Api-Key", "Cookie", "Set-Cookie", "Proxy-Authorization", "Proxy-Authenticate",
		"Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Proxy-Connection", "Content-Length", "Accept-Encoding",
		"Anthropic-Organization-Id", "Openai-Organization", "Openai-Project",
	}, name)
}

// failUnreachable answers a call whose vendor did not reply.
func (c *call) failUnreachable(w *replyWriter, r *http.Request, vendor Vendor, err error) {
	if r.Context().Err() != nil {
		c.giveUp()
		c.abort()
	}
	c.reply.IsRefusedByVendor = true
	status := statusOfFailure(err)
	c.fail(w, status, model.ErrorTypeOfStatus(status), vendor.redact(fmt.Sprintf("the model's API at %s did not reply: %s", vendor.BaseURL.Host, reasonOf(err))))
}

// statusOfFailure returns the status for an agent whose call may succeed later.
func statusOfFailure(err error) int {
	if _, isIdle := errors.AsType[*endpoint.IdleError](err); isIdle {
		return http.StatusGatewayTimeout
	}
	return http.StatusBadGateway
}

// abort ends a call whose agent has gone, or whose attempt has ended. It does not return.
func (c *call) abort() {
	c.reply.Error = "the agent has closed the connection"
	if c.endpoint.ctx.Err() != nil {
		c.reply.Error = "the attempt ended"
	}
	panic(http.ErrAbortHandler) // so that no complete response is sent
}

// reasonOf returns the text of an error of an HTTP client without the URL, which may have a key.
func reasonOf(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		if idle, isIdle := errors.AsType[*endpoint.IdleError](err); isIdle {
			return idle.Error()
		}
		err = inner
	}
}

// redact replaces the vendor's key in a text.
func (v Vendor) redact(text string) string {
	if v.APIKey == "" {
		return text
	}
	return strings.ReplaceAll(text, v.APIKey, "[redacted]")
}

// filters returns the filters through which the vendor's replies go.
func (v Vendor) filters() pieceFilters {
	if v.APIKey == "" {
		return nil
	}
	return pieceFilters{&keyFilter{key: []byte(v.APIKey)}}
}

// decompress makes the body of a reply plain. The gateway asks for no compression, but some servers compress all the same.
func decompress(response *http.Response) error {
	switch encoding := response.Header.Get("Content-Encoding"); strings.ToLower(encoding) {
	case "", "identity":
		return nil
	case "gzip", "x-gzip":
		plain, err := gzip.NewReader(response.Body)
		if err != nil {
			return fmt.Errorf("the model's API sent a reply that is no gzip, as its header says: %w", err)
		}
		response.Body = struct {
			io.Reader
			io.Closer
		}{plain, response.Body}
		response.Header.Del("Content-Encoding")
		response.Header.Del("Content-Length")
		return nil
	default:
		return fmt.Errorf("the model's API sent a reply with the encoding %s, although it was asked for none", encoding)
	}
}

// passOn passes a vendor's reply on to the agent, and reads it meanwhile.
func (c *call) passOn(w *replyWriter, r *http.Request, vendor Vendor, response *http.Response, filters pieceFilters) {
	if err := decompress(response); err != nil {
		c.fail(w, http.StatusBadGateway, "api_error", err.Error())
		return
	}
	for name, values := range response.Header {
		if !isLocalHeader(name) {
			for _, value := range values {
				w.Header().Add(name, vendor.redact(value))
			}
		}
	}
	if response.StatusCode != http.StatusOK {
		c.slot.Release() // before the agent repeats the call
	}
	w.WriteHeader(response.StatusCode)
	reader := wire.NewReplyReader(c.api, response.StatusCode, response.Header.Get("Content-Type"))
	if c.slot != nil {
		reader.KeepReasoning()
	}
	readErr, writeErr := c.copyPieces(w, response.Body, reader, filters)
	reply := reader.Reply()
	c.reasoned = reply.Response
	c.reply.Response, c.reply.IsComplete = wire.WithoutReasoning(reply.Response), reply.IsComplete && reply.Error == nil
	switch refused := reply.Error; {
	case response.StatusCode/100 == 3:
		c.reply.Error = fmt.Sprintf("the model's API replied with the status %d, and redirects are not followed", response.StatusCode)
	case refused != nil:
		refused.Message = vendor.redact(refused.Message)
		c.reply.Error, c.reply.APIError = oneLine(refused.Error()), refused
		c.reply.IsRefusedByVendor = model.IsTransient(refused)
		c.reply.RetryAfter = endpoint.ParseRetryAfter(response.Header)
	case reply.HasEnded && reply.Err == nil:
	case writeErr != nil || r.Context().Err() != nil:
		c.giveUp()
	case reply.IsComplete:
	case reply.Err != nil:
		c.reply.Error, c.reply.IsRefusedByVendor = vendor.redact(oneLine(reply.Err.Error())), model.IsTransient(reply.Err)
	case readErr != nil:
		c.reply.Error, c.reply.IsRefusedByVendor = vendor.redact("the reply broke off: "+reasonOf(readErr)), true
		panic(http.ErrAbortHandler) // so that the agent sees that, too
	default:
		c.reply.Error, c.reply.IsRefusedByVendor = "the reply broke off", true
	}
}

// giveUp notes that the agent has not read the reply to its end. If the vendor has not said what the reply has
// used, that is estimated. The end of the attempt is none of that.
func (c *call) giveUp() {
	c.reply.Error = "the agent has not read the reply to its end"
	if c.endpoint.ctx.Err() != nil {
		return
	}
	c.reply.IsLeft = true
	if c.reply.Response == nil {
		c.reply.Response = &model.Response{Content: []model.Block{}}
	}
	used := &c.reply.Response.Usage
	isKnown := used.PromptTokens() > 0 // Chat Completions say it after the finish_reason
	if isKnown && c.reply.IsComplete {
		return
	}
	if !isKnown {
		used.InputTokens = estimateTokens(len(c.body))
	}
	if text, err := json.Marshal(c.reply.Response.Content); err == nil {
		used.OutputTokens = max(used.OutputTokens, estimateTokens(len(text)))
	}
}

// estimateTokens returns how many tokens a text of n bytes has, roughly.
func estimateTokens(n int) int64 { return int64(n / 4) }

// pieceBytes is how much of a reply is passed on at once, at most.
const pieceBytes = 32 << 10

// copyPieces copies a reply piece by piece, each as soon as it comes, to the reader and through
// the filters to the agent. It returns the errors of reading, other than io.EOF, and of writing. After an
// error of writing it reads on for drainTimeout.
func (c *call) copyPieces(w *replyWriter, body io.ReadCloser, reader io.Writer, filters pieceFilters) (readErr, writeErr error) {
	stop := func() { _ = body.Close() }
	buffer := make([]byte, pieceBytes)
	for {
		n, err := body.Read(buffer)
		if n > 0 {
			c.noteTraffic()
			if writeErr == nil {
				if writeErr = w.send(filters.next(buffer[:n])); writeErr != nil {
					defer time.AfterFunc(drainTimeout, stop).Stop()
				}
			}
			_, _ = reader.Write(buffer[:n]) // never fails
		}
		if err != nil && writeErr == nil {
			writeErr = w.send(filters.rest())
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil, writeErr
		case err != nil:
			return err, writeErr
		}
	}
}

// send writes a piece and flushes it.
func (w *replyWriter) send(piece []byte) error {
	if len(piece) == 0 {
		return nil
	}
	if _, err := w.Write(piece); err != nil {
		return err
	}
	return w.controller.Flush()
}
