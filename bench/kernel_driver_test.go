//go:build bench

package bench_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
)

// Code that kernels are given.
const (
	oneAndOne  = "1 + 1"
	imports    = "import numpy, pandas"
	thenSleeps = "import time\nprint('on')\ntime.sleep(0.3)"
	busyLoop   = "print('on', flush=True)\nwhile True: pass"
	fiftyNames = "for i in range(50): globals()[f'name_{i}'] = %s"
)

// player is a kernel and whoever has it run cells.
type player interface {
	run(code string) time.Duration       // until outputs and result are there
	first(code string) time.Duration     // until the first text is; returns when the cell has ended
	interrupt(code string) time.Duration // from the stop of code, which has printed, until the result
}

// turns is n times what a player does.
func turns(n int, play func(code string) time.Duration, code string) func() []time.Duration {
	return func() []time.Duration {
		times := make([]time.Duration, n)
		for i := range times {
			times[i] = play(code)
		}
		return times
	}
}

// cells is one of our kernels, at the other end of conn or behind a server.
type cells struct {
	t      *testing.T
	conn   protocol.Conn
	reader *protocol.EnvelopeDecoder
	n      int
}

func newCells(t *testing.T, conn protocol.Conn) *cells {
	t.Helper()
	return &cells{t: t, conn: conn, reader: protocol.NewEnvelopeDecoder()}
}

// id is that of the newest cell.
func (c *cells) id() string { return fmt.Sprintf("c%d", c.n) }

func (c *cells) write(format string, args ...any) {
	c.t.Helper()
	require.NoError(c.t, c.conn.Write(fmt.Appendf(nil, format, args...)))
}

// begin asks for the run of a new cell, at the time that it returns.
func (c *cells) begin(code string) time.Time {
	c.t.Helper()
	quoted, err := json.Marshal(code)
	require.NoError(c.t, err)
	c.n++
	began := time.Now()
	c.write(`{"type":"run_cell","cell_id":%q,"code":%s}`, c.id(), quoted)
	return began
}

// until reads up to the next frame of a type.
func (c *cells) until(kind string) protocol.Envelope {
	c.t.Helper()
	for {
		frame, err := c.conn.Read()
		require.NoError(c.t, err)
		env, err := c.reader.Decode(frame)
		require.NoError(c.t, err)
		if env.Type == kind {
			return env
		}
	}
}

// result waits for the end of the newest cell.
func (c *cells) result(status string) {
	c.t.Helper()
	env := c.until(protocol.TypeCellResult)
	require.Equal(c.t, []string{c.id(), status}, []string{env.CellID, env.Status})
}

func (c *cells) run(code string) time.Duration {
	c.t.Helper()
	began := c.begin(code)
	c.result(protocol.StatusOK)
	return time.Since(began)
}

func (c *cells) first(code string) time.Duration {
	c.t.Helper()
	began := c.begin(code)
	c.until(protocol.TypeKernelStdio)
	took := time.Since(began)
	c.result(protocol.StatusOK)
	return took
}

func (c *cells) interrupt(code string) time.Duration {
	c.t.Helper()
	c.begin(code)
	c.until(protocol.TypeKernelStdio)
	return c.stop()
}

func (c *cells) stop() time.Duration {
	c.t.Helper()
	began := time.Now()
	c.write(`{"type":"stop_cell","cell_id":%q}`, c.id())
	c.result(protocol.StatusInterrupted)
	return time.Since(began)
}

// summaries asks n times for the globals, while code runs, which prints first.
func (c *cells) summaries(code string, n int) []time.Duration {
	c.t.Helper()
	c.begin(code)
	c.until(protocol.TypeKernelStdio)
	times := make([]time.Duration, n)
	for i := range times {
		began := time.Now()
		c.write(`{"type":"globals_summary","agent_tx_id":"tx"}`)
		c.until(protocol.TypeGlobalsSummary)
		times[i] = time.Since(began)
	}
	c.stop()
	return times
}

// text runs code and counts the bytes of the text that comes. It looks at them
// when all have come, for a console that is slow is sent away; then that is err.
func (c *cells) text(code string) (took time.Duration, size int, err error) {
	c.t.Helper()
	began := c.begin(code)
	var frames [][]byte
	for ended := false; !ended && err == nil; {
		var frame []byte
		frame, err = c.conn.Read()
		frames = append(frames, frame)
		ended = bytes.HasPrefix(frame, []byte(`{"type":"cell_result"`))
	}
	took = time.Since(began)
	for _, frame := range frames {
		if protocol.IsRawFrame(frame) || isType(frame, protocol.TypeKernelStdio) {
			size += len(textOf(c.t, frame))
		}
	}
	return took, size, err
}

// textOf is the text of a kernel_stdio.
func textOf(t *testing.T, frame []byte) string {
	t.Helper()
	if protocol.IsRawFrame(frame) {
		raw, err := protocol.ParseRawFrame(frame)
		require.NoError(t, err)
		return string(raw.Text)
	}
	var message struct{ Data string }
	require.NoError(t, json.Unmarshal(frame, &message))
	return message.Data
}
