package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"assay/agent/builtin"
	"assay/internal/model/replay"
)

// occasion is what this process knows of when and where its models are called:
// an agent that the server has started knows its session and its sandbox.
func (p *process) occasion() replay.Normalizer {
	session, _ := p.getenv("ASSAY_SESSION")
	sandbox, _ := p.getenv("LATCH_SANDBOX_ROOT")
	if session == "" || sandbox == "" {
		return replay.Normalizer{}
	}
	paths := []string{sandbox}
	if real, err := filepath.EvalSymlinks(sandbox); err == nil && real != sandbox {
		paths = append(paths, real)
	}
	return replay.Normalizer{Session: session, Sandbox: paths}
}

// checkRecord refuses a file for recorded calls that cannot be written, or that
// holds something already: the agents of a run append to it.
func (f *builtinFlags) checkRecord() error {
	if f.record == "" {
		return nil
	}
	switch info, err := os.Stat(f.record); {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return fmt.Errorf("--record: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("--record %s: not a plain file", f.record)
	case info.Size() > 0:
		return fmt.Errorf("--record %s: the file is not empty; name another, or remove it", f.record)
	}
	file, err := openRecord(f.record)
	if err != nil {
		return err
	}
	return file.Close()
}

// openRecord opens a file to which lines are appended, each by one write, which
// the system keeps apart from those of other processes.
func openRecord(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--record: %w", err)
	}
	return file, nil
}

// recording has the calls of the model written down, if --record says so. Whoever
// called it must call stop when the model is called no more.
func (f *builtinFlags) recording(p *process, cfg *builtin.Config) (stop func() error, err error) {
	if f.record == "" {
		return func() error { return nil }, nil
	}
	file, err := openRecord(f.record)
	if err != nil {
		return nil, err
	}
	occasion := p.occasion()
	if occasion.Clock = cfg.Clock; occasion.Clock == nil {
		occasion.Clock = time.Now
	}
	name := f.model
	if cfg.PriceUnknown {
		name += " elsewhere" // so that a replay has no price for it either
	}
	cfg.Model = occasion.Record(name, cfg.Model, file)
	return file.Close, nil
}

// replayed lets an agent go on as it did when the calls were recorded: by the
// clock of then, at the price of then, and waiting for nothing.
func replayed(cfg *builtin.Config, replay *replay.Replayer) {
	cfg.ModelName, cfg.Clock = replay.ModelName(), replay.Clock()
	cfg.Jitter = func() float64 { return 0 }
	cfg.Sleep = func(ctx context.Context, _ time.Duration) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	}
}
