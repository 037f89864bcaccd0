package traceview

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"assay/eval/runs"
	"assay/internal/trace"
	"assay/internal/trace/flow"
)

// Printer prints messages of a trace one by one.
type Printer struct {
	Print  func(flow.Frame) error // prints one message, or adds it to the statistics
	Finish func() error           // prints what stands below the messages
}

// NewLinePrinter returns a Printer that writes one line per message for people. fullIDs
// writes ids uncut; slowestHop names where a request spent most of its time.
func NewLinePrinter(out io.Writer, fullIDs, slowestHop bool) Printer {
	text := flow.LineFormatter{FullIDs: fullIDs, ShowSlowest: slowestHop}
	return Printer{Finish: func() error { return nil }, Print: func(frame flow.Frame) error {
		_, err := fmt.Fprintln(out, text.FormatLine(frame))
		return err
	}}
}

// NewJSONPrinter returns a Printer that writes each line of the trace as it is, with the
// delay of its request as the field "delay".
func NewJSONPrinter(out io.Writer) Printer {
	return Printer{Finish: func() error { return nil }, Print: func(frame flow.Frame) error { return writeJSONLine(out, frame) }}
}

func writeJSONLine(out io.Writer, frame flow.Frame) error {
	line := frame.Line
	if frame.DelayRequest != nil {
		delay, err := json.Marshal(frame.DelayRequest.Delay())
		if err != nil {
			return err
		}
		line = fmt.Appendf(nil, `%s,"delay":%s}`, line[:len(line)-1], delay)
	}
	_, err := fmt.Fprintf(out, "%s\n", line)
	return err
}

// NewStatsPrinter returns a Printer that writes only statistics: a table for people, or
// one JSON object.
func NewStatsPrinter(out io.Writer, asJSON bool) Printer {
	stats := &flow.StatsCollector{}
	return Printer{
		Print: func(frame flow.Frame) error { stats.AddFrame(frame); return nil },
		Finish: func() error {
			if asJSON {
				return runs.EncodeLine(out, stats.Summary())
			}
			return writeStatsTable(out, stats.Summary())
		},
	}
}

// writeStatsTable writes durations per action as a table, and below it the counts of
// messages and notes, what the calls of models have used, and how the agent's time is divided.
func writeStatsTable(out io.Writer, s flow.Summary) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "KIND\tACTION\tCOUNT\tP50\tP99\tMAX\tTIMED OUT\tFAILED\tUNANSWERED\tP99 SPENT IN") // Flush returns the error
	for _, a := range s.Actions {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\t%s\t%d\t%d\t%d\t%s\n", a.Kind, a.Action, a.Count,
			formatMS(a.P50MS), formatMS(a.P99MS), formatMS(a.MaxMS), a.TimedOut, a.Failed, a.Unanswered, a.P99Hop)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%d frames", s.Frames)
	for _, note := range trace.AllNotes() {
		if n := s.Notes[note]; n > 0 && err == nil {
			_, err = fmt.Fprintf(out, ", %d %s", n, note)
		}
	}
	_, _ = fmt.Fprintln(out)
	if m := s.Models; m != nil && err == nil {
		_, err = fmt.Fprintf(out, "calls of models: %d, %s, %s; waited %s for other calls, %s after refusals\n",
			m.Calls, flow.FormatTokens(m.Usage), flow.FormatCost(m.CostUSD), formatMS(&m.WaitMS), formatMS(&m.RetryWaitMS))
	}
	if t := s.Time; t != nil && s.Models != nil && err == nil {
		total := t.TotalMS()
		_, err = fmt.Fprintf(out, "time: %s, of which the agent waited %s for its models, %s for the kernel, %s for both, %s for neither\n",
			formatMS(&total), formatMS(&t.ModelMS), formatMS(&t.KernelMS), formatMS(&t.BothMS), formatMS(&t.NeitherMS))
	}
	return err
}

// formatMS returns a duration in milliseconds with its unit, or "-" for nil.
func formatMS(ms *float64) string {
	if ms == nil {
		return "-"
	}
	return flow.FormatDelay(time.Duration(*ms * float64(time.Millisecond)))
}
