package rescore

import (
	"context"
	"errors"
	"sync"

	"assay/internal/model"
	"assay/internal/model/replay"
)

// judgeOpener returns the function that opens models for graders of one attempt. Calls that are
// in the recording, which may be nil, are replayed; others go to the model that
// RegradeConfig.OpenJudge opens, and are recorded.
func (s *regrader) judgeOpener(recording *replay.Recording) func(name string) (model.Client, error) {
	live := func(name string) (model.Client, error) {
		if s.cfg.OpenJudge == nil {
			return nil, errors.New("no model is available for judges")
		}
		client, err := s.cfg.OpenJudge(name)
		if err != nil {
			return nil, err
		}
		return replay.Normalizer{Redactor: s.cfg.Redactor}.NewRecordingClient(name, client, s.judgeCalls), nil
	}
	if recording == nil {
		return live
	}
	replays := map[string]model.Client{} // by model name: one client for all judges, because a recording is replayed in order
	return func(name string) (model.Client, error) {
		if replays[name] == nil {
			replays[name] = recording.CallsOfModel(name).NewReplayer()
		}
		return replayingModel{recorded: replays[name], openLive: sync.OnceValues(func() (model.Client, error) { return live(name) })}, nil
	}
}

// replayingModel is a model client that answers calls from a recording, and passes calls that
// are not recorded on to a real model.
type replayingModel struct {
	recorded model.Client
	openLive func() (model.Client, error) // opens the model for the other calls
}

// Complete implements [model.Client]. It fails if the call is not recorded and no real model
// can be opened.
func (r replayingModel) Complete(ctx context.Context, req model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	reply, err := r.recorded.Complete(ctx, req, onDelta)
	if !errors.Is(err, replay.ErrNotRecorded) {
		return reply, err
	}
	client, err := r.openLive()
	if err != nil {
		return nil, err
	}
	return client.Complete(ctx, req, onDelta)
}
