package openai

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"assay/internal/model/endpoint"
)

// readResponseBody reads the body of a response, which is an event stream or one JSON object,
// and adds it to reply. It stops at the end of the reply or at the first error of reply,
// which it returns. A body that is neither is an ErrNotEventStream; an empty one is no
// error.
func readResponseBody(body io.Reader, reply replyBuilder) error {
	in := bufio.NewReader(body)
	first, err := peekNonSpace(in)
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	case first == '{':
		return readUnstreamedReply(in, reply)
	case strings.IndexByte("d:eir", first) >= 0: // begins data, a comment, event, id or retry
		return readEventStream(in, reply)
	default:
		text, err := io.ReadAll(io.LimitReader(in, endpoint.MaxExcerptBytes))
		return errors.Join(fmt.Errorf("%w, nor JSON: %s", endpoint.ErrNotEventStream, endpoint.CollapseSpace(endpoint.TextExcerpt(string(text)))), err)
	}
}

// peekNonSpace returns the next byte that is not white space, without consuming it. It
// skips white space before it.
func peekNonSpace(in *bufio.Reader) (byte, error) {
	for {
		next, err := in.Peek(1)
		if err != nil {
			return 0, err
		}
		if !strings.ContainsRune(" \t\r\n", rune(next[0])) {
			return next[0], nil
		}
		_, _ = in.Discard(1)
	}
}

func readUnstreamedReply(in io.Reader, reply replyBuilder) error {
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	return reply.AddWhole(text)
}

// readEventStream reads an event stream in which each data line is one event, up to the end
// of the reply or of the stream. A line longer than MaxLineBytes is an ErrAnswerTooLong.
func readEventStream(in io.Reader, reply replyBuilder) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, endpoint.MaxLineBytes)
	for !reply.IsDone() && lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		data = bytes.TrimSpace(data)
		if !ok || len(data) == 0 { // a comment, the name of the event, or another field
			continue
		}
		if err := reply.AddEvent(data); err != nil {
			return cmp.Or(lines.Err(), err) // an event that breaks off is malformed JSON
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return endpoint.ErrAnswerTooLong
	}
	return lines.Err()
}
