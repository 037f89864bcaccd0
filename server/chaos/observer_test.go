package chaos_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"assay/internal/trace"
)

// apiObserver watches traces of sessions and sends requests to the API, in random order.
type apiObserver struct {
	*rng
	run  *chaosRun
	name string
	url  string // of its proxy to the server
}

func (o *apiObserver) runUntilDone(ctx context.Context) {
	for ctx.Err() == nil {
		if o.oneIn(2) {
			o.watch(ctx)
		} else {
			o.request(ctx)
		}
		sleepUnlessDone(ctx.Done(), o.durationBelow(200*time.Millisecond))
	}
}

// watch watches a session for up to 3 s, and reports a fault if an entry is missing.
func (o *apiObserver) watch(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, o.durationBelow(3*time.Second))
	defer cancel()
	from := int64(o.IntN(3) * o.IntN(500))
	address := fmt.Sprintf("%s/watch?session=%s&from=%d", o.url, o.pickText(sessionIDs()...), from)
	ws, response, err := websocket.Dial(ctx, address, &websocket.DialOptions{HTTPClient: o.run.client})
	if response != nil && response.Body != nil {
		_ = response.Body.Close()
	}
	if err != nil {
		return
	}
	defer func() { _ = ws.CloseNow() }()
	ws.SetReadLimit(-1)
	slow := o.oneIn(4)
	for last := max(from, 1) - 2; ; last++ {
		_, line, err := ws.Read(ctx)
		if err != nil {
			return
		}
		if last == max(from, 1)-2 {
			_, err = trace.ParseHeader(line)
		} else if r, perr := trace.ParseRecord(line); perr != nil || r.Seq != last+1 {
			err = fmt.Errorf("want entry %d: %w", last+1, perr)
		}
		if err != nil {
			o.run.reportFault(fmt.Sprintf("%s: %v: %.300q", o.name, err, line))
			return
		}
		if slow {
			sleepUnlessDone(ctx.Done(), o.durationBelow(20*time.Millisecond))
		}
	}
}

// request sends an HTTP request. It reports a fault if the response has status 500, or
// claims to be JSON and is not.
func (o *apiObserver) request(ctx context.Context) {
	session := o.pickText(sessionIDs()...)
	path := o.pickText("/api/sessions", "/api/sessions/"+session, "/metrics", "/healthz", "/readyz", "/api/config", "/api/runs", "/run", "/nowhere", "/api/sessions/../x")
	method, body := http.MethodGet, ""
	if o.oneIn(4) {
		path = "/api/sessions/" + attemptSessionID + "/case"
		method, body = http.MethodPost, o.pickText(`{"path":"p","id":"i"}`, `{"path":"p"}`, `{`, `[]`, "")
	}
	address := strings.Replace(o.url, "ws://", "http://", 1) + path
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	response, err := o.run.client.Do(request)
	if err != nil {
		return // the link is faulty, or ctx has ended
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return
	}
	isJSON := strings.Contains(response.Header.Get("Content-Type"), "json")
	if response.StatusCode == http.StatusInternalServerError || isJSON && !json.Valid(bytes.TrimSpace(text)) {
		o.run.reportFault(fmt.Sprintf("%s %s: %d: %.300q", method, path, response.StatusCode, text))
	}
}
