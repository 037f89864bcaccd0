package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"assay/eval/runs"
	"assay/internal/trace"
	"assay/internal/trace/flow"
	"assay/server"
)

type traceFlags struct {
	follow bool
	stats  bool
	format string
	token  string
	filter flow.Filter
	hop    string
	late   int64 // milliseconds
}

func (p *process) traceCommand() *cobra.Command {
	f := &traceFlags{}
	cmd := &cobra.Command{
		Use:   "trace TARGET",
		Short: "Show the messages of a session and where their time went",
		Long: `Shows a trace, a line for each message: seconds since the session began, hop, type,
action, id, size. With a request stands how long its answer took and at which
hop, or that none came; with --follow that stands with the answer.

TARGET is a trace file, the folder of an attempt, the folder of a run with one
attempt or RUN#CASE, or a live session, by the address of its server:
http://localhost:8765, or http://localhost:8765/?session=ID.

Exit status: 0 also when nothing matches and when --follow is interrupted,
2 bad usage, no such trace or session, wrong token, 3 the trace cannot be read
or the connection is lost.`,
		Example: "  assay trace runs/20260102-101500-cases#sum --late 5000",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return p.trace(cmd.Context(), f, args[0]) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.follow, "follow", false, "continue as the trace grows, until SIGINT or the end of the session")
	flags.StringVar(&f.filter.TxID, "tx", "", "only messages of the request with this `id`, the agent's or the server's (eval_…)")
	flags.StringVar(&f.filter.Action, "action", "", "only requests for this `action`")
	flags.StringVar(&f.hop, "hop", "", "only this `hop`, such as 'agent>server'")
	flags.StringVar(&f.filter.CellID, "cell", "", "only messages about the cell with this `id`")
	flags.Int64Var(&f.late, "late", 0, "only requests that took at least so many `milliseconds` or were never answered, and late, duplicate and unexpected replies; 0 shows all")
	flags.BoolVar(&f.stats, "stats", false, "print a table of durations per action, and counts of notes")
	flags.StringVar(&f.format, "format", "text", "output `format`: text, or json with one object per message and its delay (with --stats one object)")
	flags.StringVar(&f.token, "token", server.EvalSandboxToken, "access `token` of a live session's server")
	return cmd
}

func (p *process) trace(ctx context.Context, f *traceFlags, arg string) error {
	if err := f.check(); err != nil {
		return usage(err)
	}
	target, err := findTrace(ctx, arg, f.token)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(p.out)
	show := f.shower(out)
	shown := 0
	err = f.walk(ctx, target, func(frame flow.Frame) error {
		if !f.filter.Match(frame) {
			return nil
		}
		shown++
		return errors.Join(show.frame(frame), f.pass(out))
	})
	if err = errors.Join(target.explain(err), show.end(), out.Flush()); err != nil {
		return statusOf(err)
	}
	if shown == 0 {
		_, _ = fmt.Fprintln(p.err, "assay: nothing in the trace matches")
	}
	return nil
}

// check finds what is wrong with the flags and makes the filter whole.
func (f *traceFlags) check() error {
	hops := trace.AllHops()
	f.filter.Hop, f.filter.MinDelay = trace.Hop(f.hop), time.Duration(f.late)*time.Millisecond
	switch {
	case f.hop != "" && !slices.Contains(hops, f.filter.Hop):
		return fmt.Errorf("--hop %q: want one of %v", f.hop, hops)
	case f.late < 0:
		return fmt.Errorf("--late %d: want milliseconds, or 0 for all", f.late)
	case f.format != "text" && f.format != "json":
		return fmt.Errorf("--format %q: want text or json", f.format)
	case f.stats && f.follow:
		return errors.New("--stats sums up what is there: leave out --follow")
	}
	return nil
}

// walk goes over the trace, or along it until the user has seen enough.
func (f *traceFlags) walk(ctx context.Context, target *traceTarget, each func(flow.Frame) error) error {
	if !f.follow {
		return flow.WalkFinished(ctx, target.open, each)
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	src, err := target.follow(ctx)
	if err == nil {
		err = errors.Join(flow.WalkLive(ctx, src, each), src.Close())
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// pass lets what was written be seen, where somebody waits for it.
func (f *traceFlags) pass(out *bufio.Writer) error {
	if f.follow {
		return out.Flush()
	}
	return nil
}

// traceShower shows frames one by one, and what is to be said at the end.
type traceShower struct {
	frame func(flow.Frame) error
	end   func() error
}

func (f *traceFlags) shower(out io.Writer) traceShower {
	nothing := func() error { return nil }
	switch {
	case f.stats:
		stats := &flow.Stats{}
		show := writeStats
		if f.format == "json" {
			show = func(out io.Writer, s flow.Summary) error { return runs.EncodeLine(out, s) }
		}
		return traceShower{
			frame: func(frame flow.Frame) error { stats.AddFrame(frame); return nil },
			end:   func() error { return show(out, stats.Summary()) },
		}
	case f.format == "json":
		return traceShower{frame: func(frame flow.Frame) error { return writeFrame(out, frame) }, end: nothing}
	default:
		text := flow.LineFormatter{FullIDs: f.filter.TxID != "", ShowSlowest: f.late > 0}
		return traceShower{end: nothing, frame: func(frame flow.Frame) error {
			_, err := fmt.Fprintln(out, text.Line(frame))
			return err
		}}
	}
}

// writeFrame writes a line of the trace, with the delay in it.
func writeFrame(out io.Writer, frame flow.Frame) error {
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

// writeStats writes a table for people.
func writeStats(out io.Writer, s flow.Summary) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "KIND\tACTION\tCOUNT\tP50\tP99\tMAX\tTIMED OUT\tFAILED\tUNANSWERED\tP99 SPENT IN") // Flush has the error
	for _, a := range s.Actions {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\t%s\t%d\t%d\t%d\t%s\n", a.Kind, a.Action, a.Count,
			delayText(a.P50MS), delayText(a.P99MS), delayText(a.MaxMS), a.TimedOut, a.Failed, a.Unanswered, a.P99Hop)
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
	return err
}

func delayText(ms *float64) string {
	if ms == nil {
		return "-"
	}
	return flow.FormatDelay(time.Duration(*ms * float64(time.Millisecond)))
}
