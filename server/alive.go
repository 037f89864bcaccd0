package server

import (
	"time"

	"assay/internal/protocol"
)

// AliveMessage tells a console that asked for it that its connection is alive.
type AliveMessage struct {
	Type    string `json:"type"`     // alive
	EveryMS int64  `json:"every_ms"` // interval until the next one, in ms
}

// sayAlive tells the console that the connection is there, and how often it will be
// told: a page of a browser sees no ping of the WebSocket, and would take a
// connection that is dead for one on which nothing happens. It is no part of the
// trace.
func (s *seat) sayAlive(every time.Duration) {
	body, _ := protocol.Marshal(AliveMessage{Type: "alive", EveryMS: every.Milliseconds()}) // a string and a number can always be marshalled
	_ = s.write(body)                                                                       // if it has gone, read finds out
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
