//go:build bench

package bench_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// printedTotalBytes is how many bytes each of printingCodes prints.
const printedTotalBytes = 100 << 20

// printingCodes returns pairs: the size of one print, and the code that prints
// printedTotalBytes bytes in such pieces.
func printingCodes() [][]string {
	return [][]string{
		{"64 KiB", "for _ in range(1600): print('x' * 65535)"},
		{"100 B", "for _ in range(1048576): print('x' * 99)"},
	}
}

// printResult is the outcome of one cell that prints printedTotalBytes bytes.
type printResult struct {
	duration      time.Duration // until the result, or the end of the connection
	receivedBytes int           // bytes of text that arrived
	serverPeakKiB int64         // peak resident memory of the server; 0 if not known
	disconnected  bool          // the server closed the console's connection
}

// measurePrinting returns the table of a cell that prints 100 MiB without an output
// limit.
func (k *kernelHarness) measurePrinting(t *testing.T) [][]string {
	t.Helper()
	table := [][]string{{"destination", "pieces", "took", "arrived", "server's memory", "aim"}}
	client, web := k.jupyterPrintFuncs(t)
	for _, code := range printingCodes() {
		for _, place := range []struct {
			name, aim string
			printing  func(code string) printResult // nil: not measured
		}{
			{"`assay run`, an attempt's trace", "1 s, 100 %, 64 MiB", func(code string) printResult { return k.printInAttempt(t, code) }},
			{"`assay serve`, a console", "100 %, 64 MiB", func(code string) printResult { return k.printToConsole(t, code) }},
			{"ipykernel, jupyter_client", "", client},
			{"ipykernel, jupyter_server, a WebSocket", "", web},
		} {
			table = append(table, printResultRow(place.name, place.aim, code[0], code[1], place.printing))
			t.Log(table[len(table)-1])
		}
	}
	return table
}

// printResultRow runs the code three times and returns a row with the median time, the
// smallest number of bytes that arrived and the largest memory.
func printResultRow(name, aim, pieces, code string, printing func(string) printResult) []string {
	const rounds = 3
	if printing == nil {
		return []string{name, pieces, "not measured", "", "", ""}
	}
	var took []time.Duration
	least, most, away := printedTotalBytes, int64(0), 0
	for range rounds {
		p := printing(code)
		took = append(took, p.duration)
		least, most = min(least, p.receivedBytes), max(most, p.serverPeakKiB)
		if p.disconnected {
			away++
		}
	}
	row := []string{name, pieces, formatDuration(median(took)), fmt.Sprintf("%.1f %%", 100*float64(least)/printedTotalBytes), "", aim}
	if away > 0 {
		row[3] += fmt.Sprintf("; disconnected in %d of %d", away, rounds)
	}
	if most > 0 {
		row[4] = formatThreeDigits(float64(most)/1024) + " MiB"
	}
	return row
}

// jupyterPrintFuncs returns functions that run printing code through jupyter_client and
// through a Jupyter server, or nil if Jupyter is not available.
func (k *kernelHarness) jupyterPrintFuncs(t *testing.T) (client, web func(code string) printResult) {
	t.Helper()
	if !k.jupyterAvailable {
		return nil, nil
	}
	driven, kernel := newJupyterClient(t), newJupyterServer(t).startKernel(t)
	driven.startKernel(onePlusOneCode)
	client = func(code string) printResult {
		took, size := driven.timePrintedText(code)
		return printResult{duration: took, receivedBytes: size}
	}
	web = func(code string) printResult {
		took, size := kernel.timePrintedText(code)
		return printResult{duration: took, receivedBytes: size}
	}
	return client, web
}

// printInAttempt runs the code in an attempt of `assay run` and returns what the trace
// holds of it.
func (k *kernelHarness) printInAttempt(t *testing.T, code string) printResult {
	t.Helper()
	dir := t.TempDir()
	type object = map[string]any
	line, err := json.Marshal(object{
		"id": "print", "task": "Print.", "grader": object{"type": "exact", "config": object{"ground_truth": object{"done": 1}}},
		"oracle": object{"cells": []string{code}, "answer": object{"done": 1}},
	})
	require.NoError(t, err)
	cases, out := filepath.Join(dir, "cases.jsonl"), filepath.Join(dir, "out")
	require.NoError(t, os.WriteFile(cases, line, 0o600))
	used := k.runCommand(t, "run", cases, "--agent", "oracle", "--python", k.python.Executable, "--stdio-limit", "-1", "--quiet", "--out", out)
	require.True(t, strings.HasPrefix(used.verdict, "PASS 1/1"), used.verdict)
	p := readPrintResult(t, out)
	p.serverPeakKiB = used.peakKiB
	return p
}

// readPrintResult reads the time and the printed bytes of the only cell from the trace of
// a run's only attempt.
func readPrintResult(t *testing.T, out string) (p printResult) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(out, "attempts", "*", "trace.jsonl"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	file, err := os.Open(files[0])
	require.NoError(t, err)
	defer file.Close()
	var began, ended int64
	_, err = trace.ReadRecords(file, func(r trace.Record) error {
		switch {
		case r.Hop == trace.ServerToKernel && r.Type == protocol.TypeRunCell:
			began = r.ElapsedNS
		case r.Hop == trace.KernelToServer && r.Type == protocol.TypeCellResult:
			ended = r.ElapsedNS
		case r.Hop == trace.KernelToServer && r.Type == protocol.TypeKernelStdio:
			p.receivedBytes += len(stdioText(t, r.Message))
		}
		return nil
	})
	require.NoError(t, err)
	require.NotZero(t, ended)
	p.duration = time.Duration(ended - began)
	return p
}

// printToConsole runs the code in a session of a new `assay serve` with a console
// connected.
func (k *kernelHarness) printToConsole(t *testing.T, code string) (p printResult) {
	t.Helper()
	server := k.startServer(t, "--stdio-limit", "-1")
	console, _ := server.openSession(t)
	var err error
	p.duration, p.receivedBytes, err = console.timePrintedText(code)
	p.disconnected = err != nil
	_, err = fmt.Sscan(valueInFile(t, fmt.Sprintf("/proc/%d/status", server.pid), "VmHWM"), &p.serverPeakKiB)
	require.NoError(t, err)
	return p
}
