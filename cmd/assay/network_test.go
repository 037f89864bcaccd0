package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The kernels of a run have a network of their own, unless --network or the case opens it. The kernel
// in which a notebook is run again is connected only if the case asks for it.
func TestNetworkOfRun(t *testing.T) {
	t.Parallel()
	outside, err := os.Readlink("/proc/self/ns/net")
	require.NoError(t, err)
	cell := "import json, os\nprint(json.dumps('open' if os.readlink('/proc/self/ns/net') == '" + outside + "' else 'closed'))"
	mustRunClean := jsonObject{"type": "notebook_check", "config": jsonObject{"must_run_clean": true}}
	for name, test := range map[string]struct {
		args     []string
		network  any // of the case
		answer   string
		runClean bool
	}{
		"by default":         {nil, nil, "closed", true},
		"of the case":        {nil, "on", "open", true},
		"of the flag":        {[]string{"--network", "on"}, nil, "open", false},
		"of flag over case":  {[]string{"--network", "loopback"}, "on", "closed", true},
		"of both, the same":  {[]string{"--network", "on"}, "on", "open", true},
		"of the case, as is": {nil, "loopback", "closed", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			body, err := json.Marshal(jsonObject{
				"id": "net", "task": "t", "network": test.network, "oracle": []string{cell},
				"graders": []any{jsonObject{"type": "exact", "config": jsonObject{"ground_truth": test.answer}}, mustRunClean},
			})
			require.NoError(t, err)
			file, out := writeFile(t, filepath.Join(dir, "net.json"), string(body)), filepath.Join(dir, "run")
			line := runAssay(t, append([]string{"run", file, "--agent", "oracle", "--quiet", "--out", out}, test.args...)...)
			lines, err := os.ReadFile(filepath.Join(out, "attempts.jsonl"))
			require.NoError(t, err)
			if test.runClean {
				require.Contains(t, line, "PASS 1/1", string(lines))
				return
			}
			require.Contains(t, line, "FAIL 0/1")
			again, err := os.ReadFile(filepath.Join(out, "attempts", "0001-net-e1-t1", "rerun.ipynb"))
			require.NoError(t, err)
			require.Contains(t, string(again), `\"closed\"`)
			require.Contains(t, string(lines), `"score":0.5`, "the answer was right")
		})
	}
}

// A process that the first kernel has left behind cannot feed the one in which the notebook is run again,
// even if the case opens the network: it is gone by then, and with it the locks that it held.
func TestRerunEndsTheFirstKernel(t *testing.T) {
	t.Parallel()
	probe, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(probe.Addr().String())
	require.NoError(t, err)
	address := `("127.0.0.1", ` + port + ")"
	require.NoError(t, probe.Close())
	for name, script := range map[string]struct{ feeder, asker, again string }{
		"socket": {
			feeder: "import os, socket\nlistener = socket.create_server(" + address + ")\n" +
				"if os.fork() == 0:\n    os.setsid()\n    while True:\n        fed, _ = listener.accept()\n        fed.sendall(b'45')\n        fed.close()",
			asker: "import socket\nconnection = socket.create_connection(" + address + ", 2)\nprint(connection.recv(2).decode())",
			again: "ConnectionRefusedError",
		},
		"lock": {
			feeder: "import fcntl, os, wave\nif os.fork() == 0:\n    os.setsid()\n    locked = open(wave.__file__)\n    fcntl.flock(locked, fcntl.LOCK_SH)\n    import signal\n    open('locked', 'w').close()\n    signal.pause()\n" +
				"while not os.path.exists('locked'): pass",
			asker: "import fcntl, wave\nsocket = open(wave.__file__)\ntry:\n    fcntl.flock(socket, fcntl.LOCK_EX | fcntl.LOCK_NB)\n    print('free')\nexcept BlockingIOError:\n    print('45')",
			again: `"free\n"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := func(name string, input jsonObject) jsonObject {
				return jsonObject{"content": []any{jsonObject{"type": "tool_use", "name": name, "input": input}}}
			}
			body, err := json.Marshal(jsonObject{
				"id": "fed", "task": "t", "network": "on",
				"oracle": jsonObject{"turns": []any{
					call("execute_code", jsonObject{"code": script.feeder}),
					call("create_cell", jsonObject{"position": 0, "source": script.asker, "auto_run": true}),
					call("submit_response", jsonObject{"summary": "<EVAL_ANSWER>45</EVAL_ANSWER> [EVAL_COMPLETE]", "next_status": "done"}),
				}},
				"graders": []any{
					jsonObject{"type": "notebook_check", "config": jsonObject{"must_use": []string{"socket"}, "must_run_clean": true}},
					jsonObject{"type": "kernel_check", "config": jsonObject{"probes": []any{jsonObject{"expr": "1 + 1", "equals": 2}}}}, // it comes first
				},
			})
			require.NoError(t, err)
			dir := t.TempDir()
			file, out := writeFile(t, filepath.Join(dir, "fed.json"), string(body)), filepath.Join(dir, "run")
			line := runAssay(t, "run", file, "--agent", "oracle", "--quiet", "--out", out)
			require.Contains(t, line, "FAIL 0/1")
			lines, err := os.ReadFile(filepath.Join(out, "attempts.jsonl"))
			require.NoError(t, err)
			require.Contains(t, string(lines), `"outcome":"completed"`)
			require.Contains(t, string(lines), `"score":0.75`, "the kernel check has passed, and one of two demands on the notebook")
			attempt := filepath.Join(out, "attempts", "0001-fed-e1-t1")
			fed, err := os.ReadFile(filepath.Join(attempt, "notebook.ipynb"))
			require.NoError(t, err)
			require.Contains(t, string(fed), `"45\n"`)
			again, err := os.ReadFile(filepath.Join(attempt, "rerun.ipynb"))
			require.NoError(t, err)
			require.Contains(t, string(again), script.again)
		})
	}
}
