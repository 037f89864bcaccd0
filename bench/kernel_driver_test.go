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

// Code of the measured cells. fiftyNamesCodeFormat needs the expression of each value.
const (
	onePlusOneCode        = "1 + 1"
	importNumpyPandasCode = "import numpy, pandas"
	printThenSleepCode    = "import time\nprint('on')\ntime.sleep(0.3)"
	busyLoopCode          = "print('on', flush=True)\nwhile True: pass"
	fiftyNamesCodeFormat  = "for i in range(50): globals()[f'name_{i}'] = %s"
)

// cellRunner runs cells in one kernel and measures them.
type cellRunner interface {
	timeToResult(code string) time.Duration    // runs code; returns the time until its outputs and its result have arrived
	timeToFirstText(code string) time.Duration // runs code to its end; returns the time until its first printed text
	timeToInterrupt(code string) time.Duration // runs code and interrupts it after its first text; returns the time from the interrupt to the result
}

// repeatedCellRound returns a round that measures code n times with run.
func repeatedCellRound(n int, measure func(code string) time.Duration, code string) func() []time.Duration {
	return func() []time.Duration {
		times := make([]time.Duration, n)
		for i := range times {
			times[i] = measure(code)
		}
		return times
	}
}

// kernelConn runs cells in one of Assay's kernels, connected to it directly or through a
// server.
type kernelConn struct {
	t         *testing.T
	conn      protocol.Conn
	decoder   *protocol.EnvelopeDecoder
	cellCount int
}

// newKernelConn returns a kernelConn on conn.
func newKernelConn(t *testing.T, conn protocol.Conn) *kernelConn {
	t.Helper()
	return &kernelConn{t: t, conn: conn, decoder: protocol.NewEnvelopeDecoder()}
}

// newestCellID returns the id of the cell that was started last.
func (c *kernelConn) newestCellID() string { return fmt.Sprintf("c%d", c.cellCount) }

// writeFrame writes a formatted frame.
func (c *kernelConn) writeFrame(format string, args ...any) {
	c.t.Helper()
	require.NoError(c.t, c.conn.Write(fmt.Appendf(nil, format, args...)))
}

// startCell sends run_cell with a new cell id and returns the time just before it was
// sent.
func (c *kernelConn) startCell(code string) time.Time {
	c.t.Helper()
	quoted, err := json.Marshal(code)
	require.NoError(c.t, err)
	c.cellCount++
	began := time.Now()
	c.writeFrame(`{"type":"run_cell","cell_id":%q,"code":%s}`, c.newestCellID(), quoted)
	return began
}

// readUntilType reads frames until one has this type, and returns its envelope.
func (c *kernelConn) readUntilType(kind string) protocol.Envelope {
	c.t.Helper()
	for {
		frame, err := c.conn.Read()
		require.NoError(c.t, err)
		env, err := c.decoder.Decode(frame)
		require.NoError(c.t, err)
		if env.Type == kind {
			return env
		}
	}
}

// awaitResult waits for the newest cell's cell_result, which must have this status.
func (c *kernelConn) awaitResult(status string) {
	c.t.Helper()
	env := c.readUntilType(protocol.TypeCellResult)
	require.Equal(c.t, []string{c.newestCellID(), status}, []string{env.CellID, env.Status})
}

// timeToResult is that of cellRunner.
func (c *kernelConn) timeToResult(code string) time.Duration {
	c.t.Helper()
	began := c.startCell(code)
	c.awaitResult(protocol.StatusOK)
	return time.Since(began)
}

// timeToFirstText is that of cellRunner.
func (c *kernelConn) timeToFirstText(code string) time.Duration {
	c.t.Helper()
	began := c.startCell(code)
	c.readUntilType(protocol.TypeKernelStdio)
	took := time.Since(began)
	c.awaitResult(protocol.StatusOK)
	return took
}

// timeToInterrupt is that of cellRunner.
func (c *kernelConn) timeToInterrupt(code string) time.Duration {
	c.t.Helper()
	c.startCell(code)
	c.readUntilType(protocol.TypeKernelStdio)
	return c.timeToStop()
}

// timeToStop stops the newest cell and returns the time until its result.
func (c *kernelConn) timeToStop() time.Duration {
	c.t.Helper()
	began := time.Now()
	c.writeFrame(`{"type":"stop_cell","cell_id":%q}`, c.newestCellID())
	c.awaitResult(protocol.StatusInterrupted)
	return time.Since(began)
}

// timeGlobalsSummaries runs code, which must print first and then run on, and returns the
// times of n globals_summary requests meanwhile. Then it stops the cell.
func (c *kernelConn) timeGlobalsSummaries(code string, n int) []time.Duration {
	c.t.Helper()
	c.startCell(code)
	c.readUntilType(protocol.TypeKernelStdio)
	times := make([]time.Duration, n)
	for i := range times {
		began := time.Now()
		c.writeFrame(`{"type":"globals_summary","agent_tx_id":"tx"}`)
		c.readUntilType(protocol.TypeGlobalsSummary)
		times[i] = time.Since(began)
	}
	c.timeToStop()
	return times
}

// timePrintedText runs code and returns how long it took and how many bytes of text
// arrived. It reads all frames before it decodes any, because the server disconnects a
// slow console; err is then the error of the connection.
func (c *kernelConn) timePrintedText(code string) (took time.Duration, size int, err error) {
	c.t.Helper()
	began := c.startCell(code)
	var frames [][]byte
	for ended := false; !ended && err == nil; {
		var frame []byte
		frame, err = c.conn.Read()
		frames = append(frames, frame)
		ended = bytes.HasPrefix(frame, []byte(`{"type":"cell_result"`))
	}
	took = time.Since(began)
	for _, frame := range frames {
		if protocol.IsRawFrame(frame) || hasFrameType(frame, protocol.TypeKernelStdio) {
			size += len(stdioText(c.t, frame))
		}
	}
	return took, size, err
}

// stdioText returns the text of a kernel_stdio frame, JSON or raw.
func stdioText(t *testing.T, frame []byte) string {
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
