package server_test

import (
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"
)

// dice decide what one actor of the chaos does. Each actor has its own, so that
// with the same seed it decides the same, whatever the others do meanwhile. It is
// for one goroutine.
type dice struct{ *rand.Rand }

func newDice(seed uint64, actor ...string) *dice {
	name := fnv.New64a()
	_, _ = name.Write([]byte(strings.Join(actor, "\x00")))
	return &dice{rand.New(rand.NewPCG(seed, name.Sum64()))}
}

// chance is true once in so many throws.
func (d *dice) chance(once int) bool { return d.IntN(once) == 0 }

func (d *dice) pick(of ...string) string { return of[d.IntN(len(of))] }

// upTo is a time shorter than most.
func (d *dice) upTo(most time.Duration) time.Duration { return time.Duration(d.Int64N(int64(most))) }

// pause returns after a time, or false as soon as done is closed.
func pause(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-done:
		return false
	}
}

// nonsense is a body that is no message, or one that nobody expects.
func (d *dice) nonsense() []byte {
	switch d.IntN(12) {
	case 0:
		return []byte(`{"type":`)
	case 1:
		return []byte(`[{"type":"start_cell"}]`)
	case 2:
		return []byte("\xff\xfe{}")
	case 3:
		return []byte(`{}`)
	case 4:
		return []byte(`{"type":"telepathy","cell_id":7,"tx_id":[]}`)
	case 5:
		return []byte(`{"type":"agent_action","type":null}`)
	case 6:
		return []byte("\x00\x01\xff\xffshort")
	case 7:
		return []byte("\x00\x07\x01\x00cno stream")
	case 8:
		return nested(d.pick("cell_output", "cell_result"), d.IntN(30_000))
	case 9:
		return nested(d.pick("cell_output", "cell_result"), 9_990+d.IntN(20))
	case 10:
		return []byte(`{"type":"\ud800","tx_id":"\udfff\u0000"} {}`)
	default:
		text := make([]byte, 1+d.IntN(2000))
		for i := range text {
			text[i] = byte(d.Uint32())
		}
		return text
	}
}

// nested is a message that is deep.
func nested(kind string, levels int) []byte {
	return []byte(`{"type":"` + kind + `","cell_id":"a","output":{"output_type":"display_data","metadata":{},"data":{"image/x":` +
		strings.Repeat("[", levels) + strings.Repeat("]", levels) + `}}}`)
}
