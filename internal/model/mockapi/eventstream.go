package mockapi

import (
	"errors"
	"net/http"
	"unicode/utf8"

	"assay/internal/model/script"
	"assay/internal/model/wire"
)

// errStreamEndedByFault means that a scripted fault has ended the stream, so no more
// events are sent.
var errStreamEndedByFault = errors.New("the stream has ended")

// eventStream sends the server-sent events of one reply, and plays the reply's fault
// when it is due. After the first error it sends nothing.
type eventStream struct {
	w     http.ResponseWriter
	out   *http.ResponseController
	done  <-chan struct{}                 // closed when the client has gone
	fault *script.Fault                   // still to come, nil means none
	fail  func(errorType, message string) // sends an error event

	sent int // events
	err  error
}

// newEventStream sends the headers of an event stream with status 200 and returns the
// stream. The caller must set fail. done is closed when the client has disconnected.
func newEventStream(w http.ResponseWriter, done <-chan struct{}, f *script.Fault) *eventStream {
	wire.SetStreamHeaders(w.Header())
	w.WriteHeader(http.StatusOK)
	return &eventStream{w: w, out: http.NewResponseController(w), done: done, fault: f}
}

// sendEvent sends one event. If the fault is due before this event, it plays the fault
// first.
func (s *eventStream) sendEvent(event wire.Event) {
	if f := s.fault; f != nil && s.err == nil && (s.sent == f.After || event.Finishes) {
		s.fault = nil
		s.err = s.playFault(f, event.Text)
	}
	s.sent++
	s.writeInTwoPackets(event.Text)
}

// playFault plays a fault that is due before the event next. It returns
// errStreamEndedByFault if the stream ends with the fault, or the error of an earlier
// write. To break the connection it panics with http.ErrAbortHandler.
func (s *eventStream) playFault(f *script.Fault, next []byte) error {
	switch f.Kind {
	case script.FaultCut:
		s.writeInTwoPackets(next[:len(next)/2])
		panic(http.ErrAbortHandler)
	case script.FaultHang:
		<-s.done
	case script.FaultError:
		s.fail(f.Error.Type, f.Error.Message)
	case script.FaultJSON:
		s.writeInTwoPackets([]byte("event: content_block_delta\ndata: " + script.FaultJSONData + "\n\n"))
	case script.FaultEvent:
		s.writeInTwoPackets([]byte("event: surprise\ndata: {\"type\":\"surprise\",\"index\":-1,\"delta\":{}}\n\n"))
		return s.err
	case script.FaultStall:
		f.WaitStall(s.done)
		return s.err
	default: // FaultEnd
	}
	return errStreamEndedByFault
}

// writeInTwoPackets writes data to the client in two packets. It divides them inside
// the first multi-byte character, so that clients must join the bytes; data in ASCII is
// one packet.
func (s *eventStream) writeInTwoPackets(data []byte) {
	for i, c := range data {
		if c >= utf8.RuneSelf {
			_, size := utf8.DecodeRune(data[i:])
			at := i + 1 + s.sent%max(1, size-1)
			s.writePacket(data[:at])
			data = data[at:]
			break
		}
	}
	s.writePacket(data)
}

func (s *eventStream) writePacket(data []byte) {
	if s.err != nil {
		return
	}
	if _, s.err = s.w.Write(data); s.err == nil {
		s.err = s.out.Flush()
	}
}
