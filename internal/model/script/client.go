package script

import (
	"context"

	"assay/internal/model"
)

// Client returns a model that plays the script in this process, from its beginning.
func (s *Script) Client() model.Client { return client{s.NewPlayer()} }

// client is the model that [Script.Client] returns. It plays the script without a
// server.
type client struct{ player *Player }

// Complete plays the next reply of the script, after its delay. It returns the scripted
// API error or fault, an error if the script has no matching reply, and the cause of
// ctx if ctx ends.
func (c client) Complete(ctx context.Context, req model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	r, err := c.player.NextReply(req.Turn, req.Messages)
	if err != nil {
		return nil, err
	}
	if err := r.WaitDelay(ctx); err != nil {
		return nil, err
	}
	if r.Refusal != nil {
		return nil, r.Refusal
	}
	content := make([]model.Block, len(r.Content))
	for i, b := range r.Content {
		if b.Type == model.BlockToolUse {
			b.Input = model.RepairToolInput(r.ToolInput(i))
		}
		content[i] = b
	}
	if r.Fault != nil {
		if err := r.playFault(ctx, onDelta); err != nil {
			return nil, err
		}
	} else {
		for i, b := range content {
			model.EmitBlockDeltas(onDelta, i, b)
		}
	}
	return &model.Response{Content: content, StopReason: r.StopReason, Usage: r.Usage}, nil
}

// playFault reports the deltas of the events that come before the fault, and returns
// the error that a client would report for the fault. It returns nil if the fault
// leaves the reply complete.
func (r *Reply) playFault(ctx context.Context, onDelta func(model.Delta)) error {
	if r.Fault.ReplacesAnswer() {
		return r.Fault.clientError()
	}
	happened := false
	events := r.streamEvents()
	for sent, delta := range events {
		if !happened && (sent == r.Fault.After || sent == len(events)-1) {
			happened = true
			if r.Fault.losesReply() {
				return r.Fault.clientError()
			}
			r.Fault.WaitStall(ctx.Done())
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		if delta != nil && onDelta != nil {
			onDelta(*delta)
		}
	}
	return nil
}
