// Package chaos_test sends live servers what they should not get: TestChaos from all
// sides at once, the fuzz targets one input at a time.
package chaos_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"assay/eval/runs"
	"assay/server/servertest"
)

func TestMain(m *testing.M) {
	flag.Duration("chaos.for", 5*time.Second, "how long TestChaos runs")
	flag.Uint64("chaos.seed", 0, "seed of TestChaos's random decisions; 0 is a new one")
	servertest.RunTests(m, playRole)
}

// TestChaos runs faulty kernels, agents, consoles and network links at the same time
// for a while, and then looks for what must not be: a request without an answer, an
// attempt without an outcome, a gap in a trace, a cell that runs for ever, a goroutine,
// process, file or descriptor that is left. What each actor decides follows from the
// seed; when they interact does not.
//
//nolint:paralleltest // it counts goroutines and descriptors, and other tests would add some
func TestChaos(t *testing.T) {
	duration, err := time.ParseDuration(flag.Lookup("chaos.for").Value.String())
	require.NoError(t, err)
	seed, err := strconv.ParseUint(flag.Lookup("chaos.seed").Value.String(), 10, 64)
	require.NoError(t, err)
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("to repeat: go test -race ./server/chaos -run '^TestChaos$' -chaos.for %v -chaos.seed %d", duration, seed)
	filesBefore, existing := openFileTargets(t), goleak.IgnoreCurrent()
	var panics bytes.Buffer // in HTTP handlers, which net/http recovers and logs
	log.SetOutput(&panics)
	defer log.SetOutput(os.Stderr)

	var run *chaosRun
	t.Run("run", func(t *testing.T) { //nolint:paralleltest // as above
		run = newChaosRun(t, seed)
		run.runActors(t, duration)
		run.checkAfterStop(t)
	})
	require.Eventually(t, func() bool { return len(processesWithText(t, run.childDir)) == 0 }, 5*time.Second, 50*time.Millisecond, "%v", processesWithText(t, run.childDir))
	require.NoError(t, goleak.Find(existing))
	require.Empty(t, panics.String())
	filesAfter := openFileTargets(t)
	require.Len(t, filesAfter, len(filesBefore), "%v and %v", filesBefore, filesAfter)
}

// runActors runs all actors for a while, and then stops the server.
func (c *chaosRun) runActors(t *testing.T, duration time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), duration)
	defer cancel()
	var actors sync.WaitGroup
	stopProxies := []func(){}
	proxyURL := func(actor string) string {
		proxy, stop := startFaultyProxy(t, ctx, newRNG(c.seed, actor, "link"), c.harness.URL)
		stopProxies = append(stopProxies, stop)
		return proxy.url
	}
	for i := range 2 * len(sessionIDs()) {
		name, session := fmt.Sprintf("console-%d", i), sessionIDs()[i/2]
		console := &faultyConsole{rng: newRNG(c.seed, name), run: c, name: name, personName: session, session: session, url: proxyURL(name)}
		console.role = console.pickText("holder", "view")
		if session == "held" || session == "viewed" {
			console.role = map[string]string{"held": "holder", "viewed": "view"}[session]
		}
		actors.Go(func() { console.runUntilDone(ctx) })
	}
	for i := range 2 {
		name := fmt.Sprintf("observer-%d", i)
		o := &apiObserver{rng: newRNG(c.seed, name), run: c, name: name, url: proxyURL(name)}
		actors.Go(func() { o.runUntilDone(ctx) })
	}
	actors.Go(func() { c.publishAttempts(ctx) })
	<-ctx.Done()
	began := time.Now()
	c.harness.Stop()
	t.Logf("the server stopped within %v", time.Since(began))
	require.Less(t, time.Since(began), 30*time.Second)
	actors.Wait()
	for _, stop := range stopProxies {
		stop()
	}
}

// checkAfterStop reports what must not be after the server has stopped.
func (c *chaosRun) checkAfterStop(t *testing.T) {
	t.Helper()
	defer func() {
		for _, fault := range c.faults {
			t.Error(fault)
		}
	}()
	paths := c.traceFiles(t)
	byStart := map[time.Time]string{} // paths of traces by the time at which they began
	for _, path := range paths {
		timeout := actionTimeout
		if strings.Contains(path, "/attempt-") {
			timeout = 10 * time.Second // attempts have the default timeouts
		}
		byStart[c.checkTrace(t, path, timeout).UTC()] = path
	}
	for _, live := range c.sessions {
		c.checkSession(t, live, byStart)
	}
	outcomes := map[runs.Outcome]int{}
	for _, result := range c.results {
		outcomes[result.Outcome]++
		if result.Outcome == runs.OutcomeHarnessError || result.Outcome == "" {
			c.reportFault(fmt.Sprintf("an attempt has outcome %q: %s", result.Outcome, result.Detail))
		}
	}
	require.Len(t, c.results, len(c.attemptTraces), "one result for each attempt")
	left, err := os.ReadDir(c.workdirRoot)
	require.NoError(t, err)
	require.Empty(t, left, "working directories")
	t.Logf("%d sessions, %d traces, outcomes %v", len(c.sessions), len(paths), outcomes)
}
