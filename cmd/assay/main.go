// Command assay is an eval harness for notebook agents. It has one file per subcommand, and
// is the only package that reads arguments, environment and standard streams.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assay/cmd/assay/internal/exit"
	"assay/cmd/assay/internal/loglimit"
	"assay/cmd/assay/internal/terminal"
	"assay/cmd/assay/internal/textlog"
	"assay/internal/redact"
	"assay/server"
	"assay/testcases/lint"
)

func main() { os.Exit(runProgram(os.Args, os.Stdin, os.Stdout, os.Stderr)) }

// cli is the environment of a subcommand: arguments, standard streams and logging.
type cli struct {
	self    string   // path of this program, to start it as a helper, an agent or a launcher
	environ []string // NAME=VALUE entries
	stdin   io.Reader
	stdout  io.Writer // results
	stderr  io.Writer // everything else; writes do not wait, and go through screen
	screen  *terminal.Screen

	redactor *redact.Redactor // finds secrets in what is written
	secrets  []string         // values of --redact

	showAllFlags  bool          // --help-all was given
	logLevel      slog.LevelVar // of --log
	logLevelGiven bool          // --log or ASSAY_LOG was given
	logFormat     string        // text or json
	logLimit      *loglimit.Limit
}

// runProgram runs the program with these arguments, of which the first is its name, and streams.
// It returns the exit status.
func runProgram(args []string, in io.Reader, out, errOut io.Writer) int {
	screen := terminal.NewScreen(errOut)
	stderr := terminal.NewAsyncWriter(screen)
	defer stderr.Close()
	p := &cli{self: programPath(args[0]), environ: os.Environ(), stdin: in, stdout: out, screen: screen, logLimit: loglimit.New()}
	defer p.logLimit.Close()
	p.stderr = redactingWriter{p, stderr}
	_ = p.makeRedactor() // cannot fail without --redact
	root := p.newRootCommand()
	arguments, helpAll := replaceHelpAllFlag(args[1:])
	p.showAllFlags = helpAll
	root.SetArgs(arguments)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(p.stderr)
	err := root.ExecuteContext(context.Background())
	if err == nil {
		return exit.StatusOK
	}
	var status *exit.Error
	if !errors.As(err, &status) {
		status = &exit.Error{Status: exit.StatusUsage, Err: err} // cobra's own errors are about usage
	}
	if status.Err != nil {
		_, _ = fmt.Fprintf(p.stderr, "assay: %v\n", status.Err)
	}
	return status.Status
}

// programPath returns the absolute path of this program, which was started as name.
func programPath(name string) string {
	if path, err := lookPath(name); err == nil {
		return path
	}
	if path, err := os.Executable(); err == nil {
		return path
	}
	return name
}

// lookPath finds a program as a shell does, and returns its absolute path.
func lookPath(name string) (string, error) {
	found, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(found)
}

// cleanupHelperCommand returns the command of the helper that survives this program.
func (p *cli) cleanupHelperCommand() []string { return []string{p.self, "reap"} }

// sandboxLauncherCommand returns the command that starts another command in a sandbox.
func (p *cli) sandboxLauncherCommand() []string { return []string{p.self, "fence"} }

// newRootCommand returns the root command with all subcommands.
func (p *cli) newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "assay",
		Short: "Run and watch evaluations of notebook agents",
		Long: `Assay gives an agent a live notebook and a task, lets it work until it is done,
grades what it leaves behind, and records every message between them.

Every flag can also be given in the environment: --out as ASSAY_OUT.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          requireKnownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := p.setFlagsFromEnvironment(cmd); err != nil {
				return err
			}
			return p.makeRedactor()
		},
	}
	p.addLogFlags(root.PersistentFlags())
	p.addRedactFlag(root.PersistentFlags())
	root.Version = version
	root.SetVersionTemplate(versionLine())
	root.SetHelpFunc(p.printHelp)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return explainFlagError(cmd, err) })
	root.AddCommand(p.newRunCommand(), p.newServeCommand(), p.newLintCommand(), p.newGradeCommand(), p.newAgentCommand(), p.newMCPCommand(), p.newMockModelCommand(),
		p.newTraceCommand(), p.newDoctorCommand(), p.newVersionCommand(), p.newCleanupHelperCommand(), p.newSandboxLauncherCommand(), p.newJupyterBridgeCommand())
	explainArgsErrors(root)
	return root
}

// requireKnownCommand returns an error if there are arguments: the first is then not the name
// of a subcommand. The error names the subcommand that was probably meant.
func requireKnownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("unknown command %q: %s", args[0], suggest("", lint.NearestWord(args[0], subcommandNames(cmd)), cmd))
}

// subcommandNames returns the names of the subcommands of cmd that are not hidden.
func subcommandNames(cmd *cobra.Command) (names []string) {
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return names
}

// explainArgsErrors makes the subcommands of cmd, at every level, answer a wrong number of
// arguments with their usage, and a misspelt subcommand with its name.
func explainArgsErrors(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		explainArgsErrors(sub)
		check := sub.Args
		if check == nil {
			continue
		}
		sub.Args = func(cmd *cobra.Command, args []string) error {
			if cmd.HasSubCommands() && len(args) > 0 {
				if near := lint.NearestWord(args[0], subcommandNames(cmd)); near != "" {
					return fmt.Errorf("unknown command %q: %s", args[0], suggest("", near, cmd))
				}
			}
			if check(cmd, args) == nil {
				return nil
			}
			usage := strings.TrimSuffix(cmd.CommandPath(), cmd.Name()) + cmd.Use
			if len(args) == 0 {
				return fmt.Errorf("no arguments: want %s", usage)
			}
			return fmt.Errorf("arguments %q: want %s", args, usage)
		}
	}
}

// suggest returns a question whether the user meant the word near, or if that is empty a
// hint to the help of cmd.
func suggest(prefix, near string, cmd *cobra.Command) string {
	if near == "" {
		return cmd.CommandPath() + " -h lists them"
	}
	return "did you mean " + prefix + near + "?"
}

// childVariables are the variables that Assay sets for kernels and agents. They are not taken for
// flags: a program that an agent has started would act on that agent's session.
func childVariables() []string { return []string{"ASSAY_SESSION", "ASSAY_SOCKET"} }

// fromEnvironment is the annotation of flags that were set by setFlagsFromEnvironment.
const fromEnvironment = "environment"

// isOnCommandLine reports whether a flag was given on the command line. A variable may be set for several commands, of
// which some have no use for it.
func isOnCommandLine(flags *pflag.FlagSet, name string) bool {
	flag := flags.Lookup(name)
	_, isFromEnvironment := flag.Annotations[fromEnvironment]
	return flag.Changed && !isFromEnvironment
}

// setFlagsFromEnvironment sets each flag that was not given from its variable ASSAY_FLAG, except for
// childVariables.
func (p *cli) setFlagsFromEnvironment(cmd *cobra.Command) error {
	var err error
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		name := "ASSAY_" + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
		value, isSet := p.getenv(name)
		if flag.Changed || !isSet || err != nil || slices.Contains(childVariables(), name) {
			return
		}
		_ = cmd.Flags().SetAnnotation(flag.Name, fromEnvironment, nil) // the flag exists
		if flagErr := cmd.Flags().Set(flag.Name, value); flagErr != nil {
			err = exit.UsageError(fmt.Errorf("%s: %w", name, explainFlagError(cmd, flagErr)))
		}
	})
	return err
}

// getenv returns the value of an environment variable, and whether it is set.
func (p *cli) getenv(name string) (value string, isSet bool) {
	for _, entry := range p.environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// addLogFlags adds the flags for what is logged, and how.
func (p *cli) addLogFlags(flags *pflag.FlagSet) {
	p.logLevel.Set(slog.LevelWarn)
	p.logFormat = "text"
	flags.Var(logLevelFlag{p}, "log", "log `level` on stderr: debug, info, warn or error; info and debug include the messages between agent, notebook and kernel")
	flags.Var(choiceFlag{&p.logFormat, []string{"text", "json"}}, "log-format", "log format: `text|json`")
}

// newLogger returns a logger to stderr with the level and the format of the flags.
func (p *cli) newLogger() *slog.Logger {
	var handler slog.Handler = textlog.NewHandler(p.stderr, &p.logLevel, server.DefaultSessionID)
	if p.logFormat == "json" {
		handler = slog.NewJSONHandler(p.stderr, &slog.HandlerOptions{Level: &p.logLevel})
	}
	return slog.New(p.logLimit.NewHandler(handler))
}

// lowerLogLevel lowers the log level to level, unless --log or ASSAY_LOG was given.
func (p *cli) lowerLogLevel(level slog.Level) {
	if !p.logLevelGiven {
		p.logLevel.Set(min(level, p.logLevel.Level()))
	}
}

// wantsColor reports whether terminals may be sent colors.
func (p *cli) wantsColor() bool {
	noColor, _ := p.getenv("NO_COLOR")
	return noColor == ""
}
