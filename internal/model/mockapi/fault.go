package mockapi

import (
	"encoding/json"
	"net/http"

	"assay/internal/model"
	"assay/internal/model/script"
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
// on the fault it sends the first half of the reply, the whole reply after a silence,
// errorBody for an error, or nothing until the client has disconnected (done is
// closed).
func sendUnstreamedWithFault(w http.ResponseWriter, done <-chan struct{}, f *script.Fault, reply, errorBody any) {
	switch f.Kind {
	case script.FaultStall:
		f.WaitStall(done)
		sendJSON(w, http.StatusOK, reply)
	case script.FaultEvent:
		sendJSON(w, http.StatusOK, reply)
	case script.FaultError:
		sendJSON(w, model.StatusOfErrorType(f.Error.Type), errorBody)
	case script.FaultHang:
		<-done
	default: // FaultCut, FaultEnd, FaultJSON
		text, _ := json.Marshal(reply) //nolint:errchkjson // from a script, which was JSON
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text[:len(text)/2])
		_ = http.NewResponseController(w).Flush()
	}
	if f.Kind == script.FaultCut || f.Kind == script.FaultHang {
		panic(http.ErrAbortHandler)
	}
}
