package model

import (
	"context"
	"encoding/json"
	"time"
)

// Client returns a model that plays the script.
func (s *Script) Client() Client { return scripted{s.player()} }

// scripted is the model of a player.
type scripted struct{ player *player }

// Complete plays the next reply.
func (c scripted) Complete(ctx context.Context, req Request, onDelta func(Delta)) (*Response, error) {
	r, err := c.player.next(req.Turn, req.Messages)
	if err != nil {
		return nil, err
	}
	if err := r.wait(ctx); err != nil {
		return nil, err
	}
	if r.refusal != nil {
		return nil, r.refusal
	}
	if r.fault != nil {
		return r.suffer(ctx, onDelta)
	}
	content := make([]Block, len(r.content))
	for i, b := range r.content {
		switch {
		case r.cuts(i):
			b.Input = wrapInput(cutInput(b.Input))
		case b.Type == BlockToolUse:
			b.Input = wrapInput(string(orEmptyObject(b.Input)))
		}
		content[i] = b
		report(onDelta, i, b)
	}
	return &Response{Content: content, StopReason: r.stop, Usage: r.usage}, nil
}

// report hands on a block as if it had arrived in one piece.
func report(onDelta func(Delta), i int, b Block) {
	if onDelta == nil {
		return
	}
	text := b.Text + b.Thinking
	if b.Type == BlockToolUse {
		text = string(orEmptyObject(b.Input))
	}
	onDelta(Delta{Kind: DeltaStart, Index: i, Type: b.Type, ID: b.ID, Name: b.Name})
	onDelta(Delta{Kind: DeltaText, Index: i, Type: b.Type, Text: text})
	onDelta(Delta{Kind: DeltaStop, Index: i, Type: b.Type})
}

// wait lets the reply take its time.
func (r *reply) wait(ctx context.Context) error {
	timer := time.NewTimer(r.delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// cuts reports whether block i is a tool call in the middle of which the reply
// stops.
func (r *reply) cuts(i int) bool {
	return r.stop == StopMaxTokens && i == len(r.content)-1 && r.content[i].Type == BlockToolUse
}

// cutInput is what is left of an input when a reply stops in it.
func cutInput(input json.RawMessage) string {
	text := string(orEmptyObject(input))
	return text[:len(text)/2+len(text)%2]
}
