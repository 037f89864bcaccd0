package model

import (
	"errors"
	"net/http"
	"unicode/utf8"
)

// errEnded says that a stream has nothing more to send.
var errEnded = errors.New("the stream has ended")

// sse sends the events of one reply, and what goes wrong with it. After the first
// error it sends nothing.
type sse struct {
	w      http.ResponseWriter
	out    *http.ResponseController
	gone   <-chan struct{} // closed when the client has gone
	fault  *fault          // yet to come, nil for none
	failed func(errorDetail) []byte

	sent int  // events
	last bool // the next event makes the reply whole
	err  error
}

// newSSE begins a stream.
func newSSE(w http.ResponseWriter, gone <-chan struct{}, f *fault) *sse {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	return &sse{w: w, out: http.NewResponseController(w), gone: gone, fault: f}
}

// send sends an event, after the fault that is due before it.
func (s *sse) send(event []byte) {
	if f := s.fault; f != nil && s.err == nil && (s.sent == f.after || s.last) {
		s.fault = nil
		s.err = s.suffer(f, event)
	}
	s.sent++
	s.write(event)
}

// suffer plays a fault that happens before the next event.
func (s *sse) suffer(f *fault, next []byte) error {
	switch f.kind {
	case faultCut:
		s.write(next[:len(next)/2])
		panic(http.ErrAbortHandler)
	case faultHang:
		<-s.gone
	case faultError:
		s.write(s.failed(f.said))
	case faultJSON:
		s.write([]byte("event: content_block_delta\ndata: " + brokenJSON + "\n\n"))
	case faultEvent:
		s.write([]byte("event: surprise\ndata: {\"type\":\"surprise\",\"index\":-1,\"delta\":{}}\n\n"))
		return s.err
	case faultStall:
		f.wait(s.gone)
		return s.err
	default: // end
	}
	return errEnded
}

// write sends data in two packets, parted in the middle of its first character
// of several bytes.
func (s *sse) write(data []byte) {
	for i, c := range data {
		if c >= utf8.RuneSelf {
			_, size := utf8.DecodeRune(data[i:])
			at := i + 1 + s.sent%max(1, size-1)
			s.packet(data[:at])
			data = data[at:]
			break
		}
	}
	s.packet(data)
}

func (s *sse) packet(data []byte) {
	if s.err != nil {
		return
	}
	if _, s.err = s.w.Write(data); s.err == nil {
		s.err = s.out.Flush()
	}
}
