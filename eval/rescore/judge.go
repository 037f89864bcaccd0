package rescore

import (
	"context"
	"errors"
	"sync"

	"assay/internal/model"
	"assay/internal/model/replay"
)

// judgeOpener opens models for the judges of one attempt: recorded, which may be nil,
// answers what it can, a live model the rest.
func (s *regrader) judgeOpener(recorded *replay.Recording) func(name string) (model.Client, error) {
	live := func(name string) (model.Client, error) {
		if s.cfg.OpenJudge == nil {
			return nil, errors.New("no model can be asked here")
		}
		client, err := s.cfg.OpenJudge(name)
		if err != nil {
			return nil, err
		}
		return replay.Record(name, client, s.judgeCalls), nil
	}
	if recorded == nil {
		return live
	}
	played := map[string]model.Client{} // one for all judges by that model, which were asked one after the other
	return func(name string) (model.Client, error) {
		if played[name] == nil {
			played[name] = recorded.OfModel(name).NewReplayer()
		}
		return replayingModel{recorded: played[name], live: sync.OnceValues(func() (model.Client, error) { return live(name) })}, nil
	}
}

// replayingModel is a model that is asked only what it was not asked before.
type replayingModel struct {
	recorded model.Client
	live     func() (model.Client, error)
}

// Complete plays the recorded call, or else makes one.
func (r replayingModel) Complete(ctx context.Context, req model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	reply, err := r.recorded.Complete(ctx, req, onDelta)
	if !errors.Is(err, replay.ErrNotRecorded) {
		return reply, err
	}
	client, err := r.live()
	if err != nil {
		return nil, err
	}
	return client.Complete(ctx, req, onDelta)
}
