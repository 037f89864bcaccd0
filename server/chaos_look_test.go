package server_test

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

// onlooker watches sessions and asks the API, as the dice say, until ctx ends.
type onlooker struct {
	*dice
	world *world
	name  string
	url   string // of its line to the server
}

func (o *onlooker) live(ctx context.Context) {
	for ctx.Err() == nil {
		if o.chance(2) {
			o.watch(ctx)
		} else {
			o.ask(ctx)
		}
		pause(ctx.Done(), o.upTo(200*time.Millisecond))
	}
}

// watch follows a session for a while, and checks that no entry is missing.
func (o *onlooker) watch(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, o.upTo(3*time.Second))
	defer cancel()
	from := int64(o.IntN(3) * o.IntN(500))
	address := fmt.Sprintf("%s/watch?session=%s&from=%d", o.url, o.pick(sessions()...), from)
	ws, response, err := websocket.Dial(ctx, address, &websocket.DialOptions{HTTPClient: o.world.client})
	if response != nil && response.Body != nil {
		_ = response.Body.Close()
	}
	if err != nil {
		return
	}
	defer func() { _ = ws.CloseNow() }()
	ws.SetReadLimit(-1)
	slow := o.chance(4)
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
			o.world.complain(fmt.Sprintf("%s: %v: %.300q", o.name, err, line))
			return
		}
		if slow {
			pause(ctx.Done(), o.upTo(20*time.Millisecond))
		}
	}
}

// ask sends a request, which must be answered, and in JSON where that is said.
func (o *onlooker) ask(ctx context.Context) {
	session := o.pick(sessions()...)
	path := o.pick("/api/sessions", "/api/sessions/"+session, "/metrics", "/healthz", "/readyz", "/api/config", "/api/runs", "/run", "/nowhere", "/api/sessions/../x")
	method, body := http.MethodGet, ""
	if o.chance(4) {
		path = "/api/sessions/" + caseSession + "/case"
		method, body = http.MethodPost, o.pick(`{"path":"p","id":"i"}`, `{"path":"p"}`, `{`, `[]`, "")
	}
	address := strings.Replace(o.url, "ws://", "http://", 1) + path
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	answer, err := o.world.client.Do(request)
	if err != nil {
		return // the line is bad, or it is over
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return
	}
	isJSON := strings.Contains(answer.Header.Get("Content-Type"), "json")
	if answer.StatusCode == http.StatusInternalServerError || isJSON && !json.Valid(bytes.TrimSpace(text)) {
		o.world.complain(fmt.Sprintf("%s %s: %d: %.300q", method, path, answer.StatusCode, text))
	}
}
