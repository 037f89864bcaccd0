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
	"assay/internal/model/rawjson"
)

// ErrNotRecorded says that a [Recording] holds no such request that has not been
// played yet.
var ErrNotRecorded = errors.New("the request was not recorded")

// MatchMode says which of the recorded calls answers a request.
type MatchMode string

// The ways to match.
const (
	MatchStrict MatchMode = "strict" // the next one in which the same was asked
	MatchOrder  MatchMode = "order"  // the next one, whatever was asked
)

// CheckMatchMode says whether there is a match of that name.
func CheckMatchMode(name string) error {
	switch MatchMode(name) {
	case MatchStrict, MatchOrder:
		return nil
	}
	return fmt.Errorf("match is %s or %s, not %q", MatchStrict, MatchOrder, name)
}

// Replayer is a model that plays a [Recording] from its beginning. Errors are
// played like replies; each call is played once.
//
// It is strict unless it plays by order: what it is asked must equal a recorded
// request that it has not answered yet, but for the model's name and what the
// [Normalizer] keeps out. Equal requests get the recorded answers in their order.
// What it was not asked when it was recorded, and by order one request more than
// there are, is an error that wraps [ErrNotRecorded]; the strict one names the
// first difference from the next recorded request. Markers of what is to be
// cached are part of a request: where the API was told otherwise the difference
// is at /system/0/cache_control or the like.
//
// It is safe for concurrent use, though by order it is then a matter of luck who
// gets which answer.
type Replayer struct {
	recording *Recording
	match     MatchMode
	session   string // whose calls were looked for
	replacers replacers

	mu      sync.Mutex
	calls   []recordedCall
	played  []bool // by call
	lastEnd time.Time
}

// NewReplayer returns a model that plays the recording, strictly and on no occasion
// in particular.
func (r *Recording) NewReplayer() *Replayer {
	return &Replayer{recording: r, match: MatchStrict, calls: slices.Clone(r.calls), played: make([]bool, len(r.calls))}
}

// NewReplayer returns a model that plays what was [Occasion.Read] on the occasion; ""
// is MatchStrict. By order it is an error when that is of several sessions, and
// none of them the occasion's.
func (o Normalizer) NewReplayer(r *Recording, match MatchMode) (*Replayer, error) {
	replay := r.NewReplayer()
	replay.session, replay.replacers = o.Session, o.newReplacers()
	if match != "" {
		replay.match = match
	}
	if replay.match == MatchOrder && replay.playsOtherSessions() && len(r.sessions()) > 1 {
		return nil, fmt.Errorf("%s: none of the calls is of session %q and they are of %d others, so there is no order to play them in",
			r.name, o.Session, len(r.sessions()))
	}
	if len(r.calls) > 0 {
		replay.lastEnd = r.calls[0].time
	}
	return replay, nil
}

// playsOtherSessions tells whether the calls are of other sessions than was looked for.
func (r *Replayer) playsOtherSessions() bool {
	if r.session == "" {
		return false
	}
	for session := range r.recording.sessions() {
		if withoutNumber(session) == withoutNumber(r.session) {
			return false
		}
	}
	return true
}

// ModelName is the name of the model whose calls are played: of the first of them.
func (r *Replayer) ModelName() string {
	if len(r.recording.calls) == 0 {
		return ""
	}
	return r.recording.calls[0].origin.modelName
}

// Clock is a clock by which the replay goes on as the recorded calls did: it
// shows when the call ended that was played last, and before there was one, when
// the first did. It is nil when that was not written down.
func (r *Replayer) Clock() func() time.Time {
	if len(r.recording.calls) == 0 || r.recording.calls[0].time.IsZero() {
		return nil
	}
	return func() time.Time {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.lastEnd
	}
}

// Complete plays the call that answers the request.
func (r *Replayer) Complete(ctx context.Context, req model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	_, reply, err := r.playCall(ctx, req, onDelta)
	return reply, err
}

// playCall also says where the answer comes from.
func (r *Replayer) playCall(ctx context.Context, req model.Request, onDelta func(model.Delta)) (origin, *model.Response, error) {
	from := origin{modelName: r.ModelName()}
	if ctx.Err() != nil {
		return from, nil, context.Cause(ctx)
	}
	body, err := req.Encode(from.modelName)
	if err != nil {
		return from, nil, err
	}
	c, err := r.take(&replayKey{raw: r.replacers.normalizeRequest(body)})
	if err != nil {
		return from, nil, err
	}
	from = c.origin
	said, err := r.restore(*from.recorded)
	switch {
	case err != nil:
		return from, nil, err
	case said.Error != nil:
		return from, nil, said.Error.toError()
	}
	for i, b := range said.Response.Content {
		model.EmitBlock(onDelta, i, b)
	}
	return from, said.Response, nil
}

// restore is a recorded answer, with what belongs to this occasion put into it. It
// is the caller's.
func (r *Replayer) restore(recorded answer) (said answer, err error) {
	text, err := rawjson.Marshal(recorded)
	if err != nil {
		return said, fmt.Errorf("write the answer again: %w", err)
	}
	return said, json.Unmarshal(r.replacers.restoreAnswer(text), &said)
}

// take finds the call to play, which is played no second time.
func (r *Replayer) take(asked *replayKey) (recordedCall, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := -1
	for i := range r.calls {
		c := &r.calls[i]
		if r.played[i] {
			continue
		}
		same := r.match == MatchOrder
		if !same {
			var err error
			if same, err = c.key.equal(asked); err != nil {
				return recordedCall{}, fmt.Errorf("%s:%d: %w", r.recording.name, c.line, err)
			}
		}
		if same {
			r.played[i], r.lastEnd = true, c.time
			return *c, nil
		}
		if next < 0 {
			next = i
		}
	}
	return recordedCall{}, r.notRecordedError(next, asked)
}

// notRecordedError is the error of a request that was not recorded; next is the recorded
// call that was to be played, -1 if there is none.
func (r *Replayer) notRecordedError(next int, asked *replayKey) error {
	calls, of := r.calls, ""
	if r.playsOtherSessions() {
		of = fmt.Sprintf(" (none in it is of session %q)", r.session)
	}
	if next < 0 {
		return fmt.Errorf("%s: %w: all of the %d calls in it have been played%s", r.recording.name, ErrNotRecorded, len(calls), of)
	}
	var wanted, have any
	if err := errors.Join(decodeNumbers([]byte(calls[next].key.canonical), &wanted), decodeNumbers([]byte(asked.canonical), &have)); err != nil {
		return err
	}
	d := firstDiff("", wanted, have)
	return fmt.Errorf("%s:%d: %w: at %q the next recorded one has %s, this one has %s%s",
		r.recording.name, calls[next].line, ErrNotRecorded, d.pointer, d.want, d.have, of)
}
