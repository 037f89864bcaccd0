package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A run says at its start that kernels have no network, and a cell that connects to the outside fails with
// an error that names the flag. With --network on, neither is said.
func TestRunSaysThatKernelsHaveNoNetwork(t *testing.T) {
	t.Parallel()
	const cell = "import socket\nsocket.create_connection(('192.0.2.1', 9), 0.2)" // an address for documents, which nobody has
	const announcement = "kernels have no network, except in cases"
	for name, test := range map[string]struct {
		args []string
		says bool
	}{
		"by default":      {nil, true},
		"with --network":  {[]string{"--network", "on"}, false},
		"without sandbox": {[]string{"--sandbox=false"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			body, err := json.Marshal(jsonObject{"id": "out", "task": "t", "oracle": jsonObject{"cells": []string{cell}, "answer": 1}})
			require.NoError(t, err)
			out := filepath.Join(dir, "run")
			args := append([]string{"run", writeFile(t, filepath.Join(dir, "out.json"), string(body)), "--agent", "oracle", "--out", out}, test.args...)
			printed, _ := exec.CommandContext(t.Context(), "assay", args...).CombinedOutput() // an attempt without a grader does not pass
			notebook, err := os.ReadFile(filepath.Join(out, "attempts", "0001-out-e1-t1", "notebook.ipynb"))
			require.NoError(t, err)
			require.Contains(t, string(notebook), "create_connection")
			if test.says {
				require.Contains(t, string(printed), announcement)
				require.Contains(t, string(notebook), "--network loopback")
			} else {
				require.NotContains(t, string(printed), announcement)
				require.NotContains(t, string(notebook), "--network loopback")
			}
		})
	}
}

// The network of assay serve is on by default: a cell reaches a listener on loopback that is outside of the
// sandbox. With --network loopback it does not.
func TestServe_NetworkIsOnByDefault(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			connection, err := listener.Accept()
			if err != nil {
				return // the listener is closed
			}
			_, _ = connection.Write([]byte("from outside"))
			_ = connection.Close()
		}
	}()
	defer func() {
		require.NoError(t, listener.Close())
		<-served
	}()
	address, ok := listener.Addr().(*net.TCPAddr)
	require.True(t, ok)
	cell := fmt.Sprintf("import socket\ntry:\n    print('GOT', socket.create_connection(('127.0.0.1', %d), 30).recv(99).decode())\nexcept OSError as error:\n    print('GOT', type(error).__name__)\nprint('END', flush=True)", address.Port)
	for want, args := range map[string][]string{"GOT from outside": nil, "GOT ConnectionRefusedError": {"--network", "loopback"}} {
		s := startServe(t, serveConfig{args: args})
		c := s.connectView(t, "default")
		c.runNewCell(t, 0, cell)
		c.agent.awaitItem(t, "the end of the code", hasTypeAndText("kernel_stdio", "END"))
		require.NotEmpty(t, c.agent.itemsMatching(hasTypeAndText("kernel_stdio", want)))
		s.stop(t)
	}
}
