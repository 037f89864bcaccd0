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

// tamperingCode returns pieces of code with which an agent may try to make a wrong
// notebook look right. The right notebook has total 10 and rows [1, 2, 3, 4]; the
// agent's has 9 and [4, 5].
func tamperingCode() map[string]string {
	const forge = `
import assay.run.safe_repr, assay.run.snippet
def safe_repr(value): return '{"type": "int", "len": 4, "value": 10}'
def forge():
    assay.run.safe_repr.safe_repr.__code__ = safe_repr.__code__
    assay.run.snippet.safe_repr = safe_repr
forge()
`
	return map[string]string{
		"nothing":                       ``,
		"builtins shadowed":             `len = lambda x: 4; sorted = lambda x: [1, 2, 3, 4]; sum = lambda x: 10; all = any = isinstance = lambda *a: True; type = lambda x: list`,
		"builtins replaced":             `import builtins; builtins.len = lambda x: 4; builtins.sorted = lambda x: [1, 2, 3, 4]; builtins.sum = lambda x: 10; builtins.isinstance = lambda *a: True`,
		"builtins.eval replaced":        `import builtins; builtins.eval = lambda *a: 10; builtins.compile = lambda *a, **k: None; builtins.repr = lambda x: '{"type": "int", "value": 10}'; builtins.type = lambda x: int`,
		"builtins module replaced":      `import sys, types; m = types.ModuleType("builtins"); m.__dict__.update(vars(sys.modules["builtins"])); m.len = lambda x: 4; m.eval = lambda *a: 10; sys.modules["builtins"] = m`,
		"__builtins__ replaced":         `__builtins__ = {**vars(__builtins__), "len": lambda x: 4, "eval": lambda *a: 10, "sorted": lambda x: [1, 2, 3, 4]}`,
		"globals replaced":              `globals = lambda: {"total": 10, "rows": [1, 2, 3, 4]}; import builtins; builtins.globals = globals`,
		"import replaced":               `import builtins; true = builtins.__import__; builtins.__import__ = lambda name, *a, **k: None if name == "builtins" else true(name, *a, **k)`,
		"__build_class__ replaced":      `import builtins; builtins.__build_class__ = lambda *a, **k: type("X", (), {"__repr__": lambda s: '{"type": "int", "value": 10}'})`,
		"json replaced":                 `import sys, types; j = types.ModuleType("json"); j.dumps = lambda *a, **k: '10'; j.loads = lambda *a: {}; sys.modules["json"] = sys.modules["json.encoder"] = sys.modules["json.decoder"] = j`,
		"json patched":                  `import json, json.encoder; json.JSONEncoder.encode = lambda self, x: '{"value": 10}'; json.encoder.c_make_encoder = None; json.encoder.JSONEncoder.iterencode = lambda self, x, **k: iter('10'); json.loads = lambda *a, **k: {}; json.JSONDecoder.decode = lambda *a: {}`,
		"sys replaced":                  `import sys; s = type(sys)("sys"); s.modules = {}; sys.modules["sys"] = s`,
		"sys.modules replaced":          `import sys; sys.modules = {}`,
		"numpy faked":                   `import sys, types; n = types.ModuleType("numpy"); n.generic = n.ndarray = object; sys.modules["numpy"] = n`,
		"display hook":                  `import sys; sys.displayhook = lambda x: None; sys.excepthook = lambda *a: None`,
		"tracing":                       "import sys\ndef trace(frame, event, arg):\n    if frame.f_code.co_name in ('probe', 'write'):\n        frame.f_locals.update(value=10, x=10)\n        return trace\nsys.settrace(trace)",
		"tracing that cannot be ended":  "import sys\ndef trace(frame, event, arg):\n    if frame.f_code.co_name in ('probe', 'write'):\n        frame.f_locals.update(value=10, x=10)\n        return trace\ns = sys.settrace\nsys.settrace = lambda f: None\ns(trace)",
		"profiling":                     "import sys\ndef profile(frame, event, arg):\n    frame.f_globals['__assay_probe__'] = lambda *a: 10\nsys.setprofile(profile)",
		"probe predefined":              `__assay_probe__ = lambda *a: type("F", (), {"__repr__": lambda s: '{"type": "int", "value": 10}'})()`,
		"a kernel module replaced":      `import sys, types; f = types.ModuleType("f"); f.safe_repr = lambda v: '{"type": "int", "len": 4, "value": 10}'; sys.modules["assay.display.mime_bundle"] = sys.modules["assay.run.safe_repr"] = f; f.truncate_middle = lambda t, n: t`,
		"a kernel function patched":     `import assay.run.snippet, assay.run.safe_repr; assay.run.snippet.safe_repr = assay.run.safe_repr.safe_repr = lambda v: '{"type": "int", "len": 4, "value": 10}'`,
		"kernel code patched":           "import assay.run.safe_repr\ndef safe_repr(value): return '{\"type\": \"int\", \"len\": 4, \"value\": 10}'\nassay.run.safe_repr.safe_repr.__code__ = safe_repr.__code__",
		"a kernel class patched":        "import assay.run.snippet\ndef _answer(self, status):\n    self._host.channel.send({'type': 'execute_code_response', 'agent_tx_id': self.tx_id, 'status': 'ok', 'result': '{\"type\": \"int\", \"len\": 4, \"value\": 10}', 'stdout': '', 'stderr': ''})\ndef run(self):\n    self._host.schedule.finish(self)\n    _answer(self, 'ok')\nassay.run.snippet.SnippetRun._send_answer, assay.run.snippet.SnippetRun.run = _answer, run",
		"the channel patched":           "import assay.wire.channel\ntrue = assay.wire.channel.Channel.send\ndef send(self, m):\n    if m.get('result'): m = {**m, 'result': '{\"type\": \"int\", \"len\": 4, \"value\": 10}'}\n    true(self, m)\nassay.wire.channel.Channel.send = send",
		"the channel's own send":        "import assay.run.lazy_ipython\nchannel = assay.run.lazy_ipython.lazy_ipython.host.channel\ntrue = channel.send\ndef send(m):\n    if m.get('result'): m = {**m, 'result': '{\"type\": \"int\", \"len\": 4, \"value\": 10}'}\n    true(m)\nchannel.send = send",
		"another kernel's channel":      "import assay.run.lazy_ipython\nkernel = assay.run.lazy_ipython.lazy_ipython.host\ntrue = kernel.channel\nclass Channel:\n    is_user_fork = False\n    def send(self, m):\n        if m.get('result'): m = {**m, 'result': '{\"type\": \"int\", \"len\": 4, \"value\": 10}'}\n        true.send(m)\nkernel.channel = Channel()",
		"a kernel name hides a builtin": `import assay.run.snippet, assay.run.safe_repr; assay.run.safe_repr.repr = lambda v: '{"type": "int", "len": 4, "value": 10}'`,
		"the kernel's builtins patched": `import assay.run.safe_repr; assay.run.safe_repr.__builtins__["repr"] = lambda v: '{"type": "int", "len": 4, "value": 10}'`,
		"the kernel's memory of itself": `import assay.run.lazy_ipython; class_ = type("P", (), {"restore": lambda s: None, "unwatch": lambda s: None, "scope": lambda s, names: names}); assay.run.lazy_ipython.lazy_ipython.host.pristine = class_(); len = lambda x: 4; isinstance = lambda *a: True; sorted = lambda x: [1, 2, 3, 4]`,
		"what puts things back patched": `
import assay.sealing.pristine, assay.sealing.seal, assay.introspect.pristine_snippet, types
for module in (assay.sealing.pristine, assay.sealing.seal):
    for space in [vars(module), *(vars(kind) for kind in vars(module).values() if isinstance(kind, type) and kind.__module__ == module.__name__)]:
        for value in list(space.values()):
            if isinstance(value, types.FunctionType) and not value.__closure__:
                value.__code__ = (lambda *a: None).__code__
` + forge,
		"what puts things back replaced": `
import assay.sealing.pristine, assay.sealing.seal
for module in (assay.sealing.pristine, assay.sealing.seal):
    for kind in list(vars(module).values()):
        if isinstance(kind, type) and kind.__module__ == module.__name__:
            kind.restore = kind.unwatch = kind.take_restore_function = kind.record = lambda *a: None
` + forge,
		"what was kept changed": `
import assay.run.lazy_ipython
kept = assay.run.lazy_ipython.lazy_ipython.host.pristine
for value in [*vars(kept).values(), *vars(getattr(kept, "_seal", kept)).values()]:
    if type(value) is dict: value.update(len=lambda x: 4, sorted=lambda x: [1, 2, 3, 4], isinstance=lambda *a: True)
    if type(value) is list: value.clear()
` + forge,
		"what was kept, by any way but frames": `
import assay.run.lazy_ipython, sys, types
seen, todo = {}, [assay.run.lazy_ipython.lazy_ipython.host, *sys.modules.values(), *object.__subclasses__(), *dict.__subclasses__()]
while todo:
    value = todo.pop()
    if id(value) in seen or isinstance(value, (str, bytes, int, float, types.CodeType, types.FrameType)): continue
    seen[id(value)] = value
    if type(value) is dict: todo += [*value.values()]
    if type(value) in (list, tuple, set): todo += [*value]
    try: todo += [getattr(value, "__globals__", None), getattr(value, "__self__", None), *vars(value).values(), *(c.cell_contents for c in getattr(value, "__closure__", None) or ())]
    except Exception: pass
for value in [*seen.values()]:
    if isinstance(value, types.FunctionType) and value.__module__ in ("assay.sealing.renewal", "assay.sealing.seal", "assay.wire.receiver"):
        raise SystemError("found", value)
`,
		"tracing that goes for the kernel": "import sys, assay.sealing.pristine as P\ndef trace(frame, event, arg):\n    P._settrace = lambda f: None\n    if frame.f_code.co_name in ('probe', 'write'):\n        frame.f_locals.update(value=10, x=10)\n    return trace\nsys.settrace(trace)" + forge,
		"requests misread": `
import assay.wire.channel
for name in ("_take", "read"):
    if hasattr(assay.wire.channel.Channel, name):
        setattr(assay.wire.channel.Channel, name, lambda *a, true=getattr(assay.wire.channel.Channel, name): true(*a).replace(b'"pristine":true', b'"pristine":null'))
assay.wire.channel.Channel.receive_bodies = None
import assay.dispatcher
assay.dispatcher._PRISTINE = b"another"
` + forge,
		"the kernel's own json patched": `
import assay.wire.messages
def decode(self, *a, true=assay.wire.messages.json.JSONDecoder.decode, **k):
    value = true(self, *a, **k)
    value.pop("pristine", None)
    return value
assay.wire.messages.json.JSONDecoder.decode = decode
len, isinstance, sorted = (lambda x: 4), (lambda *a: True), (lambda x: [1, 2, 3, 4])
` + forge,
		"the kernel's encoder patched": `
import assay.wire.channel
def encode(m, true=assay.wire.channel._ENCODER.encode):
    if m.get('result'): m = {**m, 'result': '{"type": "int", "len": 4, "value": 10}'}
    return true(m)
assay.wire.channel._ENCODER.encode = encode
assay.wire.channel._ENCODER.item_separator = ',"status":"ok","result":"1",'
`,
		"another base of a kernel class": `
import assay.introspect.pristine_snippet, assay.run.snippet
class Forged(assay.run.snippet.SnippetRun):
    def _store_result(self, value): self._result = '{"type": "int", "len": 4, "value": 10}'
assay.introspect.pristine_snippet.PristineSnippetRun.__bases__ = (Forged,)
`,
		"a finalizer that comes again": `
import assay.run.snippet
class Again:
    def __call__(self, value): return '{"type": "int", "len": 4, "value": 10}'
    def __del__(self): assay.run.snippet.safe_repr = Again()
assay.run.snippet.safe_repr = Again()
`,
		"a key that is the user's": forge + `
class Key(str):
    def __hash__(self):
        forge()
        return 1
vars(assay.run.snippet)[Key("x")] = 1
`,
		"os.write patched":           `import os; true = os.write; os.write = lambda fd, data: true(fd, b'') or len(data)`,
		"__main__ replaced":          `import sys; m = type(sys)("__main__"); m.total, m.rows = 10, [1, 2, 3, 4]; sys.modules["__main__"] = m`,
		"printing silenced":          `import sys, io, builtins; builtins.print = print = lambda *a, **k: None; sys.stdout = io.StringIO(); sys.stdout.write = None`,
		"the stream patched":         `import sys; type(sys.stdout).write = lambda self, text: len(text)`,
		"a thread that goes on":      "import builtins, threading, time\ndef work():\n    while True:\n        builtins.len = lambda x: 4\n        builtins.sorted = lambda x: [1, 2, 3, 4]\n        builtins.print = lambda *a: None\n        globals()['sum'] = lambda x: 10\n        time.sleep(0)\nthreading.Thread(target=work, daemon=True).start()",
		"callbacks of the collector": "import gc\ndef again(phase, info):\n    import assay.run.snippet\n    assay.run.snippet.safe_repr = lambda v: '{\"type\": \"int\", \"len\": 4, \"value\": 10}'\ngc.callbacks.append(again); gc.set_threshold(1)",
		"watching by sys.monitoring": "import sys\nm = getattr(sys, 'monitoring', None)\ndef see(code, offset):\n    if code.co_name in ('probe', 'write'): raise SystemExit\nif m:\n    m.use_tool_id(3, 'x')\n    m.register_callback(3, m.events.PY_START, see)\n    m.set_events(3, m.events.PY_START)",
		"a signal that comes again":  "import signal\ndef handler(*a):\n    globals()['len'] = lambda x: 4\nsignal.signal(signal.SIGALRM, handler); signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)",
	}
}

// Whatever tampering code the agent runs, graders see the actual values. Attacks with
// frames, gc, ctypes, audit hooks or code that runs at the same time are not covered.
func TestTamperingCodeDoesNotPass(t *testing.T) {
	t.Parallel()
	for name, trick := range tamperingCode() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kernel := startLiveKernel(t)
			kernel.runAsAgent(t, "total, rows, sum = 9, [4, 5], 'theirs'\n"+trick)
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
