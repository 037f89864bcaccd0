package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagGroups is the order of flags in the help of commands that have many: a heading,
// a colon, and names of flags. A name with an asterisk is shown by --help-all only.
const flagGroups = `
Common flags:       agent model kernel case id jobs addr out ui wall token
Selection:          tag meta first epochs data
Agent and model:    strategy model-arg name agent-env* record memory-dir* skills-dir* state-dir* max-eval-iters* max-model-calls
Kernel and sandbox: python network memory pool preload* sandbox sandbox-agent sandbox-read sandbox-root* processes* open-files* disk* ready* stdio-limit* frame-limit*
Limits:             cell idle turns actions tokens cost grace* session-idle*
Server:             headless runs console-role* origin* allow-remote* session socket url
Output:             json progress quiet log log-format*
`

// ungroupedFlags is the number of flags up to which a command's help is one list.
const ungroupedFlags = 16

// helpAllFlag asks for the help with all flags. It is handled before the command line is
// parsed, like --help, so that it works without the command's arguments.
const helpAllFlag = "--help-all"

// takeHelpAll replaces --help-all by --help in args, and returns whether it was there.
// What follows a -- is left alone.
func takeHelpAll(args []string) (out []string, all bool) {
	out = slices.Clone(args)
	for i, arg := range out {
		if arg == "--" {
			break
		}
		if arg == helpAllFlag {
			out[i], all = "--help", true
		}
	}
	return out, all
}

// help prints the help of a command to its stdout: what it does, how to call it, an
// example, subcommands, and its flags by group.
func (p *process) help(cmd *cobra.Command, _ []string) {
	out := cmd.OutOrStdout()
	about := cmd.Long
	if about == "" {
		about = cmd.Short
	}
	_, _ = fmt.Fprintf(out, "%s\n\nUsage:\n  %s\n", strings.TrimSpace(about), cmd.UseLine())
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
	p.helpFlags(out, cmd)
}

// helpFlags prints the flags of a command, in groups if it has many.
func (p *process) helpFlags(out io.Writer, cmd *cobra.Command) {
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
	if count > ungroupedFlags {
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
				if rare && !p.helpAll {
					hidden++
					continue
				}
				group.AddFlag(flag)
			}
			printFlags(out, heading, group)
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
	printFlags(out, heading, rest)
	if hidden > 0 {
		_, _ = fmt.Fprintf(out, "\n%d rarely used flags are not shown: assay %s %s\n", hidden, strings.TrimPrefix(cmd.CommandPath(), "assay "), helpAllFlag)
	}
}

func printFlags(out io.Writer, heading string, flags *pflag.FlagSet) {
	if flags.HasAvailableFlags() {
		_, _ = fmt.Fprintf(out, "\n%s:\n%s", heading, flags.FlagUsages())
	}
}

// explainFlagError makes the error about a flag's value say which flag, which value, and
// what is wanted instead.
func explainFlagError(err error) error {
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	flag := invalid.GetFlag()
	problem := invalid.Unwrap().Error()
	switch flag.Value.Type() {
	case "duration":
		problem = "want a duration with a unit, such as 30s, 5m or 1h30m"
	case "int", "int64":
		problem = "want a whole number"
	case "float64":
		problem = "want a number"
	case "bool":
		problem = "want true or false"
	}
	return fmt.Errorf("--%s %s: %s", flag.Name, invalid.GetValue(), problem)
}
