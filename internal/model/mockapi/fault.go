package mockapi

import (
	"net/http"

	"assay/internal/model"
	"assay/internal/model/script"
	"assay/internal/model/wire"
)

// playFaultInsteadOfAnswer plays a fault that replaces the whole response: a web page,
// or a connection that is closed at once or after the client has given up. done is
// closed when the client has disconnected.
func playFaultInsteadOfAnswer(w http.ResponseWriter, done <-chan struct{}, f *script.Fault) {
	switch f.Kind {
	case script.FaultHTML:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(script.FaultHTMLBody)) // the client may have gone
		return
	case script.FaultHang:
		<-done
	default: // FaultDrop
	}
	panic(http.ErrAbortHandler)
}

// sendUnstreamedWithFault plays a fault in a response that is not streamed. Depending
// on the fault it sends the first half of the reply, the whole reply after a silence, an
// error of the API, or nothing until the client has disconnected (done is closed).
func sendUnstreamedWithFault(w http.ResponseWriter, done <-chan struct{}, api wire.API, f *script.Fault, reply []byte) {
	switch f.Kind {
	case script.FaultStall:
		f.WaitStall(done)
		sendJSON(w, http.StatusOK, reply)
	case script.FaultEvent:
		sendJSON(w, http.StatusOK, reply)
	case script.FaultError:
		wire.WriteError(w, api, model.StatusOfErrorType(f.Error.Type), f.Error.Type, f.Error.Message)
	case script.FaultHang:
		<-done
	default: // FaultCut, FaultEnd, FaultJSON
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(reply[:len(reply)/2])
		_ = http.NewResponseController(w).Flush()
	}
	if f.Kind == script.FaultCut || f.Kind == script.FaultHang {
		panic(http.ErrAbortHandler)
	}
}
