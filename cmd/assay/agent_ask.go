package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assay/agent/builtin/tools"
)

// askModel is the model that assay agent ask talks to unless --model says
// otherwise.
const askModel = "anthropic/claude-sonnet-5-5"

// askFlags are those of assay agent ask.
type askFlags struct{ builtin builtinFlags }

// add adds those of the built-in agent's flags that are of use here.
func (f *askFlags) add(flags *pflag.FlagSet) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.builtin.add(all)
	f.builtin.memoryDir, f.builtin.model = "memory", askModel
	folder, model := all.Lookup("memory-dir"), all.Lookup("model")
	folder.DefValue, folder.Usage = f.builtin.memoryDir, "`folder` with the five memory files"
	model.DefValue, model.Usage = f.builtin.model, "`model`: anthropic/ID, openai/ID, script:FILE, or replay:FILE (recorded calls)"
	for _, flag := range []*pflag.Flag{folder, model, all.Lookup("name"), all.Lookup("model-arg"), all.Lookup("record")} {
		flags.AddFlag(flag)
	}
}

func (p *process) askCommand() *cobra.Command {
	f := &askFlags{}
	cmd := &cobra.Command{
		Use:   "ask ['PROMPT']",
		Short: "Answer one prompt, with a memory and without a notebook",
		Long: fmt.Sprintf(`Answers one prompt on stdout. The model knows what stands in the five memory
files, soul.md, user.md, telos.md, context.md and harness.md, and may read them
and add to context.md; it has no other tools. A reply has at most %d tokens,
unless --model-arg max_tokens says otherwise. Retries are told on stderr.

Exit status: 0 answered, 1 no answer, and stderr says why, or no prompt,
2 bad usage, 130 or 143 interrupted.`, tools.AskMaxTokens),
		Example: "  ANTHROPIC_API_KEY=… assay agent ask 'What did I ask you to remember?'",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.ask(cmd.Context(), f, strings.Join(args, ""))
		},
	}
	f.add(cmd.Flags())
	return cmd
}

// ask answers a prompt. What goes wrong is said here.
func (p *process) ask(ctx context.Context, f *askFlags, prompt string) error {
	failed := &statusError{status: exitFailed}
	if strings.TrimSpace(prompt) == "" {
		_, _ = fmt.Fprintln(p.out, "Usage: assay agent ask 'Your prompt here'")
		return failed
	}
	ctx, interrupted := p.untilSignal(ctx)
	defer interrupted.stop()
	answer, err := p.answer(ctx, f, prompt)
	switch {
	case interrupted.status() != 0:
		return &statusError{status: interrupted.status()}
	case err != nil:
		_, _ = fmt.Fprintf(p.err, "Error: %v\n", err)
		return failed
	}
	if _, err := fmt.Fprintln(p.out, answer); err != nil {
		return broken(err)
	}
	return nil
}

// answer is what the model says. A faulty memory is found before the model is
// opened.
func (p *process) answer(ctx context.Context, f *askFlags, prompt string) (string, error) {
	if err := tools.CheckMemory(f.builtin.memoryDir); err != nil {
		return "", err
	}
	cfg, err := f.builtin.config(p)
	if err != nil {
		return "", err
	}
	cfg.Params.MaxTokens = cmp.Or(cfg.Params.MaxTokens, tools.AskMaxTokens)
	if err := cfg.Params.Check(f.builtin.model); err != nil {
		return "", err
	}
	if err := f.builtin.checkRecord(); err != nil {
		return "", err
	}
	stop, err := f.builtin.recording(p, &cfg)
	if err != nil {
		return "", err
	}
	answer, err := tools.Ask(ctx, tools.Config{Agent: cfg, MemoryDir: f.builtin.memoryDir}, prompt)
	return answer, errors.Join(err, stop())
}
