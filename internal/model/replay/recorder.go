package replay

import (
	"io"
	"sync"
	"time"

	"assay/internal/model"
	"assay/internal/rawjson"
)

// Recorder writes calls that a server has answered. It is safe for concurrent use.
type Recorder struct {
	normalizer Normalizer
	replacers  sandboxPathReplacers

	mu sync.Mutex // guards w
	w  io.Writer
}

// NewRecorder returns a recorder that writes the line of each call (see [Recording]) to w in one
// Write, so that w may be a file to which others append. The caller closes w.
func (n Normalizer) NewRecorder(w io.Writer) *Recorder {
	return &Recorder{normalizer: n, replacers: n.newReplacers(), w: w}
}

// Call is a call that has ended.
type Call struct {
	API     string    // messages, chat or responses
	Request []byte    // the body of the request
	Model   string    // name of the model, such as anthropic/claude-opus-4-5; "": none was called
	At      time.Time // when it ended

	// Response is the reply; Err is why there is none, or why it broke off, and then Response may have
	// what came before.
	Response *model.Response
	Err      error

	Answer *Answer // of a call that was answered from a recording; nil: a model has replied
}

// Record writes the line of a call. It returns an error if the call cannot be encoded or the write fails.
func (r *Recorder) Record(c Call) error {
	from := answerOrigin{modelName: c.Model, endedAt: c.At.UTC().Format(recordedTimeFormat)}
	if c.Answer != nil {
		from = c.Answer.origin
	}
	request, err := r.replacers.normalizeBody(c.API, c.Request)
	if err != nil {
		return err
	}
	head := recordingLineRequest{At: from.endedAt, API: c.API, Model: from.modelName, Request: request}
	return r.write(head, from, c.Response, c.Err)
}

// write writes a line. An answer that was replayed keeps its recorded JSON.
func (r *Recorder) write(head recordingLineRequest, from answerOrigin, reply *model.Response, failure error) error {
	head.Session = r.normalizer.Session
	answer, err := r.encodeAnswer(from, reply, failure)
	if err != nil {
		return err
	}
	line, err := rawjson.Marshal(head)
	if err != nil {
		return err
	}
	line = append(append(line[:len(line)-1], ','), answer[1:]...) // joins two objects that are not empty
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err = r.w.Write(append(r.normalizer.Redactor.JSON(line), '\n'))
	return err
}

// encodeAnswer returns the answer of a call as the JSON of a [recordedAnswer], with
// placeholders for the sandbox.
func (r *Recorder) encodeAnswer(from answerOrigin, reply *model.Response, failure error) ([]byte, error) {
	if from.recorded != nil {
		return rawjson.Marshal(from.recorded)
	}
	out := recordedAnswer{Response: reply}
	if failure != nil {
		out.Error = newRecordedError(failure)
	}
	text, err := rawjson.Marshal(out)
	return r.replacers.normalizeAnswer(text), err
}
