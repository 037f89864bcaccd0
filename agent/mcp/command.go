package mcp

import (
	"context"
	"strings"
	"time"

	"assay/agent/builtin/tools"
	"assay/agent/command"
)

// taskPlaceholder stands for the task in an argument.
const taskPlaceholder = "{task}"

// commandRunner starts the configured command for each query.
type commandRunner struct {
	cfg   Config
	agent *tools.ExternalAgent
	task  *currentTask
	end   func(error) // ends the agent

	clientConfig *clientConfig
}

// run starts the command for a query and waits for its end. Its error says that the command
// could not be started for the first query, or is the cause of ctx. For a later one that is only reported, and the
// query has ended, because code in the folder may be the cause. A command that fails without a submission ends the
// agent in an evaluation; elsewhere it is only reported.
func (r *commandRunner) run(ctx context.Context, task tools.ExternalTask) error {
	text := task.EarlierTasks + task.Text
	r.task.set(text)
	defer r.task.set("")
	isFirst := !r.clientConfig.isOurs
	started, err := r.start(text)
	switch {
	case err != nil && isFirst:
		return err
	case err != nil:
		r.agent.ReportError(err.Error())
		return nil
	}
	submitted := awaitExit(ctx, started, task.Submitted, r.cfg.CloseTimeout)
	if started.HasFailed() && !submitted && ctx.Err() == nil {
		if task.IsEvaluation {
			r.end(&command.Error{Text: started.ExitText()})
			<-ctx.Done()
		} else {
			r.agent.ReportError(started.ExitText())
		}
	}
	return context.Cause(ctx)
}

// arguments returns the command with the task in place of {task}, and whether it has {task}.
func (r *commandRunner) arguments(text string) (argv []string, hasTask bool) {
	for i, word := range r.cfg.Command {
		if i > 0 && strings.Contains(word, taskPlaceholder) {
			hasTask = true
			word = strings.ReplaceAll(word, taskPlaceholder, text)
		}
		argv = append(argv, word)
	}
	return argv, hasTask
}

// start writes the command's configuration and starts it, with the task on stdin unless an argument has it.
func (r *commandRunner) start(text string) (*command.Process, error) {
	if err := r.clientConfig.write(); err != nil {
		return nil, err
	}
	argv, hasTask := r.arguments(text)
	cfg := command.Config{
		Argv: argv, Dir: r.cfg.WorkDir, Env: append(append([]string{}, r.cfg.Environ...), "ASSAY_SOCKET="+r.cfg.Socket), Output: r.cfg.Stderr,
	}
	if !hasTask {
		cfg.Stdin = strings.NewReader(text)
	}
	return command.Start(cfg)
}

// awaitExit waits until the command's process group is gone. It stops the group when ctx
// ends, or closeTimeout after the submission. It returns true if there was a submission.
func awaitExit(ctx context.Context, process *command.Process, submission <-chan struct{}, closeTimeout time.Duration) (submitted bool) {
	var timeout <-chan time.Time
	for {
		select {
		case <-process.Exited():
			select {
			case <-submission:
				submitted = true
			default:
			}
			return submitted
		case <-submission:
			submitted, submission = true, nil
			timer := time.NewTimer(closeTimeout)
			defer timer.Stop()
			timeout = timer.C
		case <-timeout:
			timeout = nil
			process.Stop()
		case <-ctx.Done():
			process.Stop()
			return submitted
		}
	}
}
