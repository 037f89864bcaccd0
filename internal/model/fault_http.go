package model

import (
	"encoding/json"
	"net/http"
	"time"
)

// wait lets the silence of a fault pass, unless gone is closed before.
func (f *fault) wait(gone <-chan struct{}) {
	timer := time.NewTimer(f.stall)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-gone:
	}
}

// play plays a fault that takes the place of the whole answer.
func (f *fault) play(w http.ResponseWriter, gone <-chan struct{}) {
	switch f.kind {
	case faultHTML:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(htmlAnswer)) // the client may have gone
		return
	case faultHang:
		<-gone
	default: // drop
	}
	panic(http.ErrAbortHandler)
}

// spoil sends a reply that is not streamed, and so has no events, with a fault.
// Refused is what stands for the reply when the fault is an error.
func (f *fault) spoil(w http.ResponseWriter, gone <-chan struct{}, reply, refused any) {
	switch f.kind {
	case faultStall:
		f.wait(gone)
		send(w, http.StatusOK, reply)
	case faultEvent:
		send(w, http.StatusOK, reply)
	case faultError:
		send(w, streamedStatus(f.said.Type), refused)
	case faultHang:
		<-gone
	default: // cut, end, json
		text, _ := json.Marshal(reply) //nolint:errchkjson // what a script held, which was JSON
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text[:len(text)/2])
		_ = http.NewResponseController(w).Flush()
	}
	if f.kind == faultCut || f.kind == faultHang {
		panic(http.ErrAbortHandler)
	}
}
