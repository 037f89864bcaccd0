//go:build bench

package bench_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// pageMeasurements is the JSON that page.mjs prints; times are in milliseconds, sizes in
// bytes.
type pageMeasurements struct {
	Pages []struct {
		Name               string
		Paint, Worst, Seen float64
	}
	Typing map[string]struct{ P50, P95, Max float64 }
	First  struct{ Bytes, Later float64 }
}

// measurePage measures the page in a browser. It needs Node and a chromium on PATH.
func measurePage(t *testing.T, r *report, p *assayProgram) {
	t.Helper()
	browser, err := exec.LookPath("chromium")
	require.NoError(t, err)
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, ".ci", "node"), "node", "page.mjs", p.path, browser)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	var f pageMeasurements
	require.NoError(t, json.Unmarshal(out, &f))
	ms := func(v float64) string { return formatThreeDigits(v) + " ms" }

	r.addSection("The page", "Debian's chromium, headless, with an empty cache each time, compared with a text file of the same server; 7 rounds in turns.\n"+
		"*ready*: the console is connected; the attempt shows its task, its notebook or its Flow tab. The attempt's trace has 99,000\n"+
		"entries, which the server reads at the first request for it.")
	rows := [][]string{{"", "first paint", "worst", "aim", "ready"}}
	for i, page := range f.Pages {
		rows = append(rows, []string{page.Name, ms(page.Paint), ms(page.Worst), []string{"", "1 s", "1.5 s", "", ""}[min(i, 4)], ms(page.Seen)})
	}
	r.addTable(rows...)
	_, _ = fmt.Fprintf(r, "\nGzipped, the console loads %.0f kB for its first paint (aim 150), and %.0f kB more until it is connected.\n\n",
		f.First.Bytes/1000, f.First.Later/1000)
	r.addTable(
		[]string{"from a key press to the next frame, 360 keys", "p50", "p95", "worst"},
		[]string{"no cell is running", ms(f.Typing["idle"].P50), ms(f.Typing["idle"].P95), ms(f.Typing["idle"].Max)},
		[]string{"another cell prints 10,000 lines", ms(f.Typing["streaming"].P50), ms(f.Typing["streaming"].P95), ms(f.Typing["streaming"].Max)},
	)
}
