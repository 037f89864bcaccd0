package jupyter_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
)

func TestPythonReadyMessage(t *testing.T) {
	t.Parallel()
	k := startPythonKernel(t)
	require.Equal(t, "python", k.ready.Language)
	require.Regexp(t, `^3\.\d+\.\d+$`, k.ready.Version)
	require.Equal(t, []string{"reactivity", "widgets"}, k.ready.Unsupported)
	frames := k.runCell("import os; print(os.getpid(), os.getcwd())")
	require.Equal(t, fmt.Sprintf("%d %s\n", k.ready.PID, k.workdir), streamText(t, frames, protocol.Stdout))
}

func TestPythonRunsInOrder(t *testing.T) {
	t.Parallel()
	k := startPythonKernel(t)
	for n := range 3 {
		k.sendMessage(protocol.TypeRunCell, messageFields{"cell_id": fmt.Sprint(n), "code": fmt.Sprintf("print(%d)\n%d", n, n*n)})
	}
	var got []string
	for len(got) < 9 {
		switch f := k.readFrame(); f.Type {
		case protocol.TypeStartCell:
			got = append(got, "start "+*f.CellID)
		case protocol.TypeCellOutput:
			got = append(got, "output "+*f.CellID+" "+f.Output.textOfMIMEType("text/plain"))
		case protocol.TypeCellResult:
			got = append(got, fmt.Sprintf("result %s %s %d", *f.CellID, f.Status, f.Sequencer))
		}
	}
	require.Equal(t, []string{
		"start 0", "output 0 0", "result 0 ok 1",
		"start 1", "output 1 1", "result 1 ok 2",
		"start 2", "output 2 4", "result 2 ok 3",
	}, got)
	idle := k.readFrame()
	require.Equal(t, protocol.TypeStartCell, idle.Type)
	require.Nil(t, idle.CellID)
	require.Equal(t, 3, idle.Sequencer)
}

func TestPythonReportsAssignedNames(t *testing.T) {
	t.Parallel()
	k := startPythonKernel(t)
	k.runCell("old = 1; keep = []")
	code := "import math, json as j\nfrom math import pi\nimport pandas, matplotlib.figure\nold = 1\nkeep.append(2)\n" +
		"df = pandas.DataFrame({'a': [1]})\nfig = matplotlib.figure.Figure()\n_hidden = 3\ndef f(): inner = 4\nb, (c, *d) = 1, (2, 3)"
	for range 2 { // the second assigns the same values again
		result := lastFrame(k.runCell(code))
		require.Equal(t, []string{"b", "c", "d", "df", "f", "fig", "old", "pi"}, result.Outputs, "%+v", result)
		require.Equal(t, []string{"df"}, result.Tables)
		require.Equal(t, []string{"fig"}, result.Figures)
		require.Equal(t, []string{}, result.Plots)
	}
	require.Equal(t, []string{}, lastFrame(k.runCell("")).Outputs)
	require.Equal(t, []string{"p"}, lastFrame(k.runCell("%time p = 1")).Outputs)
	require.Equal(t, []string{"g"}, lastFrame(k.runCell("globals()['g'] = await __import__('asyncio').sleep(0, 5)")).Outputs)
}

func TestPythonShowsRichOutputs(t *testing.T) {
	t.Parallel()
	k := startPythonKernel(t)
	frames := k.runCell("print('before')\ndisplay({'text/html': '<b>', 'text/plain': 'é'}, raw=True)\nprint('after')\nh = display('one', display_id='d')\nh.update('two')\nclear = __import__('IPython').display.clear_output\nclear(wait=True)\n40 + 2")
	all := cellOutputs(frames)
	require.Len(t, all, 5)
	require.Equal(t, "display_data", all[0].Type)
	require.Equal(t, "<b>", all[0].textOfMIMEType("text/html"))
	require.Equal(t, "é", all[0].textOfMIMEType("text/plain"))
	require.Equal(t, map[string]string{"display_id": "d"}, all[1].Transient)
	require.Equal(t, "update_display_data", all[2].Type)
	require.Equal(t, "'two'", all[2].textOfMIMEType("text/plain"))
	require.Equal(t, "clear_output", all[3].Type)
	require.True(t, *all[3].Wait)
	require.Equal(t, "execute_result", all[4].Type)
	require.Equal(t, "42", all[4].textOfMIMEType("text/plain"))
	require.Equal(t, 1, all[4].ExecutionCount)
	require.Equal(t, "before\n", streamText(t, frames[:2], protocol.Stdout), "text keeps its place among outputs")
}

func TestPythonShowsFigures(t *testing.T) {
	t.Parallel()
	k := startPythonKernel(t)
	all := cellOutputs(k.runCell("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"))
	require.NotEmpty(t, all)
	png, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(all[len(all)-1].textOfMIMEType("image/png"), "\n", ""))
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(png, []byte("\x89PNG")))
}

func TestPythonTracebackEndsWithTheError(t *testing.T) {
	t.Parallel()
	k := startPythonKernel(t)
	for code, want := range map[string]string{
		"def f():\n    raise ValueError('no')\nf()": "ValueError: no",
		"x = = 1":                 "SyntaxError: invalid syntax",
		"import sys; sys.exit(3)": "SystemExit: 3",
		"raise KeyboardInterrupt": "KeyboardInterrupt",
		"raise RuntimeError('first line\\nsecond \x1b[1m')": "RuntimeError: first line\nsecond",
	} {
		frames := k.runCell(code)
		result := lastFrame(frames)
		require.Equal(t, protocol.StatusError, result.Status, code)
		require.True(t, result.HasError)
		require.Regexp(t, want+`[^\n]*\n$`, result.Exception)
		require.NotContains(t, result.Exception, "\x1b")
		shown := cellOutputs(frames)
		require.Equal(t, "error", shown[len(shown)-1].Type)
		require.Equal(t, result.Exception, strings.Join(shown[len(shown)-1].Traceback, "\n")+"\n")
	}
	require.Equal(t, "1", cellOutputs(k.runCell("1"))[0].textOfMIMEType("text/plain"), "it lives")
}

func TestPythonSubprocessTextIsNotDuplicated(t *testing.T) {
	t.Parallel()
	k := startPythonKernel(t)
	frames := k.runCell("import os, sys\nprint('one', flush=True)\nos.system('echo two; echo drei ä >&2')\nprint('three')")
	require.ElementsMatch(t, []string{"one", "two", "three", ""}, strings.Split(streamText(t, frames, protocol.Stdout), "\n"))
	require.Equal(t, "drei ä\n", streamText(t, frames, protocol.Stderr))
}

// ipykernel's own capture of descriptors ends at a character that is split between two reads of
// 1,000 bytes, and what its stdout has as fileno() it does not capture.
func TestPythonTextOfSubprocessesIsComplete(t *testing.T) {
	t.Parallel()
	k := startPythonKernel(t)
	frames := k.runCell("import os, subprocess, sys\nos.system(\"printf 'x%.0sä' $(seq 100000)\")")
	require.Equal(t, strings.Repeat("xä", 100000), streamText(t, frames, protocol.Stdout))
	frames = k.runCell("subprocess.run(['echo', 'by fileno'], stdout=sys.stdout, check=True)")
	require.Contains(t, streamText(t, frames, protocol.Stdout), "by fileno\n")
}

func TestPythonLargeTextIsComplete(t *testing.T) {
	t.Parallel()
	k := startPythonKernel(t)
	size := 20 << 20
	if testing.Short() {
		size = 2 << 20
	}
	frames := k.runCell(fmt.Sprintf("print('äx' * %d, end='')", size/3))
	got := streamText(t, frames, protocol.Stdout)
	require.Len(t, got, size/3*3)
	require.Equal(t, strings.Repeat("äx", size/3), got)
	frames = k.runCell("for i in range(200_000): print(i)")
	got = streamText(t, frames, protocol.Stdout)
	require.Equal(t, 200_000, strings.Count(got, "\n"))
	require.True(t, strings.HasSuffix(got, "\n199999\n"))
}

func TestPythonManyOutputsAllArrive(t *testing.T) {
	t.Parallel()
	k := startPythonKernel(t)
	require.Len(t, cellOutputs(k.runCell("for i in range(2000): display(i)")), 2000)
}

func TestPythonOutputThatIsTooLargeIsReplaced(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make nightly runs it")
	}
	t.Parallel()
	k := startPythonKernel(t)
	frames := k.runCell("display({'text/plain': 'x' * (65 << 20)}, raw=True)\n1")
	all := cellOutputs(frames)
	require.Len(t, all, 2)
	require.Regexp(t, `^<an output of \d+ bytes, more than a message may have, was not sent>$`, all[0].textOfMIMEType("text/plain"))
	require.Equal(t, protocol.StatusOK, lastFrame(frames).Status)
}

func TestPythonTextOfThreadOfAnEarlierCell(t *testing.T) {
	t.Parallel()
	k := startPythonKernel(t)
	k.runCell("import threading\ngo, done = threading.Event(), threading.Event()\ndef f():\n    go.wait(); print('late'); display('lost'); done.set()\nthreading.Thread(target=f).start()")
	frames := k.runCell("go.set(); done.wait(); import sys; sys.stdout.flush(); print('mine')")
	require.Contains(t, streamText(t, frames, protocol.Stdout), "late")
}
