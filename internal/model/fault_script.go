package model

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go"
)

// suffer plays a reply with a fault: what a client gets of it that reads the
// events of the stream.
func (r *reply) suffer(ctx context.Context, onDelta func(Delta)) (*Response, error) {
	if r.fault.whole() {
		return nil, r.fault.failure()
	}
	reading := newReading(onDelta)
	sent := 0
	var err error
	r.events(message{Usage: r.usage}, func(name string, data map[string]any) {
		if due := sent == r.fault.after || name == "message_stop" && sent < r.fault.after; due && err == nil {
			err = r.fault.happen(ctx)
		}
		if sent++; err == nil {
			err = reading.scripted(name, data)
		}
	})
	if err != nil {
		return nil, err
	}
	return reading.response(), nil
}

// happen is the fault at its time. Without an error the reply goes on.
func (f *fault) happen(ctx context.Context) error {
	if f.fails() {
		return f.failure()
	}
	f.wait(ctx.Done())
	return context.Cause(ctx)
}

// scripted takes an event that was never on a wire.
func (r *reading) scripted(name string, data map[string]any) error {
	data["type"] = name
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	var e anthropic.MessageStreamEventUnion
	if err := json.Unmarshal(text, &e); err != nil {
		return fmt.Errorf("%s: %w", providerScript, err)
	}
	return r.event(e)
}
