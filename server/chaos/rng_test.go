package chaos_test

import (
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"
)

// rng decides what one actor does. Every actor has its own, seeded with its name: with
// the same seed it decides the same, whatever the others do meanwhile. It is not safe
// for concurrent use.
type rng struct{ *rand.Rand }

// newRNG returns the rng of the actor with this name, which may have several parts.
func newRNG(seed uint64, actor ...string) *rng {
	name := fnv.New64a()
	_, _ = name.Write([]byte(strings.Join(actor, "\x00")))
	return &rng{rand.New(rand.NewPCG(seed, name.Sum64()))}
}

// oneIn returns true with probability 1/n.
func (r *rng) oneIn(n int) bool { return r.IntN(n) == 0 }

// pickText returns one of the texts.
func (r *rng) pickText(texts ...string) string { return texts[r.IntN(len(texts))] }

// durationBelow returns a duration from 0 to limit.
func (r *rng) durationBelow(limit time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(limit)))
}

// sleepUnlessDone waits for d, and returns false early if done is closed.
func sleepUnlessDone(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-done:
		return false
	}
}

// garbage returns the body of a frame that is no message, or an unexpected one.
func (r *rng) garbage() []byte {
	switch r.IntN(12) {
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
		return deeplyNestedMessage(r.pickText("cell_output", "cell_result"), r.IntN(30_000))
	case 9:
		return deeplyNestedMessage(r.pickText("cell_output", "cell_result"), 9_990+r.IntN(20))
	case 10:
		return []byte(`{"type":"\ud800","tx_id":"\udfff\u0000"} {}`)
	default:
		text := make([]byte, 1+r.IntN(2000))
		for i := range text {
			text[i] = byte(r.Uint32())
		}
		return text
	}
}

// deeplyNestedMessage returns a message that contains JSON arrays nested this deep.
func deeplyNestedMessage(messageType string, levels int) []byte {
	return []byte(`{"type":"` + messageType + `","cell_id":"a","output":{"output_type":"display_data","metadata":{},"data":{"image/x":` +
		strings.Repeat("[", levels) + strings.Repeat("]", levels) + `}}}`)
}
