package grading

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"assay/internal/model"
	"assay/testcases/grading/pyvalue"
)

const (
	judgeTimeout     = 3 * time.Minute // for the whole grading, including retries and delays
	defaultPassScore = 0.5             // without pass_score
)

// gradeLLMJudge asks a language model to judge the attempt by the criteria in prompt.
// The model sees task, answer, notebook and conversation as quoted data, see
// [judgeEvidence]. A reply that is not exactly in the requested form is requested once more;
// the second such reply is an error, see [parseJudgeVerdict]. The attempt passes if the judge
// says that it passed and gives at least pass_score.
//
// Metrics: model, score, pass_score, judge_passed, successes and failures; and of the
// calls: calls, input_tokens, output_tokens.
func gradeLLMJudge(ctx context.Context, config *pyvalue.Object, in Input) (Result, error) {
	c, err := readJudgeConfig(config)
	switch {
	case err != nil:
		return Result{}, pyvalue.ValueError("%v", err)
	case in.Judge == nil:
		return Result{}, newModelError("there is no model here to ask")
	}
	client, err := in.Judge(model.ResolveFileInName(c.model, in.Dir))
	if err != nil {
		return Result{}, newModelError("%v", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, judgeTimeout, fmt.Errorf("the judge had %v", judgeTimeout))
	defer cancel()
	j := &judgeConversation{client: client}
	verdict, err := j.askForVerdict(ctx, c.prompt, in)
	if err != nil {
		return Result{}, newModelError("%s: %v", c.model, err)
	}
	return c.verdictResult(verdict, j), nil
}

// newModelError returns an error of kind model with a formatted text.
func newModelError(format string, args ...any) *pyvalue.Error {
	return &pyvalue.Error{Kind: ErrorKindModel, Text: fmt.Sprintf(format, args...)}
}

// judgeConfig is the config of an llm_judge grader.
type judgeConfig struct {
	prompt, model string
	pass          pyvalue.Value // the least score that passes, a number from 0 to 1
}

// checkJudgeConfig returns an error if the config of an llm_judge is malformed.
func checkJudgeConfig(config *pyvalue.Object) error {
	_, err := readJudgeConfig(config)
	return err
}

// checkJudgeOpens returns an error if the model of an llm_judge cannot be opened, for example because
// its key is missing. It makes no call.
func checkJudgeOpens(config *pyvalue.Object, in Input) error {
	c, err := readJudgeConfig(config)
	if err != nil || in.Judge == nil {
		return err
	}
	if _, err := in.Judge(model.ResolveFileInName(c.model, in.Dir)); err != nil {
		return fmt.Errorf("the model %s: %w", c.model, err)
	}
	return nil
}

// readJudgeConfig reads the config of an llm_judge. It is an error if the prompt is
// blank, if the model's name is not known, or if pass_score is not from 0 to 1.
func readJudgeConfig(config *pyvalue.Object) (judgeConfig, error) {
	prompt, ok := config.Get("prompt").(pyvalue.String)
	if !ok || strings.TrimSpace(string(prompt)) == "" {
		return judgeConfig{}, fmt.Errorf("prompt: want the criteria to judge by, found %s", formatValue(config.Get("prompt")))
	}
	name, ok := config.Get("model").(pyvalue.String)
	if !ok {
		return judgeConfig{}, fmt.Errorf("model: want a string, found %s", pyvalue.KindOf(config.Get("model")))
	}
	if err := model.CheckName(string(name)); err != nil {
		return judgeConfig{}, fmt.Errorf("model: %w", err)
	}
	pass := config.Get("pass_score")
	if pass == nil {
		pass = pyvalue.Float(defaultPassScore)
	}
	if !isFraction(pass) {
		return judgeConfig{}, fmt.Errorf("pass_score: want a number from 0 to 1, found %s", formatValue(pass))
	}
	return judgeConfig{prompt: string(prompt), model: string(name), pass: pass}, nil
}

// verdictResult converts the verdict of a judge to a result. It has passed if the judge
// says so and the score is at least pass_score.
func (c judgeConfig) verdictResult(verdict *judgeVerdict, j *judgeConversation) Result {
	r := newGraderReport("Judge")
	for _, text := range verdict.successes {
		r.addLine(true, pyvalue.Str(text))
	}
	for _, text := range verdict.failures {
		r.addLine(false, pyvalue.Str(text))
	}
	enough, _ := pyvalue.LessOrEqual(c.pass, verdict.score) // cannot fail: both are numbers
	switch {
	case !verdict.passed:
		r.addFailure("the judge says that it did not pass: " + verdict.reasoning)
	case !enough:
		r.addFailure(fmt.Sprintf("the judge says that it passed but gives only %s, and %s is asked for: %s", formatValue(verdict.score), formatValue(c.pass), verdict.reasoning))
	default:
		r.addLine(true, fmt.Sprintf("score %s, at least %s: %s", formatValue(verdict.score), formatValue(c.pass), verdict.reasoning))
	}
	r.metrics.Set("model", pyvalue.String(c.model))
	r.metrics.Set("score", verdict.score)
	r.metrics.Set("pass_score", c.pass)
	r.metrics.Set("judge_passed", pyvalue.Bool(verdict.passed))
	r.metrics.Set("successes", verdict.successes)
	r.metrics.Set("failures", verdict.failures)
	r.metrics.Set("calls", pyvalue.NewInt(j.calls))
	r.metrics.Set("input_tokens", pyvalue.NewInt(j.usage.PromptTokens()))
	r.metrics.Set("output_tokens", pyvalue.NewInt(j.usage.OutputTokens))
	score, _ := floatValue(verdict.score) // cannot fail: parseJudgeVerdict has checked it
	return r.result(score)
}

const (
	maxJudgeRetries = 3           // of one call that failed transiently
	firstRetryDelay = time.Second // doubles with each retry, unless the API says how long to wait
)

// judgeConversation is the conversation with a judge model, with its calls and tokens
// counted.
type judgeConversation struct {
	client model.Client
	calls  int64
	usage  model.Usage
}

// askForVerdict asks a judge model for a verdict, and once more if the reply is not
// one. A second such reply is an error.
func (j *judgeConversation) askForVerdict(ctx context.Context, criteria string, in Input) (*judgeVerdict, error) {
	question, err := judgeUserPrompt(criteria, in)
	if err != nil {
		return nil, err
	}
	req := model.Request{
		System:   []model.Block{model.Text(judgeSystemPrompt)},
		Messages: []model.Message{{Role: model.RoleUser, Content: []model.Block{model.Text(question)}}},
	}
	reply, err := j.callWithRetries(ctx, req)
	if err != nil {
		return nil, err
	}
	verdict, wrong := parseJudgeVerdict(reply)
	if wrong == nil {
		return verdict, nil
	}
	req.Messages = append(req.Messages, correctionMessages(reply, wrong)...)
	if reply, err = j.callWithRetries(ctx, req); err != nil {
		return nil, err
	}
	verdict, stillWrong := parseJudgeVerdict(reply)
	if stillWrong != nil {
		return nil, fmt.Errorf("the judge gave no verdict, twice: %w; then %w", wrong, stillWrong)
	}
	return verdict, nil
}

// callWithRetries makes one call of the judge model. After a transient error it calls
// again, up to three times.
func (j *judgeConversation) callWithRetries(ctx context.Context, req model.Request) (*model.Response, error) {
	wait := firstRetryDelay
	for retries := 0; ; retries++ {
		j.calls++
		reply, err := j.client.Complete(ctx, req, nil)
		if err == nil {
			j.usage = j.usage.Add(reply.Usage)
			return reply, nil
		}
		if !model.IsTransient(err) || retries == maxJudgeRetries {
			return nil, err
		}
		if err := waitBeforeRetry(ctx, wait, err); err != nil {
			return nil, err
		}
		wait *= 2
	}
}

// waitBeforeRetry waits before a failed call is repeated: as long as the API asked,
// otherwise for usual. If ctx has a deadline before that, it returns an error at once;
// if ctx ends while it waits, it returns an error then.
func waitBeforeRetry(ctx context.Context, usual time.Duration, failed error) error {
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
