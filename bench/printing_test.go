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

// hundredMiB is how many bytes each of the codes below prints.
const hundredMiB = 100 << 20

// printers print so many bytes.
func printers() [][]string {
	return [][]string{
		{"64 KiB", "for _ in range(1600): print('x' * 65535)"},
		{"100 B", "for _ in range(1048576): print('x' * 99)"},
	}
}

// printed is what has become of it.
type printed struct {
	took   time.Duration // until the result came, or nothing any more
	size   int           // bytes that came
	memory int64         // peak of the server's, in KiB; 0: not known
	away   bool          // the console was sent away
}

// measurePrints measures a cell that prints 100 MiB without a limit.
func (k *kit) measurePrints(t *testing.T) [][]string {
	t.Helper()
	table := [][]string{{"where to", "pieces", "took", "arrived", "server's memory", "aim"}}
	client, web := k.jupyterPrints(t)
	for _, code := range printers() {
		for _, place := range []struct {
			name, aim string
			printing  func(code string) printed // nil: not measured
		}{
			{"`assay run`, an attempt's trace", "1 s, 100 %, 64 MiB", func(code string) printed { return k.printInAttempt(t, code) }},
			{"`assay serve`, a console", "100 %, 64 MiB", func(code string) printed { return k.printToConsole(t, code) }},
			{"ipykernel, jupyter_client", "", client},
			{"ipykernel, jupyter_server, a WebSocket", "", web},
		} {
			table = append(table, printedRow(place.name, place.aim, code[0], code[1], place.printing))
			t.Log(table[len(table)-1])
		}
	}
	return table
}

// printedRow is the row of a place: medians, the least that came, the most memory.
func printedRow(name, aim, pieces, code string, printing func(string) printed) []string {
	const rounds = 3
	if printing == nil {
		return []string{name, pieces, "not measured", "", "", ""}
	}
	var took []time.Duration
	least, most, away := hundredMiB, int64(0), 0
	for range rounds {
		p := printing(code)
		took = append(took, p.took)
		least, most = min(least, p.size), max(most, p.memory)
		if p.away {
			away++
		}
	}
	row := []string{name, pieces, show(median(took)), fmt.Sprintf("%.1f %%", 100*float64(least)/hundredMiB), "", aim}
	if away > 0 {
		row[3] += fmt.Sprintf("; sent away in %d of %d", away, rounds)
	}
	if most > 0 {
		row[4] = digits(float64(most)/1024) + " MiB"
	}
	return row
}

// jupyterPrints are what jupyter_client and a console of Jupyter's server do.
func (k *kit) jupyterPrints(t *testing.T) (client, web func(code string) printed) {
	t.Helper()
	if !k.beside {
		return nil, nil
	}
	driven, kernel := newJupyterClient(t), newJupyterServer(t).start(t)
	driven.start(oneAndOne)
	client = func(code string) printed {
		took, size := driven.text(code)
		return printed{took: took, size: size}
	}
	web = func(code string) printed {
		took, size := kernel.text(code)
		return printed{took: took, size: size}
	}
	return client, web
}

// printInAttempt prints in an attempt of `assay run`, and returns what the trace
// says of it.
func (k *kit) printInAttempt(t *testing.T, code string) printed {
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
	used := k.run(t, "run", cases, "--agent", "oracle", "--python", k.python.Executable, "--stdio-limit", "-1", "--quiet", "--out", out)
	require.True(t, strings.HasPrefix(used.verdict, "PASS 1/1"), used.verdict)
	p := printedInTrace(t, out)
	p.memory = used.peakKiB
	return p
}

// printedInTrace is what the trace of the only attempt has of its only cell.
func printedInTrace(t *testing.T, out string) (p printed) {
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
			p.size += len(textOf(t, r.Message))
		}
		return nil
	})
	require.NoError(t, err)
	require.NotZero(t, ended)
	p.took = time.Duration(ended - began)
	return p
}

// printToConsole prints in a session of an `assay serve` of its own, to a console.
func (k *kit) printToConsole(t *testing.T, code string) (p printed) {
	t.Helper()
	server := k.serve(t, "--stdio-limit", "-1")
	console, _ := server.open(t)
	var err error
	p.took, p.size, err = console.text(code)
	p.away = err != nil
	_, err = fmt.Sscan(field(t, fmt.Sprintf("/proc/%d/status", server.pid), "VmHWM"), &p.memory)
	require.NoError(t, err)
	return p
}
