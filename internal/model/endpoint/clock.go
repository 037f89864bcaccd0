package endpoint

import (
	"net/http"
	"sync"
	"time"
)

// TimeHeader is the HTTP header of a replayed answer with the recorded time, RFC 3339.
const TimeHeader = "X-Assay-Time"

// ReplayClock is a transport that shows the recorded time of the newest answer that came through it, by its
// [TimeHeader]. It is safe for concurrent use.
type ReplayClock struct {
	mu sync.Mutex
	at time.Time
}

// NewReplayClock returns a clock that shows a time in RFC 3339 until an answer comes; nil if the text is no time.
func NewReplayClock(text string) *ReplayClock {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return nil
	}
	return &ReplayClock{at: at}
}

// RoundTrip sends a request and reads the time of its answer.
func (c *ReplayClock) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if at, err := time.Parse(time.RFC3339, response.Header.Get(TimeHeader)); err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.at = at
	}
	return response, nil
}

// Now returns the time that the clock shows.
func (c *ReplayClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}
