//go:build bench

package bench_test

import (
	"testing"
	"time"
)

// measureCommand measures what the program does before it does anything.
func measureCommand(t *testing.T, r *report, p *program) {
	t.Helper()
	const rounds = 30
	var floor, version, help []time.Duration
	for i := range rounds + 1 {
		a, b, c := wallOf(t, "/bin/true"), wallOf(t, p.path, "version"), wallOf(t, p.path, "-h")
		if i > 0 { // the first warms up
			floor, version, help = append(floor, a), append(version, b), append(help, c)
		}
	}
	r.section("The command itself", "Wall time of a process from start to end, with `/bin/true` as the floor, one after the other, 30 rounds.")
	r.table(
		[]string{"", "median", "p99", "ratio", "spread", "aim"},
		append(compared("`/bin/true`", floor, floor), ""),
		append(compared("`assay version`", floor, version), "20 ms"),
		append(compared("`assay -h`", floor, help), "20 ms"),
	)
	t.Logf("version %s, help %s", show(median(version)), show(median(help)))
}
