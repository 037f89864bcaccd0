package main

import (
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// Every flag of a command with grouped help has a group, and flagGroups lists no unknown
// flag.
func TestEveryFlagHasAGroup(t *testing.T) {
	t.Parallel()
	grouped := map[string]bool{}
	for line := range strings.Lines(strings.TrimSpace(flagGroups)) {
		_, names, _ := strings.Cut(line, ":")
		for name := range strings.FieldsSeq(names) {
			name = strings.TrimSuffix(name, "*")
			require.NotContains(t, grouped, name, "listed twice")
			grouped[name] = false
		}
	}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.InitDefaultHelpFlag()
		var names []string
		cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			if !flag.Hidden && flag.Name != "help" {
				names = append(names, flag.Name)
			}
		})
		for _, name := range names {
			_, ok := grouped[name]
			require.True(t, ok || len(names) <= maxUngroupedFlags, "%s: --%s has no group in flagGroups", cmd.CommandPath(), name)
			if ok {
				grouped[name] = true
			}
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	p := &cli{stdout: io.Discard, stderr: io.Discard}
	p.logLevel.Set(slog.LevelWarn)
	visit(p.newRootCommand())
	for name, used := range grouped {
		require.True(t, used, "flagGroups lists --%s, which no command has", name)
	}
}
