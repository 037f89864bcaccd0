package server

import (
	"fmt"
	"time"
)

// sayAlive tells the console that the connection is there, and how often it will be
// told: a page of a browser sees no ping of the WebSocket, and would take a
// connection that is dead for one on which nothing happens. It is no part of the
// trace.
func (s *seat) sayAlive(every time.Duration) {
	_ = s.write(fmt.Appendf(nil, `{"type":"alive","every_ms":%d}`, every.Milliseconds())) // if it has gone, read finds out
}

// stayAlive says so every now and then until the connection ends: also while nobody
// has time for the console, or there is no session. It is left out while a message
// is being written, as the console reads.
func (s *seat) stayAlive(every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-s.gone:
			return
		case <-s.left:
			return
		}
		if s.writes.Load()%2 == 0 {
			s.sayAlive(every)
		}
	}
}
