package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assay/cmd/assay/internal/chat"
	"assay/cmd/assay/internal/exit"
)

func (p *cli) newChatCommand() *cobra.Command {
	f := &localSessionFlags{}
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Chat with the built-in agent in a separate session",
		Long: `Start a kernel and the built-in agent, and read prompts from stdin, one per line.
The agent gets a prompt at once, even while it works on others: with --strategy
blocks, the default, @LABEL PROMPT continues the conversation LABEL; the first
one is 1. All conversations share one kernel.

Stdout shows what the agent and code print, behind the label; stderr shows
retries, limits, tokens and cost. On a terminal output appears at once, otherwise
in the order of the prompts. A line that begins with a colon is a command:

` + chat.CommandHelp + `
After the end of the input the chat waits for running work. Ctrl-C cancels that
work; a second Ctrl-C without a line in between ends the chat.

Exit status: 0 the input has ended, 2 bad usage or input, 3 the session could not
start or the agent failed, 130 or 143 interrupted.`,
		Example: "  assay agent chat --model anthropic/claude-sonnet-5-5",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.chat(cmd.Context(), f) },
	}
	f.add(cmd, append(builtinAgentFlagNames(), "wall", "turns", "actions", "tokens", "cost", "max-model-calls")...)
	for _, limit := range [][2]string{
		{"wall", "`duration` that the work on one prompt may take"},
		{"turns", "maximum `number` of model replies to one prompt"},
		{"actions", "maximum `number` of notebook actions for one prompt"},
		{"tokens", "maximum `number` of tokens for one prompt, input and output together"},
		{"cost", "maximum cost of one prompt in `USD`"},
	} {
		cmd.Flags().Lookup(limit[0]).Usage = limit[1] + "; 0 is no limit"
	}
	f.host.builtin.strategy = "blocks"
	cmd.Flags().Lookup("strategy").DefValue = f.host.builtin.strategy
	return cmd
}

// builtinAgentFlagNames returns the names of the built-in agent's flags, without hidden ones.
func builtinAgentFlagNames() (names []string) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&builtinAgentFlags{}).add(flags)
	flags.VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			names = append(names, flag.Name)
		}
	})
	return names
}

// chat starts a session, chats until the input or a signal ends the chat, and ends the
// session.
func (p *cli) chat(ctx context.Context, f *localSessionFlags) error {
	ctx, interrupt := p.cancelOnSignal(ctx)
	s, err := p.startLocalSession(ctx, "chat", f)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	interrupt.stop()
	if err == nil {
		if interrupt.exitError() == nil {
			err = chat.Run(chat.Config{
				Session: s.Session.Session, Strategy: f.host.builtin.strategy, CellTimeout: s.cellTimeout(), TracePath: s.TracePath, KeepTrace: f.out != "",
				In: p.stdin, Out: p.stdout, Err: p.stderr, ErrIsTerminal: p.screen.IsTerminal(), Color: p.wantsColor(),
			}, signals)
		}
		signal.Stop(signals) // another signal ends this program, and the cleanup helper stops the rest
		err = errors.Join(err, s.close("the chat has ended"))
	}
	return interrupt.exitErrorOr(exit.FirstErrorOrBroken(err))
}
