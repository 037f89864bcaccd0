package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"assay/cmd/assay/internal/exit"
	"assay/cmd/assay/internal/traceview"
	"assay/internal/trace"
	"assay/internal/trace/flow"
	"assay/server"
)

type traceFlags struct {
	follow bool
	stats  bool
	format string // text or json
	token  tokenFlag
	filter flow.Filter
	hop    string
	lateMS int64
}

func (p *cli) newTraceCommand() *cobra.Command {
	f := &traceFlags{}
	cmd := &cobra.Command{
		Use:   "trace TARGET",
		Short: "Show the messages of a session and where their time went",
		Long: `Show a trace, one line per message: seconds since the session began, hop, type,
action, id, size. The line of a request also says how long its answer took and at
which hop, or that it was not answered; with --follow the line of the answer does.

TARGET is a trace file, the folder of an attempt, the folder of a run with one
attempt, RUN#CASE, or a live session by the address of its server:
http://localhost:8765 or http://localhost:8765/?session=ID.

Exit status: 0 also if no message matches and if --follow is interrupted,
2 bad usage, no such trace or session, wrong token, 3 the trace cannot be read
or the connection is lost.`,
		Example: "  assay trace runs/20260102-101500-cases#sum --late 5000",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return p.trace(cmd.Context(), f, args[0]) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.follow, "follow", false, "continue as the trace grows, until SIGINT or the end of the session")
	flags.StringVar(&f.filter.TxID, "tx", "", "only messages of the request with this `id`, the agent's or the server's (eval_…)")
	flags.StringVar(&f.filter.Action, "action", "", "only requests for this `action`, or calls of this model")
	flags.StringVar(&f.hop, "hop", "", "only this `hop`, such as 'agent>server'")
	flags.StringVar(&f.filter.CellID, "cell", "", "only messages about the cell with this `id`")
	flags.Int64Var(&f.lateMS, "late", 0, "only requests that took at least so many `milliseconds` or were never answered, and late, duplicate and unexpected replies; 0 shows all")
	flags.BoolVar(&f.stats, "stats", false, "print a table of durations per action, counts of notes, what calls of models have used, and how the time is divided")
	flags.StringVar(&f.format, "format", "text", "output `format`: text, or json with one object per message and its delay (with --stats one object)")
	f.token.add(flags, "of a live session's server")
	return cmd
}

// trace prints the messages of the trace that target names and that match the flags.
func (p *cli) trace(ctx context.Context, f *traceFlags, target string) error {
	if err := f.check(); err != nil {
		return exit.UsageError(err)
	}
	token, err := f.token.read(p)
	if err != nil {
		return exit.UsageError(err)
	}
	source, err := traceview.FindTarget(ctx, target, cmp.Or(token, server.EvalSandboxToken), server.DefaultSessionID)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(p.stdout)
	printer := f.printer(out)
	matches := 0
	err = f.forEachMessage(ctx, source, func(frame flow.Frame) error {
		if !f.filter.Match(frame) {
			return nil
		}
		matches++
		err := printer.Print(frame)
		if f.follow {
			err = errors.Join(err, out.Flush()) // the user waits for this line
		}
		return err
	})
	if err = errors.Join(source.ExplainError(err), printer.Finish(), out.Flush()); err != nil {
		return traceview.WithExitStatus(err)
	}
	if matches == 0 {
		_, _ = fmt.Fprintln(p.stderr, "assay: no message of the trace matches")
	}
	return nil
}

// check rejects invalid flags, and completes the filter.
func (f *traceFlags) check() error {
	hops := trace.AllHops()
	f.filter.Hop, f.filter.MinDelay = trace.Hop(f.hop), time.Duration(f.lateMS)*time.Millisecond
	switch {
	case f.hop != "" && !slices.Contains(hops, f.filter.Hop):
		return fmt.Errorf("--hop %q: want one of %v", f.hop, hops)
	case f.lateMS < 0:
		return fmt.Errorf("--late %d: want milliseconds, or 0 for all", f.lateMS)
	case f.format != "text" && f.format != "json":
		return fmt.Errorf("--format %q: want text or json", f.format)
	case f.stats && f.follow:
		return errors.New("--stats sums up a trace as it is now: leave out --follow")
	}
	return nil
}

// forEachMessage calls visit for each message of the trace. With --follow it goes on as the trace
// grows, until SIGINT, SIGTERM or the end of the session.
func (f *traceFlags) forEachMessage(ctx context.Context, source *traceview.Target, visit func(flow.Frame) error) error {
	if !f.follow {
		return flow.WalkFinished(ctx, source.Open, visit)
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	lines, err := source.Follow(ctx)
	if err == nil {
		err = errors.Join(flow.WalkLive(ctx, lines, visit), lines.Close())
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// printer returns the printer for --stats and --format.
func (f *traceFlags) printer(out io.Writer) traceview.Printer {
	switch {
	case f.stats:
		return traceview.NewStatsPrinter(out, f.format == "json")
	case f.format == "json":
		return traceview.NewJSONPrinter(out)
	default:
		return traceview.NewLinePrinter(out, f.filter.TxID != "", f.lateMS > 0)
	}
}
