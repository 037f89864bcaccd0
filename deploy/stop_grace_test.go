package deploy_test

import (
	"go/constant"
	"go/types"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
)

// longestShutdownTime returns how long assay serve and assay run may take to end after a
// signal: the sum of all timeouts on the way, one after the other. Graders are not
// included, because a signal interrupts them.
func longestShutdownTime(t *testing.T) time.Duration {
	t.Helper()
	const (
		session    = "assay/eval/session"
		subprocess = "assay/internal/subprocess"
	)
	steps := []struct{ pkg, name string }{
		{session, "InterruptGrace"},                           // running cells stop
		{session, "CollectTimeout"},                           // context, globals and reactivity are read
		{session, "stopTimeout"},                              // the agent stops
		{session, "stopTimeout"},                              // the kernel stops
		{"assay/router", "peerFinishTimeout"},                 // peers read what is queued for them
		{"assay/internal/protocol", "closeTimeout"},           // consoles answer the close
		{"assay/server", "shutdownTimeout"},                   // HTTP requests end
		{subprocess, "cgroupRemoveTimeout"},                   // the reaper removes the cgroups
		{subprocess, "cgroupRemoveTimeout"},                   // the server checks them once more
		{"assay/cmd/assay/internal/terminal", "flushTimeout"}, // the log is written
	}
	paths := make([]string, len(steps))
	for i, step := range steps {
		paths[i] = step.pkg
	}
	loaded, err := packages.Load(&packages.Config{Dir: repositoryRoot, Context: t.Context(), Mode: packages.NeedName | packages.NeedTypes | packages.NeedSyntax | packages.NeedImports}, paths...)
	require.NoError(t, err)
	scopes := map[string]*types.Scope{}
	for _, pkg := range loaded {
		scopes[pkg.PkgPath] = pkg.Types.Scope()
	}
	var sum time.Duration
	for _, step := range steps {
		declared, ok := scopes[step.pkg].Lookup(step.name).(*types.Const)
		require.True(t, ok, "package %s has no constant %s any more: correct longestShutdownTime", step.pkg, step.name)
		value, exact := constant.Int64Val(declared.Val())
		require.True(t, exact)
		sum += time.Duration(value)
	}
	return sum
}
