package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"assay/internal/protocol"
	"assay/internal/trace"
)

const (
	// watcherPatience is how long a watcher may take to read a line.
	watcherPatience = 10 * time.Second

	// closeBroken is the close code for a trace that cannot be read: the
	// watcher must not take it for the end of the session.
	closeBroken protocol.CloseCode = 1011
)

// Why a watcher's connection ends, beside io.EOF, which is the trace's end, and
// the cause of the context.
var (
	errWatcherGone = errors.New("the watcher has left")
	errWatcherSlow = errors.New("too slow: it has not read a line in time")
	errUnreadable  = errors.New("the trace cannot be read")
)

// wanted is what a watcher wants to see of a trace, beside its header.
type wanted struct {
	from  int64 // the first entry
	brief bool  // entries less what they carry
}

// watch sends a watcher the trace that tail reads from its beginning: the
// header, then the entries that are wanted, and on as they come, each line as
// one message. It goes at the watcher's pace, which costs whoever writes
// the trace nothing. It returns nil when the trace has ended, the watcher has
// left or ctx has ended, and otherwise why it did not go on: the watcher is too
// slow, or the trace cannot be read. conn is closed then; tail is the caller's.
func watch(ctx context.Context, conn protocol.Conn, tail *trace.Tail, want wanted) error {
	return watchWithin(ctx, conn, tail, want, watcherPatience)
}

// watchWithin is watch with another patience.
func watchWithin(ctx context.Context, conn protocol.Conn, tail *trace.Tail, want wanted, patience time.Duration) error {
	return tell(ctx, conn, patience, func(ctx context.Context, write func([]byte) error) error {
		return sendTrace(ctx, tail, want.from, func(line []byte) error {
			if want.brief {
				line = trace.LineWithoutMessage(line)
			}
			return write(line)
		})
	})
}

// tell lets send write messages to a watcher, each of which may take as long as
// patience. What it returns is as of watch; conn is closed then.
func tell(ctx context.Context, conn protocol.Conn, patience time.Duration, send func(context.Context, func([]byte) error) error) error {
	ctx, end := context.WithCancelCause(ctx)
	slow := time.AfterFunc(patience, func() { end(errWatcherSlow) })
	slow.Stop() // it runs while a line is written
	var others sync.WaitGroup
	others.Go(func() { end(readOver(conn)) })
	others.Go(func() {
		<-ctx.Done()
		_ = conn.Close(farewell(context.Cause(ctx))) // ends the read, and a write that waits
	})
	end(send(ctx, func(message []byte) error {
		slow.Reset(patience)
		defer slow.Stop()
		return conn.Write(message)
	}))
	others.Wait()
	if cause := context.Cause(ctx); errors.Is(cause, errWatcherSlow) || errors.Is(cause, errUnreadable) {
		return cause
	}
	return nil
}

// sendTrace sends the header, and lines until there are no more.
func sendTrace(ctx context.Context, tail *trace.Tail, from int64, send func([]byte) error) error {
	for first := true; ; first = false {
		line, err := tail.Next(ctx)
		if err == nil && send(line) != nil {
			return errWatcherGone
		}
		if err == nil && first {
			err = tail.SkipTo(ctx, from)
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF), ctx.Err() != nil:
			return err
		default:
			return fmt.Errorf("%w: %w", errUnreadable, err)
		}
	}
}

// readOver passes over what a watcher sends, until it leaves.
func readOver(conn protocol.Conn) error {
	for {
		if _, err := conn.Read(); err != nil {
			return errWatcherGone
		}
	}
}

// farewell is what a watcher is told at the end.
func farewell(cause error) (code protocol.CloseCode, reason string) {
	switch {
	case errors.Is(cause, io.EOF):
		return protocol.CloseNormal, "the session has ended"
	case errors.Is(cause, errWatcherGone):
		return protocol.CloseNormal, ""
	case errors.Is(cause, errWatcherSlow):
		return protocol.ClosePolicyViolation, cause.Error()
	case errors.Is(cause, errUnreadable):
		return closeBroken, cause.Error()
	default:
		return protocol.CloseGoingAway, "the server is stopping"
	}
}
