package grading

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay/internal/model"
)

const (
	judgeRetries = 3           // of one call that failed and may succeed
	retryWait    = time.Second // before the first; it doubles, unless the API says how long
)

// judging is the conversation with a judge, and what it took.
type judging struct {
	client model.Client
	calls  int64
	usage  model.Usage
}

// verdict asks for a verdict, and once more if the reply is none.
func (j *judging) verdict(ctx context.Context, criteria string, in Input) (*verdict, error) {
	question, err := judgeQuestion(criteria, in)
	if err != nil {
		return nil, err
	}
	req := model.Request{
		System:   []model.Block{model.Text(judgeRules)},
		Messages: []model.Message{{Role: model.RoleUser, Content: []model.Block{model.Text(question)}}},
	}
	reply, err := j.ask(ctx, req)
	if err != nil {
		return nil, err
	}
	said, wrong := readVerdict(reply)
	if wrong == nil {
		return said, nil
	}
	req.Messages = append(req.Messages, askAgain(reply, wrong)...)
	if reply, err = j.ask(ctx, req); err != nil {
		return nil, err
	}
	said, stillWrong := readVerdict(reply)
	if stillWrong != nil {
		return nil, fmt.Errorf("the judge gave no verdict, twice: %w; then %w", wrong, stillWrong)
	}
	return said, nil
}

// ask makes one call, and makes it again while it fails for a reason that may
// pass.
func (j *judging) ask(ctx context.Context, req model.Request) (*model.Response, error) {
	wait := retryWait
	for retries := 0; ; retries++ {
		j.calls++
		reply, err := j.client.Complete(ctx, req, nil)
		if err == nil {
			j.usage = j.usage.Add(reply.Usage)
			return reply, nil
		}
		if !model.IsTransient(err) || retries == judgeRetries {
			return nil, err
		}
		if err := pause(ctx, wait, err); err != nil {
			return nil, err
		}
		wait *= 2
	}
}

// pause waits before a call is made again that ended with failed: for as long as
// the API asked, else for usual. If ctx ends before that, there is no use in
// waiting, and the error says so.
func pause(ctx context.Context, usual time.Duration, failed error) error {
	if api, ok := errors.AsType[*model.APIError](failed); ok && api.RetryAfter > 0 {
		usual = api.RetryAfter
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < usual {
		return fmt.Errorf("%w; there is no time left to wait %v and try again", failed, usual)
	}
	timer := time.NewTimer(usual)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w, while waiting after %w", context.Cause(ctx), failed)
	}
}
