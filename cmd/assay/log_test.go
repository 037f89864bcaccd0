package main

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/cmd/assay/internal/terminal"
)

// A subcommand's default log level applies unless --log or ASSAY_LOG is given.
func TestLowerLogLevel(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args, environ []string
		want          slog.Level
	}{
		"default":     {nil, nil, slog.LevelInfo},
		"--log error": {[]string{"--log", "error"}, nil, slog.LevelError},
		"--log warn":  {[]string{"--log", "warn"}, nil, slog.LevelWarn},
		"--log debug": {[]string{"--log", "debug"}, nil, slog.LevelDebug},
		"ASSAY_LOG":   {nil, []string{"ASSAY_LOG=error"}, slog.LevelError},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			p := &cli{environ: tc.environ, stdout: &out, stderr: &out, screen: terminal.NewScreen(&out)}
			root := p.newRootCommand()
			root.SetArgs(append([]string{"version"}, tc.args...))
			require.NoError(t, root.ExecuteContext(t.Context()))
			p.lowerLogLevel(slog.LevelInfo)
			require.Equal(t, tc.want, p.logLevel.Level())
		})
	}
}
