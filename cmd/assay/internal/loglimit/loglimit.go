// Package loglimit bounds how often a log repeats a warning, which an agent or a kernel may cause
// thousands of times in a second. What is left out is counted.
package loglimit

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

const (
	// Interval is the time over which repetitions are counted, from the first one on.
	Interval = 10 * time.Second

	// MaxLines is how often a warning with the same message and the same attributes of its
	// logger, such as the session, is logged in an Interval.
	MaxLines = 10
)

// Limit counts the warnings and errors of the handlers that it has made. It is safe for concurrent
// use. Its creator must Close it.
type Limit struct {
	mu       sync.Mutex
	warnings map[warningID]*warning // of intervals that have not ended
	closed   bool
}

// warningID tells warnings apart.
type warningID struct{ logger, message string }

// warning is a warning that was logged in an interval that has not ended.
type warning struct {
	lines   int // that were logged
	leftOut int // that were not
	end     *time.Timer

	// next logs how many were left out.
	next  slog.Handler
	level slog.Level
}

// New returns a Limit that has counted nothing.
func New() *Limit { return &Limit{warnings: map[warningID]*warning{}} }

// NewHandler returns a handler that passes records on to next, but of warnings and errors with one
// message at most [MaxLines] in an [Interval]. At the end of the interval it passes on a record that
// says how many there were beyond these.
func (l *Limit) NewHandler(next slog.Handler) slog.Handler { return handler{limit: l, next: next} }

// Close passes on what has been counted so far. From then on nothing is left out.
func (l *Limit) Close() {
	l.mu.Lock()
	ended := l.warnings
	l.warnings, l.closed = nil, true
	l.mu.Unlock()
	for id, w := range ended {
		w.end.Stop()
		w.logLeftOut(id.message)
	}
}

// countLine counts a warning that next is about to log, and reports whether it may.
func (l *Limit) countLine(id warningID, level slog.Level, next slog.Handler) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return true
	}
	w := l.warnings[id]
	if w == nil {
		w = &warning{next: next, level: level, end: time.AfterFunc(Interval, func() { l.endInterval(id) })}
		l.warnings[id] = w
	}
	if w.lines == MaxLines {
		w.leftOut++
		return false
	}
	w.lines++
	return true
}

// endInterval ends the interval of a warning.
func (l *Limit) endInterval(id warningID) {
	l.mu.Lock()
	w := l.warnings[id]
	delete(l.warnings, id)
	l.mu.Unlock()
	if w != nil {
		w.logLeftOut(id.message)
	}
}

// logLeftOut logs how many warnings with this message were left out, if any were.
func (w *warning) logLeftOut(message string) {
	if w.leftOut == 0 {
		return
	}
	record := slog.NewRecord(time.Now(), w.level, "repeated warnings were left out", 0)
	record.Add("warning", message, "count", w.leftOut, "in", Interval)
	_ = w.next.Handle(context.Background(), record) // as slog.Logger does
}

// handler is the handler that NewHandler returns.
type handler struct {
	limit  *Limit
	next   slog.Handler
	logger string // the attributes of WithAttrs and the groups of WithGroup
}

// Enabled reports whether next logs records of that level.
func (h handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle passes a record on unless it is left out.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn && !h.limit.countLine(warningID{h.logger, r.Message}, r.Level, h.next) {
		return nil
	}
	return h.next.Handle(ctx, r)
}

// WithAttrs returns a handler that adds attrs to each record.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.limit, h.next.WithAttrs(attrs), h.logger + fmt.Sprint(attrs)}
}

// WithGroup returns a handler that puts what is added later into a group.
func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.limit, h.next.WithGroup(name), h.logger + name + "."}
}
