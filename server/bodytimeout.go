package server

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// bodyTimeout is how long a client may take to send the body of a request.
	bodyTimeout = time.Minute

	// idleTimeout is how long a connection without a request is kept.
	idleTimeout = 2 * time.Minute
)

// limitBodyTime passes requests on to next. Reading the body of a request fails when the client has
// not sent all of it within timeout; how long the answer takes is not limited. (The ReadTimeout of
// http.Server would also end answers that go on for longer.)
func limitBodyTime(timeout time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 { // -1: it is not known yet
			connection := http.NewResponseController(w)
			if connection.SetReadDeadline(time.Now().Add(timeout)) == nil {
				r.Body = &timedBody{ReadCloser: r.Body, endDeadline: sync.OnceFunc(func() { _ = connection.SetReadDeadline(time.Time{}) })}
			}
		}
		next.ServeHTTP(w, r)
	})
}

// timedBody is the body of a request that must arrive before a deadline.
type timedBody struct {
	io.ReadCloser

	endDeadline func()
}

// Read reads from the body. At its end there is no deadline any more.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.endDeadline()
	}
	return n, err
}
