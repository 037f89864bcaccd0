package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagGroups lists the groups of flags in the help of commands with many flags: a heading,
// a colon, and names of flags. A flag with an asterisk is shown only by --help-all.
const flagGroups = `
Common flags:       agent model kernel case id jobs addr out ui wall token-file
Selection:          tag meta first epochs data only
Agent and model:    person strategy model-arg name system* agent-env* agent-network* agent-read agent-write* agent-home record cache memory-dir* skills-dir* state-dir* max-eval-iters* max-model-calls gateway*
Kernel and sandbox: python network memory pool preload* sandbox sandbox-agent sandbox-read sandbox-root* processes* open-files* disk* ready* stdio-limit* frame-limit*
Limits:             cell idle turns actions tokens cost trace-limit* grace* session-idle*
Server:             headless runs console-role* origin* allow-remote* session socket attach url
Output:             json progress quiet log log-format* redact*
`

// maxUngroupedFlags is the largest number of flags that the help shows as one list.
const maxUngroupedFlags = 16

// helpAllFlag shows the help with all flags. It is replaced before the command line is
// parsed, so that like --help it works without the arguments that a command requires.
const helpAllFlag = "--help-all"

// replaceHelpAllFlag replaces --help-all by --help in args, and returns whether it was there.
// Arguments after "--" are not changed.
func replaceHelpAllFlag(args []string) (out []string, isGiven bool) {
	out = slices.Clone(args)
	for i, arg := range out {
		if arg == "--" {
			break
		}
		if arg == helpAllFlag {
			out[i], isGiven = "--help", true
		}
	}
	return out, isGiven
}

// printHelp prints the help of a command to its stdout: its description, usage, example,
// subcommands and flags.
func (p *cli) printHelp(cmd *cobra.Command, _ []string) {
	out := cmd.OutOrStdout()
	description := cmd.Long
	if description == "" {
		description = cmd.Short
	}
	_, _ = fmt.Fprintf(out, "%s\n\nUsage:\n  %s\n", strings.TrimSpace(description), cmd.UseLine())
	if cmd.Example != "" {
		_, _ = fmt.Fprintf(out, "\nExample:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		_, _ = fmt.Fprintln(out, "\nCommands:")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				_, _ = fmt.Fprintf(out, "  %-*s %s\n", cmd.CommandPathPadding(), sub.Name(), sub.Short)
			}
		}
	}
	p.printFlagGroups(out, cmd)
}

// printFlagGroups prints the flags of a command, in groups if it has many.
func (p *cli) printFlagGroups(out io.Writer, cmd *cobra.Command) {
	left := pflag.NewFlagSet("", pflag.ContinueOnError)
	left.SortFlags = false
	cmd.InheritedFlags().VisitAll(left.AddFlag)
	cmd.LocalFlags().VisitAll(left.AddFlag)
	count := 0
	left.VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			count++
		}
	})
	shown := map[string]bool{}
	hidden := 0
	if count > maxUngroupedFlags {
		for line := range strings.Lines(strings.TrimSpace(flagGroups)) {
			heading, names, _ := strings.Cut(line, ":")
			group := pflag.NewFlagSet("", pflag.ContinueOnError)
			group.SortFlags = false
			for name := range strings.FieldsSeq(names) {
				name, rare := strings.CutSuffix(name, "*")
				flag := left.Lookup(name)
				if flag == nil || flag.Hidden {
					continue
				}
				shown[name] = true
				if rare && !p.showAllFlags {
					hidden++
					continue
				}
				group.AddFlag(flag)
			}
			printFlagGroup(out, heading, group)
		}
	}
	rest := pflag.NewFlagSet("", pflag.ContinueOnError)
	left.VisitAll(func(flag *pflag.Flag) {
		if !shown[flag.Name] {
			rest.AddFlag(flag)
		}
	})
	heading := "Flags"
	if len(shown) > 0 {
		heading = "Other flags"
	}
	printFlagGroup(out, heading, rest)
	if hidden > 0 {
		_, _ = fmt.Fprintf(out, "\n%d rarely used flags are not shown: assay %s %s\n", hidden, strings.TrimPrefix(cmd.CommandPath(), "assay "), helpAllFlag)
	}
}

func printFlagGroup(out io.Writer, heading string, flags *pflag.FlagSet) {
	if flags.HasAvailableFlags() {
		_, _ = fmt.Fprintf(out, "\n%s:\n%s", heading, flags.FlagUsages())
	}
}
