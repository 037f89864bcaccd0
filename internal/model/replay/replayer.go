package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"assay/internal/model"
	"assay/internal/rawjson"
)

// ErrNotRecorded means that a [Recording] has no remaining call that answers the
// request.
var ErrNotRecorded = errors.New("the request was not recorded")

// MatchMode says how a Replayer chooses the recorded call that answers a request. Each
// call is played once.
type MatchMode string

// The match modes.
const (
	MatchStrict MatchMode = "strict" // the next call with an equal request
	MatchOrder  MatchMode = "order"  // the next call, whatever its request was
)

// CheckMatchMode returns an error if name is not one of the [MatchMode] values.
func CheckMatchMode(name string) error {
	switch MatchMode(name) {
	case MatchStrict, MatchOrder:
		return nil
	}
	return fmt.Errorf("match is %s or %s, not %q", MatchStrict, MatchOrder, name)
}

// Replayer is a model that plays a [Recording] from its beginning. Recorded errors are
// played like replies; each call is played once.
//
// With [MatchStrict], a request must equal the request of a recorded call that was not
// played yet, apart from the model's name and from what the [Normalizer] removes. Equal
// requests get the recorded answers in their order. A request that was not recorded is
// an error that wraps [ErrNotRecorded] and names the first difference from the next
// recorded request, as a JSON pointer. Cache markers are part of a request: a
// difference in them is at /system/0/cache_control or the like. With [MatchOrder], the
// next recorded call answers any request, and only a request after the last recorded
// call is such an error.
//
// A Replayer is safe for concurrent use. With MatchOrder, concurrent requests get their
// answers in no particular order.
type Replayer struct {
	recording *Recording
	match     MatchMode
	session   string // of the Normalizer
	replacers sandboxPathReplacers

	mu          sync.Mutex
	calls       []recordedCall
	played      []bool    // by index in calls
	lastEndedAt time.Time // when the call that was played last had ended, before that the first call
}

// NewReplayer returns a model that plays the recording with [MatchStrict] and without a
// [Normalizer].
func (r *Recording) NewReplayer() *Replayer {
	return &Replayer{recording: r, match: MatchStrict, calls: slices.Clone(r.calls), played: make([]bool, len(r.calls))}
}

// NewReplayer returns a model that plays a recording that [Normalizer.ReadRecording]
// has read. A match of "" means [MatchStrict]. With [MatchOrder] it is an error if the
// recording has calls of several sessions and none of the Normalizer's own: they have
// no common order.
func (n Normalizer) NewReplayer(r *Recording, match MatchMode) (*Replayer, error) {
	replayer := r.NewReplayer()
	replayer.session, replayer.replacers = n.Session, n.newReplacers()
	if match != "" {
		replayer.match = match
	}
	if replayer.match == MatchOrder && replayer.hasOnlyOtherSessions() && len(r.sessionNames()) > 1 {
		return nil, fmt.Errorf("%s: none of the calls is of session %q and they are of %d others, so there is no order to play them in",
			r.name, n.Session, len(r.sessionNames()))
	}
	if len(r.calls) > 0 {
		replayer.lastEndedAt = r.calls[0].time
	}
	return replayer, nil
}

// hasOnlyOtherSessions reports whether none of the recorded calls belongs to the
// Normalizer's session. The running number at the beginning of session names is
// ignored.
func (r *Replayer) hasOnlyOtherSessions() bool {
	if r.session == "" {
		return false
	}
	for session := range r.recording.sessionNames() {
		if withoutSessionNumber(session) == withoutSessionNumber(r.session) {
			return false
		}
	}
	return true
}

// ModelName returns the name of the recorded model: that of the first call, or "" if
// the recording is empty.
func (r *Replayer) ModelName() string {
	if len(r.recording.calls) == 0 {
		return ""
	}
	return r.recording.calls[0].origin.modelName
}

// Clock returns a clock that shows [Replayer.Time]. It returns nil if the recording has no times.
func (r *Replayer) Clock() func() time.Time {
	if r.Time().IsZero() {
		return nil
	}
	return r.Time
}

// Time returns when the call that was played last had ended, and before any call was played, when the
// first one had ended. It is zero if the recording has no times.
func (r *Replayer) Time() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lastEndedAt
}

// Complete answers a model call from the recording. It returns the recorded error if
// there is one, ErrNotRecorded if no call matches, and the cause of ctx if ctx has
// ended.
func (r *Replayer) Complete(ctx context.Context, req model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	_, reply, err := r.playCall(ctx, req, onDelta)
	return reply, err
}

// playCall answers a request from the recording, and also returns the recorded line
// that the answer comes from.
func (r *Replayer) playCall(ctx context.Context, req model.Request, onDelta func(model.Delta)) (answerOrigin, *model.Response, error) {
	from := answerOrigin{modelName: r.ModelName()}
	if ctx.Err() != nil {
		return from, nil, context.Cause(ctx)
	}
	body, err := req.Encode(from.modelName)
	if err != nil {
		return from, nil, err
	}
	answer, err := r.Play(apiMessages, body)
	if err != nil {
		return from, nil, err
	}
	if answer.Err != nil {
		return answer.origin, nil, answer.Err
	}
	for i, b := range answer.Response.Content {
		model.EmitBlockDeltas(onDelta, i, b)
	}
	return answer.origin, answer.Response, nil
}

// Answer is what a recording answers to a request.
type Answer struct {
	// Response is the reply; Err is the recorded error, and then Response may have what came before it.
	Response *model.Response
	Err      error

	Model string    // name of the model that replied; "": none did
	At    time.Time // when the call had ended; zero: it is not recorded

	origin answerOrigin
}

// Play answers a request, which is the body that an API gets, from the recording. It returns
// ErrNotRecorded if no call matches.
func (r *Replayer) Play(api string, body []byte) (*Answer, error) {
	request, err := r.replacers.normalizeBody(api, body)
	if err != nil {
		return nil, err
	}
	c, err := r.takeMatchingCall(&comparableRequest{api: api, raw: request})
	if err != nil {
		return nil, err
	}
	played, err := r.replacers.restoreRecorded(*c.origin.recorded)
	if err != nil {
		return nil, err
	}
	answer := &Answer{Response: played.Response, Model: c.origin.modelName, At: c.time, origin: c.origin}
	if played.Error != nil {
		answer.Err = played.Error.toError()
	}
	return answer, nil
}

// restoreRecorded returns a copy of a recorded answer with the path of this run's sandbox
// in place of the placeholders.
func (r sandboxPathReplacers) restoreRecorded(recorded recordedAnswer) (restored recordedAnswer, err error) {
	text, err := rawjson.Marshal(recorded)
	if err != nil {
		return restored, fmt.Errorf("write the answer again: %w", err)
	}
	return restored, json.Unmarshal(r.restoreAnswer(text), &restored)
}

// takeMatchingCall returns the recorded call that answers a request, and marks it as
// played. It returns an error that wraps ErrNotRecorded if there is none.
func (r *Replayer) takeMatchingCall(key *comparableRequest) (recordedCall, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := -1 // the first call that was not played
	for i := range r.calls {
		c := &r.calls[i]
		if r.played[i] {
			continue
		}
		same := r.match == MatchOrder
		if !same {
			var err error
			if same, err = c.key.equal(key); err != nil {
				return recordedCall{}, fmt.Errorf("%s:%d: %w", r.recording.name, c.line, err)
			}
		}
		if same {
			r.played[i], r.lastEndedAt = true, c.time
			return *c, nil
		}
		if next < 0 {
			next = i
		}
	}
	return recordedCall{}, r.notRecordedError(next, key)
}

// notRecordedError returns the error for a request that was not recorded, with the
// first difference from the call at index next, the first one that was not played. next
// is -1 if all calls were played.
func (r *Replayer) notRecordedError(next int, key *comparableRequest) error {
	calls, note := r.calls, ""
	if r.hasOnlyOtherSessions() {
		note = fmt.Sprintf(" (none in it is of session %q)", r.session)
	}
	if next < 0 {
		return fmt.Errorf("%s: %w: all of the %d calls in it have been played%s", r.recording.name, ErrNotRecorded, len(calls), note)
	}
	if recorded := calls[next].key.api; recorded != key.api {
		return fmt.Errorf("%s:%d: %w: the next recorded one is of the API %s, this one of %s%s", r.recording.name, calls[next].line, ErrNotRecorded, recorded, key.api, note)
	}
	var want, have any
	if err := errors.Join(decodeKeepingNumbers([]byte(calls[next].key.canonical), &want), decodeKeepingNumbers([]byte(key.canonical), &have)); err != nil {
		return err
	}
	d := firstDiff("", want, have)
	return fmt.Errorf("%s:%d: %w: at %q the next recorded one has %s, this one has %s%s",
		r.recording.name, calls[next].line, ErrNotRecorded, d.pointer, d.want, d.have, note)
}
