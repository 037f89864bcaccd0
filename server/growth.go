package server

import (
	"context"
	"fmt"
	"io"
	"time"

	"assay/eval/runs"
)

// growthEvery is how often a trace is looked at that another program may write.
const growthEvery = 100 * time.Millisecond

// growth returns what [trace.OpenTail] wants for the trace of an attempt, whoever
// makes it: it looks at the file every 100 ms, and the trace has ended when the
// attempt has its line, or nobody makes its run any more.
func growth(run *runs.Run, attempt string) func(ctx context.Context, beyond int64) (int64, error) {
	return func(ctx context.Context, beyond int64) (int64, error) {
		every := time.NewTicker(growthEvery)
		defer every.Stop()
		for {
			ended, err := run.HasAttemptEnded(ctx, attempt) // asked first: the file is whole then
			if err != nil {
				return 0, err
			}
			size, err := run.TraceSize(attempt)
			switch {
			case err != nil:
				return 0, err
			case size < beyond:
				return size, fmt.Errorf("the trace of %s has become shorter while it was read", attempt)
			case size > beyond:
				return size, nil
			case ended:
				return size, io.EOF
			}
			select {
			case <-every.C:
			case <-ctx.Done():
				return size, context.Cause(ctx)
			}
		}
	}
}
