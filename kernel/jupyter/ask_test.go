package jupyter_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
)

// executeCode sends an execute_code request with this code and returns the answer.
func (k *testKernel) executeCode(code string) frameFields {
	k.t.Helper()
	k.sendMessage(protocol.TypeExecuteCode, messageFields{"agent_tx_id": "t", "code": code})
	answer := k.awaitFrame(protocol.TypeExecuteCodeResponse)
	require.Equal(k.t, "t", answer.AgentTxID)
	return answer
}

func TestPK14PythonExecuteCode(t *testing.T) {
	t.Parallel()
	k := startPythonKernel(t)
	answer := k.executeCode("import sys\nx = 41\nprint('out'); print('err', file=sys.stderr)\ndisplay(1)\nx + 1")
	require.Equal(t, protocol.StatusOK, answer.Status)
	require.Equal(t, "42", *answer.Result)
	require.Equal(t, "out\n", answer.Stdout)
	require.Equal(t, "err\n", answer.Stderr)
	require.Nil(t, k.executeCode("None").Result)
	failed := k.executeCode("print('so far')\n1/0")
	require.Equal(t, protocol.StatusError, failed.Status)
	require.Equal(t, "ZeroDivisionError", failed.EName)
	require.Equal(t, "division by zero", failed.Error)
	require.True(t, strings.HasSuffix(failed.Exception, "\nZeroDivisionError: division by zero\n"))
	require.Equal(t, "so far\n", failed.Stdout)
	require.Equal(t, "41", cellOutputs(k.runCell("x"))[0].textOfMIMEType("text/plain"), "it shares the globals of cells")
	require.Equal(t, "1", cellOutputs(k.runCell("x = 1\nx"))[0].textOfMIMEType("text/plain"))
	require.Equal(t, 3, cellOutputs(k.runCell("x"))[0].ExecutionCount, "execute_code is not in the history")
}

func TestExecuteCodeIsQueuedBehindCells(t *testing.T) {
	t.Parallel()
	k := startPythonKernel(t)
	k.sendCell("import time; time.sleep(0.1); y = 5")
	require.Equal(t, "5", *k.executeCode("y").Result)
}

func TestExecuteCodeCutsLongTextInTheMiddle(t *testing.T) {
	t.Parallel()
	k := startPythonKernel(t)
	answer := k.executeCode("print('a' * (5 << 20)); print('b' * (5 << 20)); 'c' * (2 << 20)")
	require.Less(t, len(answer.Stdout), 4<<20+100)
	require.Regexp(t, `^aaa`, answer.Stdout)
	require.Contains(t, answer.Stdout, "a\n[… 6291458 bytes …]\nb")
	require.Regexp(t, `bbb\n$`, answer.Stdout)
	require.Less(t, len(*answer.Result), 1<<20+100)
}

// globalsSummary requests a summary of all globals. It returns the description of each global
// by name, and the whole answer.
func (k *testKernel) globalsSummary() (map[string]map[string]any, frameFields) {
	k.t.Helper()
	k.sendMessage(protocol.TypeGlobalsSummary, messageFields{"agent_tx_id": "s"})
	answer := k.awaitFrame(protocol.TypeGlobalsSummary)
	require.Equal(k.t, "s", answer.AgentTxID)
	var infos map[string]map[string]any
	require.NoError(k.t, json.Unmarshal(answer.Summary, &infos))
	return infos, answer
}

func TestPK8PythonSummary(t *testing.T) {
	t.Parallel()
	k := startPythonKernel(t)
	infos, _ := k.globalsSummary()
	require.Empty(t, infos, "names of the kernel are hidden")
	k.runCell(`import time, numpy as np, pandas as pd
_hidden = 1
x = 3
d = {'k': [1, 2]}
df = pd.DataFrame({'a': [1, 2], 'b': ['x', 'y']})
s = df['a']
ar = np.zeros((2, 3))
text = 'é' * 5000
def f(): pass
class Bad:
    def __repr__(self): raise ValueError('no')
class Slow:
    def __repr__(self): time.sleep(3)
bad, slow = Bad(), Slow()`)
	infos, _ = k.globalsSummary()
	require.Equal(t, map[string]any{"type": "int", "repr": "3"}, infos["x"])
	require.Equal(t, map[string]any{"type": "dict", "repr": "{'k': [1, 2]}", "len": 1.0}, infos["d"])
	require.Equal(t, map[string]any{
		"type": "DataFrame", "columns": []any{"a", "b"}, "dtypes": map[string]any{"a": "int64", "b": "object"},
		"column_preview_truncated": false, "shape": []any{2.0, 2.0},
	}, infos["df"])
	require.Equal(t, map[string]any{"type": "Series", "dtype": "int64", "shape": []any{2.0}}, infos["s"])
	require.Equal(t, map[string]any{"type": "ndarray", "dtype": "float64", "shape": []any{2.0, 3.0}}, infos["ar"])
	require.Equal(t, map[string]any{"type": "Bad", "error": "ValueError"}, infos["bad"])
	require.Equal(t, map[string]any{"type": "Slow", "error": "its inspection takes over 0.1 s"}, infos["slow"])
	require.LessOrEqual(t, len([]rune(infos["text"]["repr"].(string))), 1000) //nolint:errcheck,forcetypeassert // a test
	require.Contains(t, infos, "f")
	for _, name := range []string{"_hidden", "np", "time", "In", "Out", "get_ipython", "exit"} {
		require.NotContains(t, infos, name)
	}
	k.runCell("for n in range(600): globals()[f'n{n}'] = n")
	infos, answer := k.globalsSummary()
	require.Len(t, infos, 500)
	require.True(t, answer.Truncated)
}

func TestPK8PythonGlobalInfo(t *testing.T) {
	t.Parallel()
	k := startPythonKernel(t)
	k.runCell("x = [1]")
	k.sendMessage(protocol.TypeGetGlobalInfo, messageFields{"key": "x", "agent_tx_id": "i"})
	answer := k.awaitFrame("get_global_info_response")
	require.Equal(t, "i", answer.AgentTxID)
	require.JSONEq(t, `{"type": "list", "repr": "[1]", "len": 1}`, string(answer.Info))
	k.sendMessage(protocol.TypeGetGlobalInfo, messageFields{"key": `"); import os`})
	require.Equal(t, `there is no global "\"); import os"`, k.awaitFrame("get_global_info_response").Error)
	require.Equal(t, []string{}, lastFrame(k.runCell("1")).Outputs, "requests leave no names behind")
}

func TestSummaryComesBeforeQueuedCells(t *testing.T) {
	t.Parallel()
	k := startPythonKernel(t)
	running := k.runBusyCell("open(FIFO, 'w').write('x')\nx = 1\nopen(FIFO).read()")
	behind := k.sendCell("y = 1")
	k.sendMessage(protocol.TypeGlobalsSummary, messageFields{"agent_tx_id": "s"})
	k.sendMessage("ping", messageFields{"agent_tx_id": "p"})
	k.sendMessage(protocol.TypeDebugState, nil)
	require.Equal(t, "p", k.awaitFrame("pong").AgentTxID, "answered while the cell runs")
	var state struct {
		Queue, Running []string
		Waiting        int
		PID            int
	}
	require.NoError(t, json.Unmarshal(k.awaitFrame(protocol.TypeDebugState).Data, &state))
	require.Equal(t, []string{behind}, state.Queue)
	require.Equal(t, []string{running}, state.Running)
	require.Equal(t, 2, state.Waiting)
	require.Equal(t, k.ready.PID, state.PID)
	k.releaseBusyCell(0)
	frames := k.readUntil(protocol.TypeGlobalsSummary)
	require.JSONEq(t, `{"x": {"type": "int", "repr": "1"}}`, string(lastFrame(frames).Summary))
	require.Equal(t, behind, *k.awaitFrame(protocol.TypeCellResult).CellID)
}

func TestSummaryTimesOut(t *testing.T) {
	t.Parallel()
	k := startPythonKernel(t)
	k.runCell("import sys, time\ndef hang(): time.sleep(1000)\nsys.modules['_assay_jupyter'].describe_globals = hang")
	began := time.Now()
	infos, answer := k.globalsSummary()
	require.Empty(t, infos)
	require.Equal(t, "the kernel took too long to describe its globals", answer.Note)
	require.Less(t, time.Since(began), 8*time.Second)
	k.runCell("del sys.modules['_assay_jupyter']")
	_, answer = k.globalsSummary()
	require.Contains(t, answer.Note, "the kernel could not describe its globals")
	require.Equal(t, []string{}, lastFrame(k.runCell("z = 1")).Outputs, "without the helper, assigned names are unknown")
}

func TestPK14PythonResetRestartsTheKernel(t *testing.T) {
	t.Parallel()
	k := startPythonKernel(t)
	k.runCell("x = 1\nimport os; os.chdir('/')")
	k.sendMessage(protocol.TypeResetGlobals, messageFields{"agent_tx_id": "r"})
	waiting := k.sendCell("print('x' in globals(), os.getcwd() if 'os' in globals() else '')")
	k.sendMessage("ping", nil)
	k.awaitFrame("pong")
	k.sendMessage(protocol.TypeStopCell, messageFields{"cell_id": "nothing"})
	answer := k.awaitFrame("reset_kernel_globals_complete")
	require.Equal(t, "r", answer.AgentTxID)
	require.Equal(t, []string{}, answer.Threads)
	frames := k.readUntil(protocol.TypeCellResult)
	require.Equal(t, waiting, *lastFrame(frames).CellID)
	require.Equal(t, "False \n", streamText(t, frames, protocol.Stdout))
	infos, _ := k.globalsSummary()
	require.Empty(t, infos)
}

func TestRequestsAnsweredByTheAdapter(t *testing.T) {
	t.Parallel()
	k := startPythonKernel(t)
	k.sendMessage(protocol.TypeInit, messageFields{"widget_states": messageFields{}})
	k.sendMessage(protocol.TypeReactivitySummary, messageFields{"agent_tx_id": "r"})
	answer := k.readFrame()
	require.Equal(t, protocol.TypeReactivitySummary, answer.Type)
	require.Equal(t, "r", answer.AgentTxID)
	require.Equal(t, map[string]any{}, answer.Reactivity)
	k.sendMessage(protocol.TypeSetWidgetValue, messageFields{"data": messageFields{"c1/w": "1"}, "agent_tx_id": "w"})
	answer = k.readFrame()
	require.Equal(t, "set_widget_value_response", answer.Type)
	require.Equal(t, protocol.StatusError, answer.Status)
	require.Equal(t, map[string]string{"c1/w": "there is no such widget"}, answer.Errors)
	k.sendMessage(protocol.TypeAgentAction, messageFields{"action": "request_globals_summary", "tx_id": "a"})
	answer = k.awaitFrame(protocol.TypeActionResponse)
	require.Equal(t, "a", answer.TxID)
	require.Equal(t, protocol.StatusSuccess, answer.Status)
	require.JSONEq(t, "{}", string(answer.Summary))
}

func TestMalformedRequestsAreErrors(t *testing.T) {
	t.Parallel()
	k := startPythonKernel(t)
	for body, want := range map[string]string{
		"no JSON":                                 "malformed message",
		`[]`:                                      "malformed message",
		`{"type": "no such"}`:                     `unknown message type "no such"`,
		`{"type": "run_cell", "code": "1"}`:       "run_cell: cell_id is missing or empty",
		`{"type": "run_cell", "cell_id": "a"}`:    "run_cell: code is missing",
		`{"type": "run_cell", "cell_id": 1}`:      "cell_id",
		`{"type": "stop_cell"}`:                   "stop_cell: cell_id is missing or empty",
		`{"type": "dispose_cell", "cell_id": ""}`: "dispose_cell: cell_id is missing or empty",
		`{"type": "execute_code"}`:                "execute_code: code is missing",
		`{"type": "get_global_info"}`:             "get_global_info: key is missing or empty",
		`{"type": "agent_action", "action": "x"}`: `does not know the action "x"`,
	} {
		require.NoError(t, k.Write([]byte(body)))
		answer := k.readFrame()
		require.Equal(t, protocol.TypeError, answer.Type, body)
		require.Contains(t, string(answer.Data), strings.Trim(string(must(json.Marshal(want))), `"`))
	}
	require.Equal(t, 1, lastFrame(k.runCell("1")).Sequencer)
}
