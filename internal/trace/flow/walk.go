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

// LineSource yields the lines of a trace. Next returns the header first, and io.EOF after the
// last line; a line may be used until the next call. A [trace.Tail] is a LineSource, and so is
// the stream that a server sends of a live session.
type LineSource interface {
	Next(ctx context.Context) ([]byte, error)
	Close() error
}

// Frame is an entry of a trace together with the requests that it is part of.
type Frame struct {
	Line     []byte       // as the trace has it; may be used until the callback that got the frame returns
	Record   trace.Record // Message is set only for the hop "session", agent_event and calls of models
	Requests []*Request

	// DelayRequest is the request whose delay is shown with this frame; exactly one
	// frame of a request has it. nil: none.
	DelayRequest *Request
}

// WalkFinished calls each with every frame of a trace that has ended, or is read as if it had.
// The requests in a frame have their final state, and the delay of a request is shown with its
// first frame. It stops at the first error, of a source or of each, and returns it.
//
// It calls open twice: the second source is read ahead of the first until it is known
// how requests end. Only the requests between the two readers are in memory: those that are
// asked while one waits, and the 4,096 that a [Joiner] keeps.
func WalkFinished(ctx context.Context, open func(context.Context) (LineSource, error), each func(Frame) error) error {
	reader, err := openRecords(ctx, open)
	if err != nil {
		return err
	}
	defer reader.source.Close()
	ahead, err := openRecords(ctx, open)
	if err != nil {
		return err
	}
	defer ahead.source.Close()
	lookahead := newRequestLookahead(ahead)
	joiner := NewJoiner(lookahead.forgetRequest)
	return reader.forEach(ctx, func(line []byte, r trace.Record) error {
		frame := Frame{Line: line, Record: r}
		for _, q := range joiner.Add(r) {
			q, err := lookahead.finalStateOf(ctx, q)
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

// WalkLive calls each with every frame of a trace as it comes, until the source ends. The
// requests in a frame have their state so far, and the delay of a request is shown with its
// answer. It stops at the first error, of the source or of each, and returns it. It does not
// close the source.
func WalkLive(ctx context.Context, source LineSource, each func(Frame) error) error {
	reader := &recordReader{source: source}
	if err := reader.readHeader(ctx); err != nil {
		return err
	}
	joiner := NewJoiner(nil)
	return reader.forEach(ctx, func(line []byte, r trace.Record) error {
		frame := Frame{Line: line, Record: r, Requests: joiner.Add(r)}
		for _, q := range frame.Requests {
			if q.endEntry().Seq == r.Seq {
				frame.DelayRequest = q
			}
		}
		return each(frame)
	})
}

// requestLookahead finds out how requests end by reading a trace ahead of another reader.
type requestLookahead struct {
	reader          *recordReader
	joiner          *Joiner
	endedByFirstSeq map[int64]*Request // settled requests, by the number of their first entry
	atEnd           bool               // the reader has no more
}

// newRequestLookahead returns a lookahead that reads records from reader.
func newRequestLookahead(reader *recordReader) *requestLookahead {
	l := &requestLookahead{reader: reader, endedByFirstSeq: map[int64]*Request{}}
	l.joiner = NewJoiner(func(q *Request) { l.endedByFirstSeq[q.Asked.Seq] = q })
	return l
}

// finalStateOf returns the request that began with the same entry as q in its final state. It reads
// ahead until it knows, and fails if that fails.
func (l *requestLookahead) finalStateOf(ctx context.Context, q *Request) (*Request, error) {
	for {
		if settled := l.endedByFirstSeq[q.Asked.Seq]; settled != nil {
			return settled, nil
		}
		if l.atEnd {
			return q, nil
		}
		_, r, err := l.reader.nextRecord(ctx)
		switch {
		case errors.Is(err, io.EOF):
			l.atEnd = true
			l.joiner.Finish()
		case err != nil:
			return nil, err
		default:
			l.joiner.Add(r)
		}
	}
}

// forgetRequest drops the final state of a request of which no further frame will be shown.
func (l *requestLookahead) forgetRequest(q *Request) { delete(l.endedByFirstSeq, q.Asked.Seq) }

// recordReader reads the records of a trace from a LineSource.
type recordReader struct {
	source     LineSource
	lineNumber int // of the line that was read last, from 1
}

// openRecords opens a trace and reads its header. It fails if either fails.
func openRecords(ctx context.Context, open func(context.Context) (LineSource, error)) (*recordReader, error) {
	source, err := open(ctx)
	if err != nil {
		return nil, err
	}
	reader := &recordReader{source: source}
	if err := reader.readHeader(ctx); err != nil {
		return nil, errors.Join(err, source.Close())
	}
	return reader, nil
}

// readHeader reads the first line of a trace. It fails with [trace.ErrNotTrace] if that is not
// a header.
func (r *recordReader) readHeader(ctx context.Context) error {
	line, err := r.source.Next(ctx)
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: it has no first line", trace.ErrNotTrace)
	}
	if err != nil {
		return err
	}
	r.lineNumber = 1
	_, err = trace.ParseHeader(line)
	return err
}

// forEach calls f with every record of a trace and its line, until the source ends. It fails
// with the first error of the source or of f.
func (r *recordReader) forEach(ctx context.Context, f func(line []byte, record trace.Record) error) error {
	for {
		line, record, err := r.nextRecord(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(line, record)
		}
		if err != nil {
			return err
		}
	}
}

// nextRecord returns the next record of a trace and its line. It fails with io.EOF at the end,
// and with [trace.ErrNotTrace] if the line cannot be parsed.
func (r *recordReader) nextRecord(ctx context.Context) (line []byte, record trace.Record, err error) {
	line, err = r.source.Next(ctx)
	if err != nil {
		return nil, record, err
	}
	r.lineNumber++
	if record, err = parseWithoutMessage(line); err != nil {
		return nil, record, fmt.Errorf("line %d: %w: %w", r.lineNumber, trace.ErrNotTrace, err)
	}
	return line, record, nil
}

// parseWithoutMessage parses a line of a trace without its last member, the message, which is
// most of the line. Only entries about the session, which are short, and agent events, whose
// text is shown, are parsed with their message; the message of one about a call of a model is a
// part of line. It fails if the line is not the JSON of an entry.
func parseWithoutMessage(line []byte) (r trace.Record, err error) {
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
	if isModelHop(r.Hop) {
		r.Message = trace.LineMessage(line)
	}
	return r, err
}
