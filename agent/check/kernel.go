package check

import (
	"context"
	"slices"
	"strings"
)

// kernelSituations returns the situations in which the kernel does what the agent has not asked for.
func kernelSituations() []situation {
	return []situation{
		{
			name: "other-cell", section: sectionAgents, needs: query, run: tryOtherCell,
			prepare: func(p *server) { p.notebook.othersRunToo = true },
			what:    "another cell ran before each of its own",
			rule:    "know your runs by cell_id: a person may run other cells, also before your own",
		},
		{
			name: "kernel-death", section: sectionAgents, needs: query, run: tryKernelDeath,
			prepare: func(p *server) { p.notebook.isKernelDead = true },
			rule:    `take a cell_result with status "error" and run_sequencer 0 for the end of the run`,
		},
	}
}

// tryOtherCell is the situation in which runs of a cell that is not the agent's are reported to it.
func tryOtherCell(ctx context.Context, p *server) Finding {
	from := p.query(task, requestID)
	p.notebook.runOtherCell()
	t, err := p.awaitTurns(ctx, from, 1)
	isMistaken := func(summary string) bool { return strings.Contains(summary, strings.TrimSpace(otherText)) }
	if slices.ContainsFunc(t.summaries, isMistaken) {
		return fail("it has submitted what another cell printed")
	}
	return p.judge(t, err)
}

// tryKernelDeath is the situation in which the kernel dies during the first run.
func tryKernelDeath(ctx context.Context, p *server) Finding {
	t, err := p.ask(ctx)
	switch {
	case err != nil:
		return p.failure(err)
	case p.notebook.kernelCallCount() == 0:
		return skip("the agent ran no code")
	default:
		return pass("the kernel died; it %s", t.describe())
	}
}
