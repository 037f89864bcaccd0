package grading_test

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/kernel/python"
	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
)

// liveKernel is the real Python kernel that agents get, called as graders call it.
type liveKernel struct{ conn protocol.Conn }

func startLiveKernel(t *testing.T) liveKernel {
	t.Helper()
	start, err := python.UnpackSources(t.TempDir())
	require.NoError(t, err)
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "python3", "-u", start, "3")
	cmd.ExtraFiles, cmd.Stderr, cmd.Dir = []*os.File{theirs}, t.Output(), t.TempDir()
	require.NoError(t, cmd.Start())
	require.NoError(t, theirs.Close())
	end, err := net.FileConn(ours)
	require.NoError(t, err)
	require.NoError(t, ours.Close())
	k := liveKernel{conn: protocol.NewStream(end, 0)}
	t.Cleanup(func() {
		require.NoError(t, k.conn.Close(protocol.CloseNormal, ""))
		require.NoError(t, cmd.Wait())
	})
	return k
}

// runAsAgent runs code as the agent does.
func (k liveKernel) runAsAgent(t *testing.T, code string) {
	t.Helper()
	done, err := k.executeAndCollect(protocol.KernelRequest{Code: &code})
	require.NoError(t, err)
	require.Equal(t, "ok", done.Status, done.Exception)
}

// Execute runs code as a grader does.
func (k liveKernel) Execute(_ context.Context, code string) (grading.Execution, error) {
	return k.executeAndCollect(protocol.KernelRequest{Code: &code, Pristine: true})
}

func (k liveKernel) executeAndCollect(request protocol.KernelRequest) (grading.Execution, error) {
	request.Type, request.AgentTxID = protocol.TypeExecuteCode, "t"
	body, err := json.Marshal(request)
	if err != nil {
		return grading.Execution{}, err
	}
	if err := k.conn.Write(body); err != nil {
		return grading.Execution{}, err
	}
	for {
		body, err := k.conn.Read()
		if err != nil {
			return grading.Execution{}, err
		}
		var answer protocol.ExecuteCodeResponse
		if protocol.IsRawFrame(body) || json.Unmarshal(body, &answer) != nil || answer.Type != protocol.TypeExecuteCodeResponse {
			continue
		}
		done := grading.Execution{Status: answer.Status, Stdout: answer.Stdout, Stderr: answer.Stderr, Exception: answer.Exception}
		if answer.Result != nil {
			done.Result = *answer.Result
		}
		return done, nil
	}
}

// A live check sees the notebook's values, whatever names and streams the notebook has replaced.
func TestLiveChecksAreApartFromTheNotebook(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]string{
		"builtins shadowed": `len = lambda x: 4; sorted = lambda x: [1, 2, 3, 4]; sum = lambda x: 10; all = any = isinstance = lambda *a: True; type = lambda x: list`,
		"builtins replaced": `import builtins; builtins.len = lambda x: 4; builtins.sorted = lambda x: [1, 2, 3, 4]; builtins.sum = lambda x: 10; builtins.isinstance = lambda *a: True`,
		"json patched":      `import json, json.encoder; json.JSONEncoder.encode = lambda self, x: '{"value": 10}'; json.encoder.c_make_encoder = None; json.encoder.JSONEncoder.iterencode = lambda self, x, **k: iter('10'); json.loads = lambda *a, **k: {}; json.JSONDecoder.decode = lambda *a: {}`,
		"numpy faked":       `import sys, types; n = types.ModuleType("numpy"); n.generic = n.ndarray = object; sys.modules["numpy"] = n`,
		"display hook":      `import sys; sys.displayhook = lambda x: None; sys.excepthook = lambda *a: None`,
		"os.write patched":  `import os; true = os.write; os.write = lambda fd, data: true(fd, b'') or len(data)`,
		"printing silenced": `import sys, io, builtins; builtins.print = print = lambda *a, **k: None; sys.stdout = io.StringIO(); sys.stdout.write = None`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kernel := startLiveKernel(t)
			kernel.runAsAgent(t, "total, rows, sum = 9, [4, 5], 'theirs'\n"+code)
			for _, config := range []string{
				`{"probes": [{"expr": "total", "equals": 10}, {"expr": "rows", "len": 4}, {"expr": "len(rows)", "equals": 4}, {"expr": "sorted(rows)", "equals": [1, 2, 3, 4]}, {"expr": "total", "type": "list"}]}`,
				`{"code": "len(rows) == 4"}`, `{"code": "assert sorted(rows) == [1, 2, 3, 4]"}`, `{"code": "isinstance(rows, dict)"}`,
			} {
				got := gradeKernel(t, kernel, config)
				require.False(t, got.Passed, "%s: %s", config, got.Reasoning)
				require.Zero(t, got.Score)
				require.Nil(t, got.Error, "%s: %s", config, got.Reasoning)
			}
			got := gradeKernel(t, kernel, `{"probes": [{"expr": "total", "equals": 9, "type": "int"}, {"expr": "rows", "equals": [4, 5], "len": 2, "type": "list"}, {"expr": "sorted(rows)", "contains": 5}]}`)
			require.True(t, got.Passed, got.Reasoning)
			got = gradeKernel(t, kernel, `{"code": "print('rows', rows)\nimport sys\nsys.stdout.write('and more')\nlen(rows) == 2 and [len(r) for r in [rows]] == [2]"}`)
			require.True(t, got.Passed, got.Reasoning)
			require.Equal(t, "rows [4, 5]\nand more", got.Reasoning)
		})
	}
}

// Objects whose methods return misleading values are seen with their actual ones.
func TestObjectsThatLieAboutThemselves(t *testing.T) {
	t.Parallel()
	kernel := startLiveKernel(t)
	kernel.runAsAgent(t, `
class Agrees:
    __class__ = list
    def __eq__(self, other): return True
    def __len__(self): return 4
    def __iter__(self): return iter([1, 2, 3, 4])
    def __int__(self): return 10
    def __repr__(self): return "[1, 2, 3, 4]"
class LyingList(list):
    def __len__(self): return 4
    def __iter__(self): return iter([1, 2, 3, 4])
    def __eq__(self, other): return True
class LyingDict(dict):
    def items(self): return [("right", 1)]
    def keys(self): return ["right"]
    def __len__(self): return 4
    def __iter__(self): return iter(["right"])
class Meta(type):
    __name__ = "list"
    def __instancecheck__(cls, x): return True
    def __subclasscheck__(cls, x): return True
    def mro(cls): return [cls, *super().mro()[1:]]
class OfMeta(metaclass=Meta): pass
list_ = list
class list: pass
impostor, of_meta = list(), OfMeta()
list = list_
agrees, xs, d = Agrees(), LyingList([9]), LyingDict(wrong=1)
class LoudError(BaseException):
    def __str__(self): raise RuntimeError
class Loud:
    def __len__(self): raise LoudError
loud = Loud()
`)
	for _, c := range []struct{ probe, line string }{
		{`{"expr": "agrees", "equals": [1, 2, 3, 4]}`, "found no JSON: __main__.Agrees is not JSON; turn it into lists or an object"},
		{`{"expr": "agrees", "approx": {"value": 10}}`, "found no JSON"},
		{`{"expr": "xs", "equals": [1, 2, 3, 4]}`, "found [9]"},
		{`{"expr": "xs", "len": 4}`, "found len 1"},
		{`{"expr": "d", "equals": {"right": 1}}`, "found {'wrong': 1}"},
		{`{"expr": "d", "len": 4}`, "found len 1"},
		{`{"expr": "of_meta", "type": "list"}`, "found type OfMeta"},
		{`{"expr": "impostor", "type": "list"}`, "found type list (a class of the notebook's own)"},
		{`{"expr": "agrees", "type": "list"}`, "found type Agrees"},
		{`{"expr": "loud", "len": 1}`, "found that it raises LoudError: (no message)"},
		{`{"expr": "n +", "equals": 1}`, "found that it raises SyntaxError: "},
	} {
		got := gradeKernel(t, kernel, `{"probes": [`+c.probe+`]}`)
		require.False(t, got.Passed, "%s: %s", c.probe, got.Reasoning)
		require.Contains(t, got.Reasoning, c.line)
	}
	got := gradeKernel(t, kernel, `{"code": "n ="}`)
	require.Contains(t, got.Reasoning, "SyntaxError")
}

// Checks see the globals of the agent's cells, but not the builtins that the agent
// rebinds.
func TestChecksSeeTheGlobals(t *testing.T) {
	t.Parallel()
	kernel := startLiveKernel(t)
	kernel.runAsAgent(t, "counter, sum, base = 0, 15, int\ndef step():\n    global counter\n    counter += 1\nbefore = sorted(globals())")
	for _, config := range []string{
		`{"probes": [{"expr": "sum", "equals": 15}, {"expr": "sum([1, 2])", "equals": 3}, {"expr": "globals()['sum']", "equals": 15}, {"expr": "'counter' in globals() and 'counter' in vars() and 'counter' in dir()", "equals": true}]}`,
		`{"probes": [{"expr": "[counter for _ in range(2) if (lambda: counter == 0)()]", "equals": [0, 0]}, {"expr": "max(len(str(counter)) for _ in [1])", "equals": 1}]}`,
		`{"code": "step()\nassert counter == 1\ndef twice():\n    step()\n    return [counter for _ in range(1)]\ntwice() == [2]"}`,
		`{"code": "class Sub(base):\n    inside = counter\nassert Sub.inside == 2\nimport json, math\nassert math.floor(2.5) == json.loads('2')"}`,
		`{"code": "mine = 3\nglobals()['mine'] if 'mine' in globals() else True"}`,
		`{"code": "import asyncio\nawait asyncio.sleep(0)\ncounter == 2"}`,
		`{"code": "sorted(set(globals()) - set(before)) == ['before']"}`,
	} {
		got := gradeKernel(t, kernel, config)
		require.True(t, got.Passed, "%s: %s", config, got.Reasoning)
	}
	kernel.runAsAgent(t, "assert counter == 2 and sum == 15")
}

// A probe whose result is too large fails, and the other probes do not.
func TestProbesThatAreTooLarge(t *testing.T) {
	t.Parallel()
	kernel := startLiveKernel(t)
	kernel.runAsAgent(t, "large = 'é' * 160_000; larger = 'é' * 170_000; n = 3")
	var probes []string
	for range 5 {
		probes = append(probes, `{"expr": "large", "contains": "éé"}`)
	}
	got := gradeKernel(t, kernel, `{"probes": [`+strings.Join(probes, ",")+`, {"expr": "n", "equals": 3}]}`)
	require.True(t, got.Passed, got.Reasoning)
	got = gradeKernel(t, kernel, `{"probes": [{"expr": "larger", "contains": "é"}, {"expr": "n", "equals": 3}]}`)
	require.Equal(t, &pyvalue.Error{Kind: "not_json", Text: "larger: more than 1000000 bytes of JSON; look at a part"}, got.Error)
	require.InDelta(t, 0.5, got.Score, 0)
}
