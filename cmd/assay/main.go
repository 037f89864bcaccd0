// Command assay is an eval-harness for notebook agents. It has a file for each
// subcommand, and is the only package that reads arguments, environment and
// standard streams.
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
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Exit statuses, for every subcommand.
const (
	exitOK     = 0
	exitFailed = 1 // something did not pass
	exitUsage  = 2 // the command was not understood, or its input is bad
	exitBroken = 3 // the harness or its environment broke
)

func main() { os.Exit(run(os.Args, os.Stdin, os.Stdout, os.Stderr)) }

// process is what a subcommand has of the process it runs in.
type process struct {
	self    string // path of this program, to start itself as helper and agent
	environ []string
	in      io.Reader
	out     io.Writer // results
	err     io.Writer // everything else, through the screen
	screen  *screen

	level     slog.LevelVar
	helpAll   bool   // --help-all was given
	logGiven  bool   // the level was set by --log
	logFormat string // text or json
}

// statusError ends the program with a status, and says why unless err is nil.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.status)
	}
	return e.err.Error()
}

func (e *statusError) Unwrap() error { return e.err }

func usage(err error) error  { return &statusError{exitUsage, err} }
func broken(err error) error { return &statusError{exitBroken, err} }

// run is the whole program: it returns its exit status.
func run(args []string, in io.Reader, out, errOut io.Writer) int {
	screen := newScreen(errOut)
	stderr := newPatient(screen)
	defer stderr.close()
	p := &process{self: ownPath(args[0]), environ: os.Environ(), in: in, out: out, err: stderr, screen: screen}
	root := p.command()
	words, all := takeHelpAll(args[1:])
	p.helpAll = all
	root.SetArgs(words)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.ExecuteContext(context.Background())
	if err == nil {
		return exitOK
	}
	var status *statusError
	if !errors.As(err, &status) {
		status = &statusError{exitUsage, err} // cobra's own are about usage
	}
	if status.err != nil {
		_, _ = fmt.Fprintf(stderr, "assay: %v\n", status.err)
	}
	return status.status
}

// ownPath is how this program was started, as a path that works from every
// folder.
func ownPath(name string) string {
	if found, err := exec.LookPath(name); err == nil {
		if path, err := filepath.Abs(found); err == nil {
			return path
		}
	}
	if path, err := os.Executable(); err == nil {
		return path
	}
	return name
}

func (p *process) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "assay",
		Short: "Run and watch evaluations of notebook agents",
		Long: `Assay puts an agent in front of a live notebook, lets it work, decides whether
it is done, grades what it left behind, and records every message that passed.

Every flag can be given in the environment too: --out as ASSAY_OUT.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return p.fromEnvironment(cmd.Flags())
		},
	}
	p.addLogFlags(root.PersistentFlags())
	root.Version = version
	root.SetVersionTemplate(versionLine())
	root.SetHelpFunc(p.help)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return explainFlagError(err) })
	root.AddCommand(p.runCommand(), p.serveCommand(), p.lintCommand(), p.gradeCommand(), p.agentCommand(), p.mcpCommand(), p.mockmodelCommand(), p.traceCommand(), p.doctorCommand(), p.versionCommand(), p.reapCommand(), p.fenceCommand(), p.jupyterCommand())
	return root
}

// fromEnvironment sets the flags that were not given from ASSAY_<FLAG>.
func (p *process) fromEnvironment(flags *pflag.FlagSet) error {
	var err error
	flags.VisitAll(func(flag *pflag.Flag) {
		name := "ASSAY_" + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
		value, set := p.getenv(name)
		if flag.Changed || !set || err != nil {
			return
		}
		if problem := flags.Set(flag.Name, value); problem != nil {
			err = usage(fmt.Errorf("%s: %w", name, explainFlagError(problem)))
		}
	})
	return err
}

func (p *process) getenv(name string) (value string, set bool) {
	for _, entry := range p.environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value, true
		}
	}
	return "", false
}
