package flow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"assay/internal/trace"
)

// LineSource yields the lines of a trace, the header first, each good until the
// next call, and after the last one io.EOF. A [Tail] is one, and so is what a
// server sends of a live session.
type LineSource interface {
	Next(ctx context.Context) ([]byte, error)
	Close() error
}

// Frame is an entry and the requests that it is part of.
type Frame struct {
	Line     []byte       // as it stands in the trace, good while the frame is looked at
	Record   trace.Record // without Msg, but for the hop "session" and agent_event
	Requests []*Request

	// Delay is the request whose delay is told with this frame: of each
	// request one frame has it. nil: there is nothing to tell here.
	DelayRequest *Request
}

// WalkFinished calls each with every frame of a trace that is over, or is read as if it
// were, until it returns an error, which Walk then returns. What a frame is part
// of is known to its end, and the delay is told with a request's first frame:
// for that open is called twice, and the second source is read ahead of the
// first, as far as needed. In memory are requests only, those between the two:
// as many as are asked while one waits, and the 4,096 that a [Joiner] remembers.
func WalkFinished(ctx context.Context, open func(context.Context) (LineSource, error), each func(Frame) error) error {
	here, err := openRecords(ctx, open)
	if err != nil {
		return err
	}
	defer here.source.Close()
	ahead, err := openRecords(ctx, open)
	if err != nil {
		return err
	}
	defer ahead.source.Close()
	known := newLookahead(ahead)
	flow := NewJoiner(known.forget)
	return here.forEach(ctx, func(line []byte, r trace.Record) error {
		frame := Frame{Line: line, Record: r}
		for _, q := range flow.Add(r) {
			q, err := known.resultOf(ctx, q)
			if err != nil {
				return err
			}
			frame.Requests = append(frame.Requests, q)
			if q.Asked.Seq == r.Seq {
				frame.DelayRequest = q
			}
		}
		return each(frame)
	})
}

// WalkLive calls each with every frame as it comes, until the source ends, or
// each returns an error, which Follow then returns. Requests are known as far as
// they have come, and the delay is told with the answer. Follow closes nothing.
func WalkLive(ctx context.Context, src LineSource, each func(Frame) error) error {
	from := &recordReader{source: src}
	if err := from.readHeader(ctx); err != nil {
		return err
	}
	flow := NewJoiner(nil)
	return from.forEach(ctx, func(line []byte, r trace.Record) error {
		frame := Frame{Line: line, Record: r, Requests: flow.Add(r)}
		for _, q := range frame.Requests {
			if q.endedAt().Seq == r.Seq {
				frame.DelayRequest = q
			}
		}
		return each(frame)
	})
}

// lookahead knows how requests end, by reading ahead.
type lookahead struct {
	reader          *recordReader
	joiner          *Joiner
	endedByFirstSeq map[int64]*Request // by the entry that began them
	atEnd           bool
}

func newLookahead(ahead *recordReader) *lookahead {
	f := &lookahead{reader: ahead, endedByFirstSeq: map[int64]*Request{}}
	f.joiner = NewJoiner(func(q *Request) { f.endedByFirstSeq[q.Asked.Seq] = q })
	return f
}

// resultOf returns q as it will have ended.
func (f *lookahead) resultOf(ctx context.Context, q *Request) (*Request, error) {
	for {
		if end := f.endedByFirstSeq[q.Asked.Seq]; end != nil {
			return end, nil
		}
		if f.atEnd {
			return q, nil
		}
		_, r, err := f.reader.next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			f.atEnd = true
			f.joiner.Finish()
		case err != nil:
			return nil, err
		default:
			f.joiner.Add(r)
		}
	}
}

// forget forgets a request of which no further frame will be shown.
func (f *lookahead) forget(q *Request) { delete(f.endedByFirstSeq, q.Asked.Seq) }

// recordReader reads entries from a source.
type recordReader struct {
	source     LineSource
	lineNumber int // the number of the last one, from 1
}

// openRecords opens a source and reads its header.
func openRecords(ctx context.Context, open func(context.Context) (LineSource, error)) (*recordReader, error) {
	src, err := open(ctx)
	if err != nil {
		return nil, err
	}
	e := &recordReader{source: src}
	if err := e.readHeader(ctx); err != nil {
		return nil, errors.Join(err, src.Close())
	}
	return e, nil
}

func (e *recordReader) readHeader(ctx context.Context) error {
	line, err := e.source.Next(ctx)
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: it has no first line", trace.ErrNotTrace)
	}
	if err != nil {
		return err
	}
	e.lineNumber = 1
	_, err = trace.ParseHeader(line)
	return err
}

// forEach calls f with every entry.
func (e *recordReader) forEach(ctx context.Context, f func(line []byte, r trace.Record) error) error {
	for {
		line, r, err := e.next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(line, r)
		}
		if err != nil {
			return err
		}
	}
}

func (e *recordReader) next(ctx context.Context) (line []byte, r trace.Record, err error) {
	line, err = e.source.Next(ctx)
	if err != nil {
		return nil, r, err
	}
	e.lineNumber++
	if r, err = parseOutline(line); err != nil {
		return nil, r, fmt.Errorf("line %d: %w: %w", e.lineNumber, trace.ErrNotTrace, err)
	}
	return line, r, nil
}

// parseOutline reads a line without its message, which is most of the line and
// comes last. Only entries about the session, which are short, and agent events,
// whose text is shown, are read with their message.
func parseOutline(line []byte) (r trace.Record, err error) {
	outline := trace.LineWithoutMessage(line)
	has := func(member string) bool { return bytes.Contains(outline, []byte(member)) }
	if len(outline) == len(line) || has(`"hop":"session"`) || has(`"type":"agent_event"`) {
		err = json.Unmarshal(line, &r)
		return r, err
	}
	if !bytes.HasSuffix(line, []byte("}")) {
		return r, errors.New("it does not end")
	}
	err = json.Unmarshal(outline, &r)
	return r, err
}
