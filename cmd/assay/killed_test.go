package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Whenever a run is killed, with or without its cleanup helper, its kernel and agent end, and after the next
// run with the same TMPDIR no temporary folder and no cgroup of it is left. The helper, if it lives, also
// ends what a cell has started.
func TestKilledRunIsRemovedByTheNext(t *testing.T) {
	t.Parallel()
	const last = 600 * time.Millisecond
	kills := 20
	if testing.Short() {
		kills = 5
	}
	for n := range kills {
		delay := last * time.Duration(n) / time.Duration(kills-1)
		withHelper := n%2 == 1
		t.Run(fmt.Sprintf("after %v helper %v", delay.Round(time.Millisecond), withHelper), func(t *testing.T) {
			t.Parallel()
			dir := shortTempDir(t)
			temporary := filepath.Join(dir, "tmp")
			require.NoError(t, os.Mkdir(temporary, 0o700))
			cell := "import subprocess, time\nsubprocess.Popen(['sleep', '600'])\ntime.sleep(600)"
			if withHelper { // nobody but assay doctor --reap would kill what the cell has started
				cell = "import time\ntime.sleep(600)"
			}
			busy := writeFile(t, filepath.Join(dir, "busy.json"), `{"id": "busy", "task": "t", "oracle": [`+quoteJSON(t, cell)+`]}`)
			quick := writeFile(t, filepath.Join(dir, "quick.json"), `{"id": "quick", "task": "t", "oracle": {"cells": ["1"], "answer": 1}, "graders": [{"type": "exact", "config": {"ground_truth": 1}}]}`)
			run := func(file, out string) *exec.Cmd {
				cmd := exec.CommandContext(t.Context(), "assay", "run", file, "--agent", "oracle", "--quiet", "--out", filepath.Join(dir, out))
				cmd.Env = append(os.Environ(), "TMPDIR="+temporary)
				return cmd
			}
			killed := run(busy, "killed")
			require.NoError(t, killed.Start())
			<-time.After(delay)
			if withHelper {
				killCleanupHelpers(killed.Process.Pid)
			}
			require.NoError(t, killed.Process.Kill())
			require.Error(t, killed.Wait())
			awaitCondition(t, "processes of the killed run are still running", func() bool { return len(findProcessesWithText(dir)) == 0 })

			text, err := run(quick, "next").CombinedOutput()
			require.NoError(t, err, string(text))
			var left []string
			require.Eventually(t, func() bool { // its helper may still be at work
				left = append(listTree(temporary), cgroupsOfServer(t, killed.Process.Pid)...)
				return len(left) == 0
			}, waitTimeout/4, 10*time.Millisecond, "something of the killed run is left: %s", &left)
		})
	}
}

// listTree returns the paths of all that is in a folder.
func listTree(dir string) (paths []string) {
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error { // what is removed meanwhile does not count
		if path != dir {
			paths = append(paths, path)
		}
		return nil
	})
	return paths
}

// killCleanupHelpers sends SIGKILL to the cleanup helper of a server, if it has one by now.
func killCleanupHelpers(server int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", server))
	for _, list := range lists {
		text, _ := os.ReadFile(list) // fails if the thread has ended
		for child := range strings.FieldsSeq(string(text)) {
			arguments, _ := os.ReadFile("/proc/" + child + "/cmdline")
			pid, err := strconv.Atoi(child)
			if err == nil && strings.HasSuffix(string(arguments), "\x00reap\x00") {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}

// cgroupsOfServer returns the paths of the cgroups that a server has made and that are still there.
func cgroupsOfServer(t *testing.T, server int) (paths []string) {
	t.Helper()
	for _, folder := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/*", "/sys/fs/cgroup/*/*", "/sys/fs/cgroup/*/*/*"} {
		found, err := filepath.Glob(filepath.Join(folder, fmt.Sprintf("assay-%d-*", server)))
		require.NoError(t, err)
		paths = append(paths, found...)
	}
	return paths
}
