package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (p *process) chatCommand() *cobra.Command {
	f := &ownFlags{}
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Chat with the built-in agent in a separate session",
		Long: `Starts a kernel and the built-in agent and reads prompts from stdin, a line
each. A prompt is given to the agent at once, also while others are worked on:
with --strategy blocks, which is the default, @LABEL PROMPT speaks to the
conversation of that name, and the first is 1. All work in one kernel.

What agents and code say comes on stdout behind its label, retries, limits,
tokens and cost on stderr. On a terminal it comes as it is said, elsewhere in
the order of the prompts. A line that begins with a colon is a command:

` + chatHelp + `
At its end the input waits for what is under way. Ctrl-C cancels that, and
twice without a line between ends the chat.

Exit status: 0 the input has ended, 2 bad usage or input, 3 it could not start
or the agent broke, 130 or 143 interrupted.`,
		Example: "  assay agent chat --model anthropic/claude-sonnet-5-5",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.chat(cmd.Context(), f) },
	}
	f.add(cmd, append(builtinNames(), "wall", "turns", "actions", "tokens", "cost", "max-model-calls")...)
	for _, limit := range [][2]string{
		{"wall", "`duration` that the work on one prompt may take"},
		{"turns", "maximum `number` of model replies to one prompt"},
		{"actions", "maximum `number` of notebook actions for one prompt"},
		{"tokens", "maximum `number` of tokens for one prompt, input and output together"},
		{"cost", "most cost of one prompt in `USD`"},
	} {
		cmd.Flags().Lookup(limit[0]).Usage = limit[1] + "; 0 is no limit"
	}
	f.host.builtin.strategy = "blocks"
	cmd.Flags().Lookup("strategy").DefValue = f.host.builtin.strategy
	return cmd
}

// builtinNames are the flags of the built-in agent.
func builtinNames() (names []string) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&builtinFlags{}).add(flags)
	flags.VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			names = append(names, flag.Name)
		}
	})
	return names
}

// chat starts a session, talks until the input or a signal ends it, and ends the
// session.
func (p *process) chat(ctx context.Context, f *ownFlags) error {
	ctx, interrupted := p.untilSignal(ctx)
	o, err := p.startOwn(ctx, "chat", f)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	interrupted.stop()
	if err == nil {
		if interrupted.status() == 0 {
			err = newChat(o, f.host.builtin.strategy).run(signals)
		}
		signal.Stop(signals) // one more ends the program, and the helper what is left
		err = errors.Join(err, o.close("the chat has ended"))
	}
	if status := interrupted.status(); status != 0 {
		return &statusError{status: status}
	}
	if status, ok := errors.AsType[*statusError](err); ok {
		return status
	}
	if err != nil {
		return broken(err)
	}
	return nil
}
