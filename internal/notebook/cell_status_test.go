package notebook_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/notebook"
)

func TestCellStatusAfterFrames(t *testing.T) {
	t.Parallel()
	const (
		start  = `{"type":"start_cell","cell_id":"a","run_sequencer":1}`
		idle   = `{"type":"start_cell","cell_id":null,"run_sequencer":1}`
		queued = `{"type":"run_queue","queue":["a"]}`
		empty  = `{"type":"run_queue","queue":[]}`
		good   = `{"type":"cell_result","cell_id":"a","status":"ok","exception":false}`
		bad    = `{"type":"cell_result","cell_id":"a","has_exception":true}`
	)
	for name, c := range map[string]struct {
		steps []string
		want  string
	}{
		"never heard of":               {nil, "idle"},
		"sent":                         {[]string{"sent"}, "running"},
		"queued by a signal":           {[]string{queued}, "running"},
		"out of the queue, not begun":  {[]string{queued, empty}, "running"},
		"started":                      {[]string{"sent", start}, "running"},
		"good":                         {[]string{"sent", start, good}, "ran"},
		"bad":                          {[]string{"sent", start, bad}, "error"},
		"sent again while it runs":     {[]string{"sent", start, "sent", good}, "running"},
		"queued again while it runs":   {[]string{"sent", start, queued, good}, "running"},
		"and run again":                {[]string{"sent", start, "sent", bad, start, good}, "ran"},
		"idle closes what had started": {[]string{"sent", start, idle}, "ran"},
		"idle leaves what had not":     {[]string{"sent", idle}, "running"},
		"a result without a start":     {[]string{"sent", good}, "ran"},
		"disposed of":                  {[]string{"sent", start, "disposed"}, "idle"},
		"disposed of in the queue":     {[]string{"sent", queued, "disposed", start, bad}, "idle"},
		"disposed of and sent":         {[]string{"sent", start, good, "disposed", "sent"}, "running"},
		"kernel died over it":          {[]string{"sent", start, "ended"}, "error"},
		"kernel died before it":        {[]string{"sent", "ended"}, "error"},
		"kernel died after it":         {[]string{"sent", start, good, "ended"}, "ran"},
		"disposed of before the death": {[]string{"disposed", "ended", start}, "running"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
			for _, step := range c.steps {
				switch step {
				case "sent":
					executions.MarkRunSent("a")
				case "disposed":
					executions.MarkCellDisposed("a")
				case "ended":
					executions.MarkKernelEnded()
				default:
					applyFrame(t, executions, step)
				}
			}
			require.Equal(t, c.want, executions.CellStatus("a"))
		})
	}
}
