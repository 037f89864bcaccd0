package server_test

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
)

// chaosFlags are for a longer chaos, and for one again.
func chaosFlags() {
	flag.Duration("chaos.for", 5*time.Second, "how long TestChaos makes trouble")
	flag.Uint64("chaos.seed", 0, "what TestChaos decides by; 0 is a new one")
}

// TestChaos lets kernels, agents, consoles and lines between them do what they
// should not, all at once, and then looks whether anything is left that should
// not be: a request without an answer, an attempt without an outcome, a gap in a
// trace, a cell that runs for ever, a goroutine, a process, a file. What everybody
// decides follows from a seed; when they meet does not.
//
//nolint:paralleltest // it counts goroutines and descriptors, of which others would have some
func TestChaos(t *testing.T) {
	lasts, err := time.ParseDuration(flag.Lookup("chaos.for").Value.String())
	require.NoError(t, err)
	seed, err := strconv.ParseUint(flag.Lookup("chaos.seed").Value.String(), 10, 64)
	require.NoError(t, err)
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("again: go test -race ./server -run '^TestChaos$' -chaos.for %v -chaos.seed %d", lasts, seed)
	before, standing := descriptors(t), goleak.IgnoreCurrent()
	var panics bytes.Buffer // of handlers, which net/http recovers
	log.SetOutput(&panics)
	defer log.SetOutput(os.Stderr)

	var w *world
	t.Run("unrest", func(t *testing.T) { //nolint:paralleltest // as above
		w = newWorld(t, seed)
		w.rage(t, lasts)
		w.check(t)
	})
	require.Eventually(t, func() bool { return len(processes(t, w.marks)) == 0 }, 5*time.Second, 50*time.Millisecond, "%v", processes(t, w.marks))
	require.NoError(t, goleak.Find(standing))
	require.Empty(t, panics.String())
	after := descriptors(t)
	require.Len(t, after, len(before), "%v and %v", before, after)
}

// rage lets everybody loose for a while, and then ends the server.
func (w *world) rage(t *testing.T, lasts time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	var all sync.WaitGroup
	lines := []func(){}
	line := func(name string) string {
		p, end := newProxy(t, ctx, newDice(w.seed, name, "line"), w.house.url)
		lines = append(lines, end)
		return p.url
	}
	for i := range 2 * len(sessions()) {
		name, session := fmt.Sprintf("visitor-%d", i), sessions()[i/2]
		v := &visitor{dice: newDice(w.seed, name), world: w, name: name, person: session, session: session, url: line(name)}
		v.role = v.pick("holder", "view")
		if session == "held" || session == "viewed" {
			v.role = map[string]string{"held": "holder", "viewed": "view"}[session]
		}
		all.Go(func() { v.live(ctx) })
	}
	for i := range 2 {
		name := fmt.Sprintf("onlooker-%d", i)
		o := &onlooker{dice: newDice(w.seed, name), world: w, name: name, url: line(name)}
		all.Go(func() { o.live(ctx) })
	}
	all.Go(func() { w.shows(ctx) })
	<-ctx.Done()
	began := time.Now()
	w.house.stop()
	t.Logf("the server ended within %v", time.Since(began))
	require.Less(t, time.Since(began), 30*time.Second)
	all.Wait()
	for _, end := range lines {
		end()
	}
}

// check looks at what is left.
func (w *world) check(t *testing.T) {
	t.Helper()
	defer func() {
		for _, fault := range w.faults {
			t.Error(fault)
		}
	}()
	files := w.traces(t)
	begun := map[time.Time]string{} // the traces, by when they began
	for _, path := range files {
		within := actionLimit
		if strings.Contains(path, "/try-") {
			within = 10 * time.Second // attempts have the usual limits
		}
		begun[w.checkTrace(t, path, within).UTC()] = path
	}
	for _, live := range w.lives {
		w.checkLife(t, live, begun)
	}
	outcomes := map[runs.Outcome]int{}
	for _, result := range w.outcomes {
		outcomes[result.Outcome]++
		if result.Outcome == runs.OutcomeHarnessError || result.Outcome == "" {
			w.complain(fmt.Sprintf("an attempt has outcome %q: %s", result.Outcome, result.Detail))
		}
	}
	require.Len(t, w.outcomes, len(w.paths), "an outcome for each attempt")
	left, err := os.ReadDir(w.boxes)
	require.NoError(t, err)
	require.Empty(t, left, "sandboxes")
	t.Logf("%d sessions, %d traces, outcomes %v", len(w.lives), len(files), outcomes)
}
