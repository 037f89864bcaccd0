package kernel

// Limiter makes the fold over one run's text usable from tests.
type Limiter struct{ run run }

// NewLimiter returns the limiter of a run of the cell "c".
func NewLimiter(limit int) *Limiter {
	l := &Limiter{run: newRun(limit)}
	l.run.start("c", nil)
	return l
}

// Add, End and Whole are those of run.
func (l *Limiter) Add(frame []byte, emit func([]byte))      { l.run.add(frame, emit) }
func (l *Limiter) End(emit func([]byte))                    { l.run.end(emit) }
func (l *Limiter) Whole(stream string, chunk []byte) []byte { return l.run.whole(stream, chunk) }

// FrameType is the type of a frame.
var FrameType = frameType //nolint:gochecknoglobals // an export for tests
