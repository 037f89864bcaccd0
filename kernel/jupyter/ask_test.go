package jupyter_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
)

func (k *started) execute(code string) frame {
	k.t.Helper()
	k.ask(protocol.TypeExecuteCode, fields{"agent_tx_id": "t", "code": code})
	answer := k.await(protocol.TypeExecuteCodeResponse)
	require.Equal(k.t, "t", answer.AgentTxID)
	return answer
}

func TestPK14PythonExecutesCode(t *testing.T) {
	t.Parallel()
	k := startPython(t)
	answer := k.execute("import sys\nx = 41\nprint('out'); print('err', file=sys.stderr)\ndisplay(1)\nx + 1")
	require.Equal(t, protocol.StatusOK, answer.Status)
	require.Equal(t, "42", *answer.Result)
	require.Equal(t, "out\n", answer.Stdout)
	require.Equal(t, "err\n", answer.Stderr)
	require.Nil(t, k.execute("None").Result)
	failed := k.execute("print('so far')\n1/0")
	require.Equal(t, protocol.StatusError, failed.Status)
	require.Equal(t, "ZeroDivisionError", failed.EName)
	require.Equal(t, "division by zero", failed.Error)
	require.True(t, strings.HasSuffix(failed.Exception, "\nZeroDivisionError: division by zero\n"))
	require.Equal(t, "so far\n", failed.Stdout)
	require.Equal(t, "41", outputs(k.run("x"))[0].text("text/plain"), "it has the cells' globals")
	require.Equal(t, "1", outputs(k.run("x = 1\nx"))[0].text("text/plain"))
	require.Equal(t, 3, outputs(k.run("x"))[0].Count, "no code of these is in the history")
}

func TestExecuteCodeWaitsForTheCellsBeforeIt(t *testing.T) {
	t.Parallel()
	k := startPython(t)
	k.send("import time; time.sleep(0.1); y = 5")
	require.Equal(t, "5", *k.execute("y").Result)
}

func TestExecuteCodeKeepsTheEndsOfLongText(t *testing.T) {
	t.Parallel()
	k := startPython(t)
	answer := k.execute("print('a' * (5 << 20)); print('b' * (5 << 20)); 'c' * (2 << 20)")
	require.Less(t, len(answer.Stdout), 4<<20+100)
	require.Regexp(t, `^aaa`, answer.Stdout)
	require.Contains(t, answer.Stdout, "a\n[… 6291458 bytes …]\nb")
	require.Regexp(t, `bbb\n$`, answer.Stdout)
	require.Less(t, len(*answer.Result), 1<<20+100)
}

func (k *started) summary() (map[string]map[string]any, frame) {
	k.t.Helper()
	k.ask(protocol.TypeGlobalsSummary, fields{"agent_tx_id": "s"})
	answer := k.await(protocol.TypeGlobalsSummary)
	require.Equal(k.t, "s", answer.AgentTxID)
	var infos map[string]map[string]any
	require.NoError(k.t, json.Unmarshal(answer.Summary, &infos))
	return infos, answer
}

func TestPK8PythonSummary(t *testing.T) {
	t.Parallel()
	k := startPython(t)
	infos, _ := k.summary()
	require.Empty(t, infos, "nothing of the kernel's own")
	k.run(`import time, numpy as np, pandas as pd
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
	infos, _ = k.summary()
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
	k.run("for n in range(600): globals()[f'n{n}'] = n")
	infos, answer := k.summary()
	require.Len(t, infos, 500)
	require.True(t, answer.Truncated)
}

func TestPK8PythonGlobalInfo(t *testing.T) {
	t.Parallel()
	k := startPython(t)
	k.run("x = [1]")
	k.ask(protocol.TypeGetGlobalInfo, fields{"key": "x", "agent_tx_id": "i"})
	answer := k.await("get_global_info_response")
	require.Equal(t, "i", answer.AgentTxID)
	require.JSONEq(t, `{"type": "list", "repr": "[1]", "len": 1}`, string(answer.Info))
	k.ask(protocol.TypeGetGlobalInfo, fields{"key": `"); import os`})
	require.Equal(t, `there is no global "\"); import os"`, k.await("get_global_info_response").Error)
	require.Equal(t, []string{}, last(k.run("1")).Outputs, "the questions leave nothing behind")
}

func TestAQuestionWaitsForTheCellButNotForThoseBehindIt(t *testing.T) {
	t.Parallel()
	k := startPython(t)
	running := k.busy("open(FIFO, 'w').write('x')\nx = 1\nopen(FIFO).read()")
	behind := k.send("y = 1")
	k.ask(protocol.TypeGlobalsSummary, fields{"agent_tx_id": "s"})
	k.ask("ping", fields{"agent_tx_id": "p"})
	k.ask(protocol.TypeDebugState, nil)
	require.Equal(t, "p", k.await("pong").AgentTxID, "answered while the cell runs")
	var state struct {
		Queue, Running []string
		Waiting        int
		PID            int
	}
	require.NoError(t, json.Unmarshal(k.await(protocol.TypeDebugState).Data, &state))
	require.Equal(t, []string{behind}, state.Queue)
	require.Equal(t, []string{running}, state.Running)
	require.Equal(t, 2, state.Waiting)
	require.Equal(t, k.ready.PID, state.PID)
	k.release(0)
	frames := k.until(protocol.TypeGlobalsSummary)
	require.JSONEq(t, `{"x": {"type": "int", "repr": "1"}}`, string(last(frames).Summary))
	require.Equal(t, behind, *k.await(protocol.TypeCellResult).CellID)
}

func TestAQuestionThatHangsIsGivenUp(t *testing.T) {
	t.Parallel()
	k := startPython(t)
	k.run("import sys, time\ndef hang(): time.sleep(1000)\nsys.modules['_assay_jupyter'].summary = hang")
	began := time.Now()
	infos, answer := k.summary()
	require.Empty(t, infos)
	require.Equal(t, "the kernel took too long to look at its globals", answer.Note)
	require.Less(t, time.Since(began), 8*time.Second)
	k.run("del sys.modules['_assay_jupyter']")
	_, answer = k.summary()
	require.Contains(t, answer.Note, "the kernel could not look at its globals")
	require.Equal(t, []string{}, last(k.run("z = 1")).Outputs, "then the names are not known either")
}

func TestPK14ResetStartsAnew(t *testing.T) {
	t.Parallel()
	k := startPython(t)
	k.run("x = 1\nimport os; os.chdir('/')")
	k.ask(protocol.TypeResetGlobals, fields{"agent_tx_id": "r"})
	waiting := k.send("print('x' in globals(), os.getcwd() if 'os' in globals() else '')")
	k.ask("ping", nil)
	k.await("pong")
	k.ask(protocol.TypeStopCell, fields{"cell_id": "nothing"})
	answer := k.await("reset_kernel_globals_complete")
	require.Equal(t, "r", answer.AgentTxID)
	require.Equal(t, []string{}, answer.Threads)
	frames := k.until(protocol.TypeCellResult)
	require.Equal(t, waiting, *last(frames).CellID)
	require.Equal(t, "False \n", text(t, frames, protocol.Stdout))
	infos, _ := k.summary()
	require.Empty(t, infos)
}

func TestRequestsThatNeedNoKernel(t *testing.T) {
	t.Parallel()
	k := startPython(t)
	k.ask(protocol.TypeInit, fields{"widget_states": fields{}})
	k.ask(protocol.TypeReactivitySummary, fields{"agent_tx_id": "r"})
	answer := k.next()
	require.Equal(t, protocol.TypeReactivitySummary, answer.Type)
	require.Equal(t, "r", answer.AgentTxID)
	require.Equal(t, map[string]any{}, answer.Reactivity)
	k.ask(protocol.TypeSetWidgetValue, fields{"data": fields{"c1/w": "1"}, "agent_tx_id": "w"})
	answer = k.next()
	require.Equal(t, "set_widget_value_response", answer.Type)
	require.Equal(t, protocol.StatusError, answer.Status)
	require.Equal(t, map[string]string{"c1/w": "there is no such widget"}, answer.Errors)
	k.ask(protocol.TypeAgentAction, fields{"action": "request_globals_summary", "tx_id": "a"})
	answer = k.await(protocol.TypeActionResponse)
	require.Equal(t, "a", answer.TxID)
	require.Equal(t, protocol.StatusSuccess, answer.Status)
	require.JSONEq(t, "{}", string(answer.Summary))
}

func TestWhatCannotBeFollowedIsAnErrorAndNoMore(t *testing.T) {
	t.Parallel()
	k := startPython(t)
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
		answer := k.next()
		require.Equal(t, protocol.TypeError, answer.Type, body)
		require.Contains(t, string(answer.Data), strings.Trim(string(must(json.Marshal(want))), `"`))
	}
	require.Equal(t, 1, last(k.run("1")).Sequencer)
}
