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
	"assay/cmd/assay/internal/exit"
)

// defaultAskModel is the default of --model for assay agent ask.
const defaultAskModel = "anthropic/claude-sonnet-5-5"

// askFlags are the flags of assay agent ask.
type askFlags struct{ builtin builtinAgentFlags }

// add adds the flags of the built-in agent that apply to a single prompt.
func (f *askFlags) add(flags *pflag.FlagSet) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.builtin.add(all)
	f.builtin.memoryDir, f.builtin.model = "memory", defaultAskModel
	memoryDir, model := all.Lookup("memory-dir"), all.Lookup("model")
	memoryDir.DefValue, memoryDir.Usage = f.builtin.memoryDir, "`folder` with the five memory files"
	model.DefValue, model.Usage = f.builtin.model, "`model`: anthropic/ID, openai/ID, script:FILE, or replay:FILE (recorded calls)"
	for _, flag := range []*pflag.Flag{memoryDir, model, all.Lookup("name"), all.Lookup("system"), all.Lookup("model-arg"), all.Lookup("record")} {
		flags.AddFlag(flag)
	}
}

func (p *cli) newAskCommand() *cobra.Command {
	f := &askFlags{}
	cmd := &cobra.Command{
		Use:   "ask ['PROMPT']",
		Short: "Answer one prompt, with a memory and without a notebook",
		Long: fmt.Sprintf(`Print the answer to one prompt on stdout. The model gets the text of the five
memory files, soul.md, user.md, telos.md, context.md and harness.md. It can read
them again and add to context.md; it has no other tools. A reply has at most %d
tokens, unless --model-arg max_tokens is given. Retries are reported on stderr.

Exit status: 0 answered, 1 no answer (stderr has the reason) or no prompt,
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

// ask prints the answer to a prompt, or on stderr why there is none.
func (p *cli) ask(ctx context.Context, f *askFlags, prompt string) error {
	if strings.TrimSpace(prompt) == "" {
		_, _ = fmt.Fprintln(p.stdout, "Usage: assay agent ask 'Your prompt here'")
		return exit.FailedError()
	}
	if err := f.builtin.readSystemFile(); err != nil {
		return exit.UsageError(err)
	}
	ctx, interrupt := p.cancelOnSignal(ctx)
	defer interrupt.stop()
	answer, err := p.answerPrompt(ctx, f, prompt)
	if interrupted := interrupt.exitError(); interrupted != nil {
		return interrupted
	}
	if err != nil {
		_, _ = fmt.Fprintf(p.stderr, "Error: %v\n", err)
		return exit.FailedError()
	}
	if _, err := fmt.Fprintln(p.stdout, answer); err != nil {
		return exit.BrokenError(err)
	}
	return nil
}

// answerPrompt returns the model's answer. It checks the memory files before it opens
// the model.
func (p *cli) answerPrompt(ctx context.Context, f *askFlags, prompt string) (string, error) {
	if err := tools.CheckMemoryFiles(f.builtin.memoryDir); err != nil {
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
	if err := f.builtin.checkRecordFlag(); err != nil {
		return "", err
	}
	stop, err := f.builtin.startRecording(p, &cfg)
	if err != nil {
		return "", err
	}
	answer, err := tools.Ask(ctx, tools.Config{Agent: cfg, MemoryDir: f.builtin.memoryDir}, prompt)
	return answer, errors.Join(err, stop())
}
