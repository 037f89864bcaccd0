package openai

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"assay/internal/model"
	"assay/internal/model/endpoint"
)

// replyChunk is one chunk of a streamed reply, or the whole reply of a server that does
// not stream.
type replyChunk struct {
	Choices []chunkChoice   `json:"choices"`
	Usage   *usageCounts    `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type chunkChoice struct {
	Index        int           `json:"index"`
	Delta        *messageDelta `json:"delta"`
	Message      *messageDelta `json:"message"` // whole answers only
	FinishReason string        `json:"finish_reason"`
}

type messageDelta struct {
	Content          json.RawMessage    `json:"content"`
	Refusal          string             `json:"refusal"`
	ReasoningContent string             `json:"reasoning_content"`
	Reasoning        json.RawMessage    `json:"reasoning"` // a string; some servers use this name
	ToolCalls        []toolCallDelta    `json:"tool_calls"`
	FunctionCall     *functionCallDelta `json:"function_call"`
}

type toolCallDelta struct {
	Index    *int              `json:"index"`
	ID       string            `json:"id"`
	Function functionCallDelta `json:"function"`
}

type functionCallDelta struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // a string, but some servers send an object
}

// usageCounts is the token usage in a chunk. PromptTokens includes the cached tokens.
type usageCounts struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
	Details          struct {
		CachedTokens     int64 `json:"cached_tokens"`
		CacheWriteTokens int64 `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
}

func (u *usageCounts) toUsage() model.Usage {
	read, write := endpoint.ClampTokenCount(u.Details.CachedTokens), endpoint.ClampTokenCount(u.Details.CacheWriteTokens)
	return model.Usage{
		InputTokens: endpoint.ClampTokenCount(u.PromptTokens - read - write), OutputTokens: endpoint.ClampTokenCount(u.CompletionTokens),
		CacheReadInputTokens: read, CacheCreationInputTokens: write,
	}
}

// readResponseBody reads the body of a response, which is an event stream or one JSON object,
// and passes each chunk to take. It stops at [DONE] or at the first error of take,
// which it returns. A body that is neither is an ErrNotEventStream; an empty one is no
// error.
func readResponseBody(body io.Reader, take func(*replyChunk) error) error {
	in := bufio.NewReader(body)
	first, err := peekNonSpace(in)
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	case first == '{':
		return readUnstreamedReply(in, take)
	case strings.IndexByte("d:eir", first) >= 0: // begins data, a comment, event, id or retry
		return readEventStream(in, take)
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

func readUnstreamedReply(in io.Reader, take func(*replyChunk) error) error {
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	return parseChunk(text, take)
}

// readEventStream reads an event stream in which each data line is one chunk, up to [DONE]
// or the end. A line longer than MaxLineBytes is an ErrAnswerTooLong.
func readEventStream(in io.Reader, take func(*replyChunk) error) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, endpoint.MaxLineBytes)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		data = bytes.TrimSpace(data)
		switch {
		case !ok || len(data) == 0: // a comment, the name of the event, or another field
		case string(data) == "[DONE]":
			return nil
		default:
			if err := parseChunk(data, take); err != nil {
				return cmp.Or(lines.Err(), err) // an event that breaks off is malformed JSON
			}
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return endpoint.ErrAnswerTooLong
	}
	return lines.Err()
}

func parseChunk(text []byte, take func(*replyChunk) error) error {
	var c replyChunk
	if err := json.Unmarshal(text, &c); err != nil {
		return fmt.Errorf("%w: %s: %w", model.ErrCutStream, endpoint.CollapseSpace(endpoint.TextExcerpt(string(text))), err)
	}
	return take(&c)
}
