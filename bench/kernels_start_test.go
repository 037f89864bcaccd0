//go:build bench

package bench_test

import (
	"testing"
	"time"

	"assay/kernel"
)

// measureStarts measures how long it takes from wanting a kernel to the result
// of its first cell.
func (k *kit) measureStarts(t *testing.T) (beside, floors [][]string) {
	t.Helper()
	bare, warm := k.pool(t, 2), k.pool(t, 2, "numpy", "pandas")
	turn := k.jupyterBirths(t)
	turn["served"] = k.serve(t).birth(t)
	turn["cold"] = k.birth(t, kernel.Config{}, oneAndOne)
	turn["cold fenced"] = k.birth(t, kernel.Config{Sandbox: k.fence}, oneAndOne)
	turn["cold imports"] = k.birth(t, kernel.Config{}, imports)
	turn["bare"] = rested(k.birth(t, kernel.Config{Pool: bare}, oneAndOne))
	turn["warm"] = rested(k.birth(t, kernel.Config{Pool: warm}, imports))
	turn["warm fenced"] = rested(k.birth(t, kernel.Config{Pool: warm, Sandbox: k.fence}, imports))
	turn["bare soon"] = inARow(k.birth(t, kernel.Config{Pool: bare}, oneAndOne))
	turn["warm soon"] = inARow(k.birth(t, kernel.Config{Pool: warm}, imports))
	turn["warm fenced soon"] = inARow(k.birth(t, kernel.Config{Pool: warm, Sandbox: k.fence}, imports))
	of := namedInTurns(15, turn)
	beside = [][]string{
		rival("start to first result, cold", "60 ms", of["cold"], "jupyter_client", of["client"]),
		rival("the same, console and server", "", of["served"], "jupyter_server", of["web"]),
		rival("start to first result, pool", "5 ms", of["bare"], "jupyter_client", of["client"]),
		rival("the same, soon after another", "5 ms", of["bare soon"], "jupyter_client", of["client"]),
		rival("start with numpy and pandas, pool", "10 ms", of["warm"], "jupyter_client", of["client imports"]),
		rival("the same, soon after another", "10 ms", of["warm soon"], "jupyter_client", of["client imports"]),
	}
	floors = [][]string{
		above("start to first result, cold", "", of["cold"], of["cold"]),
		above("the same, behind the fence", "", of["cold fenced"], of["cold"]),
		above("start with numpy and pandas, cold", "", of["cold imports"], of["cold imports"]),
		above("the same, pool", "", of["warm"], of["cold imports"]),
		above("the same, pool, behind the fence", "", of["warm fenced"], of["cold imports"]),
		above("the same, pool, soon after another", "", of["warm soon"], of["cold imports"]),
		above("the same, pool, behind the fence, soon after another", "", of["warm fenced soon"], of["cold imports"]),
	}
	return beside, floors
}

// jupyterBirths are the turns of jupyter_client, without and with imports, and of
// Jupyter's server.
func (k *kit) jupyterBirths(t *testing.T) map[string]func() []time.Duration {
	t.Helper()
	if !k.beside {
		return map[string]func() []time.Duration{"client": absent, "client imports": absent, "web": absent}
	}
	jupyter, server := newJupyterClient(t), newJupyterServer(t)
	start := func(code string) func() []time.Duration {
		return func() []time.Duration {
			took := jupyter.start(code)
			jupyter.stop()
			return []time.Duration{took}
		}
	}
	web := func() []time.Duration {
		began := time.Now()
		one := server.start(t)
		one.run(oneAndOne)
		took := time.Since(began)
		one.stop()
		return []time.Duration{took}
	}
	return map[string]func() []time.Duration{"client": start(oneAndOne), "client imports": start(imports), "web": web}
}

// birth is a turn that starts a kernel and takes the time until code has run.
func (k *kit) birth(t *testing.T, cfg kernel.Config, code string) func() []time.Duration {
	t.Helper()
	return func() []time.Duration {
		sandbox := folder(t)
		began := time.Now()
		one := k.startIn(t, sandbox, cfg)
		one.run(code)
		took := time.Since(began)
		one.stop(t)
		return []time.Duration{took}
	}
}

// rested waits before a turn, so that it does not profit from the one before it.
func rested(turn func() []time.Duration) func() []time.Duration {
	return func() []time.Duration {
		<-time.After(200 * time.Millisecond)
		return turn()
	}
}

// inARow takes several turns for one, right after one that does not count.
func inARow(turn func() []time.Duration) func() []time.Duration {
	return func() (times []time.Duration) {
		turn()
		for range 5 {
			times = append(times, turn()...)
		}
		return times
	}
}
