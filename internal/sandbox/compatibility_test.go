package sandbox_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/sandbox"
)

// Code that people usually run in notebooks works in the most restricted sandbox.
func TestOrdinaryPythonCodeWorks(t *testing.T) {
	t.Parallel()
	for name, mode := range launchModes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mode.requireSnippetsSucceed(t, sandboxRequest{Rules: mostRestrictiveRules(t, mode)}, map[string]string{
				"files": `
import pathlib, shutil, tempfile
pathlib.Path("a/b").mkdir(parents=True)
pathlib.Path("a/b/c").write_text("x")
shutil.copytree("a", "d")
shutil.move("a/b/c", "d/e")
pathlib.Path("d/e").chmod(0o600)
shutil.rmtree("a")
with tempfile.NamedTemporaryFile() as file: file.write(b"x")
with tempfile.TemporaryDirectory() as folder: assert folder.startswith(ROOT)`,
				"subprocess": `
import subprocess
assert subprocess.run("echo $((40 + 2)) | cat", shell=True, stdout=subprocess.PIPE, check=True).stdout == b"42\n"
subprocess.run(["ls", "-l", "."], stdout=subprocess.DEVNULL, check=True)`,
				"pool": `
import multiprocessing
with multiprocessing.Pool(2) as pool: assert pool.map(abs, [-1, -2]) == [1, 2]`,
				"spawned": `
import multiprocessing
context = multiprocessing.get_context("spawn")
queue = context.SimpleQueue()
process = context.Process(target=print)
process.start()
process.join()
assert process.exitcode == 0`,
				"shared memory": `
from multiprocessing import shared_memory
memory = shared_memory.SharedMemory(create=True, size=4096)
memory.buf[0] = 1
memory.unlink()`,
				"executors": `
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
for kind in ProcessPoolExecutor, ThreadPoolExecutor:
    with kind(2) as executor: assert list(executor.map(abs, [-1])) == [1]`,
				"threads": `
import threading
threads = [threading.Thread(target=print) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()`,
				"asyncio": `
import asyncio
async def main():
    process = await asyncio.create_subprocess_exec("true")
    assert await process.wait() == 0
    assert await asyncio.to_thread(abs, -1) == 1
asyncio.run(main())`,
				"sqlite": `
import sqlite3
with sqlite3.connect("base") as base: base.execute("create table t (x)")`,
				"the standard library": `
import ctypes, curses, dbm, decimal, getpass, hashlib, locale, lzma, mmap, platform, pwd, random, secrets, socket, ssl, uuid, zoneinfo
ssl.create_default_context()
pwd.getpwuid(0), platform.platform(), uuid.uuid4(), zoneinfo.ZoneInfo("Europe/Berlin"), socket.gethostname()
os.cpu_count(), os.getloadavg(), os.urandom(8), os.sched_getaffinity(0)
open("/dev/null", "w").write("x"), open("/proc/self/status").read(), open("/proc/cpuinfo").read()`,
			}, nil)
		})
	}
}

// mostRestrictiveRules returns sandbox rules without a network and with limits that ordinary
// code never reaches.
func mostRestrictiveRules(t *testing.T, mode launchMode) sandbox.Rules {
	t.Helper()
	rules := mode.newRules(t)
	rules.Network = sandbox.NetworkOff
	rules.MaxMemoryBytes, rules.MaxProcesses, rules.MaxOpenFiles, rules.MaxFileBytes = 8<<30, 512, 1024, 1<<30
	return rules
}

// Those scientific libraries that the interpreter has installed work in the most
// restricted sandbox.
func TestScientificLibrariesWork(t *testing.T) {
	t.Parallel()
	for name, mode := range launchModes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outcomes, _ := mode.runPythonSnippets(t, sandboxRequest{Rules: mostRestrictiveRules(t, mode)}, map[string]string{
				"numpy": `
import numpy
assert (numpy.random.rand(300, 300) @ numpy.eye(300)).shape == (300, 300)
numpy.save("array.npy", numpy.memmap("mapped", shape=10, mode="w+"))`,
				"pandas": `
import pandas
pandas.DataFrame({"a": [1, 2]}).to_csv("frame.csv")
assert pandas.read_csv("frame.csv").shape == (2, 2)`,
				"matplotlib": `
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot
matplotlib.pyplot.plot([1, 2])
matplotlib.pyplot.savefig("figure.png")`,
				"PIL": `
import PIL.Image
PIL.Image.new("RGB", (4, 4)).save("picture.png")`,
				"IPython": `
import IPython.core.interactiveshell
import io, contextlib
with contextlib.redirect_stdout(io.StringIO()): IPython.core.interactiveshell.InteractiveShell().run_cell("!echo x")`,
			}, nil)
			for name, outcome := range outcomes {
				if !strings.HasPrefix(outcome, "ModuleNotFoundError") {
					require.Equal(t, "done", outcome, name)
				}
			}
		})
	}
}

// Programs that notebook code calls, such as compilers, work in the sandbox if they are
// installed.
func TestOrdinaryProgramsWork(t *testing.T) {
	t.Parallel()
	programs := map[string]struct {
		argv        []string
		says        string
		unixSockets bool
		terminal    bool // needs a pseudo terminal
	}{
		"pip":      {argv: []string{pythonPath(t), "-m", "pip", "--version"}, says: "pip "},
		"git":      {argv: []string{"git", "--version"}, says: "git version"},
		"git init": {argv: []string{"git", "-c", "init.defaultBranch=x", "init", "repository"}, says: "Initialized empty"},
		"R":        {argv: []string{"Rscript", "-e", "cat(sum(1:10)); f <- tempfile(); saveRDS(1, f); png('p.png'); plot(1); invisible(dev.off())"}, says: "55"},
		"emacs":    {argv: []string{"emacs", "-Q", "--batch", "--eval", "(princ (+ 40 2))"}, says: "42"},
		"emacs, its socket": {
			argv: []string{
				"emacs", "-Q", "--batch", "--eval",
				`(progn (make-network-process :name "s" :server t :family 'local :service "sock" :noquery t) (make-network-process :name "c" :family 'local :service "sock" :noquery t) (princ "connected"))`,
			},
			says: "connected", unixSockets: true,
		},
		"shell":    {argv: []string{"sh", "-c", "ls / 2>&1; tmp=$(mktemp) && echo x >$tmp && cat $tmp"}, says: "x\n"},
		"terminal": {argv: []string{"script", "-qec", "echo x", "/dev/null"}, says: "x", terminal: true},
	}
	for name, program := range programs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(program.argv[0]); err != nil {
				t.Skip(err)
			}
			for name, mode := range launchModes() {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					rules := mostRestrictiveRules(t, mode)
					rules.AllowUnixSockets = program.unixSockets
					said := mode.runCommand(t, sandboxRequest{Rules: rules, Argv: program.argv})
					if program.terminal && !said.Enforced[sandbox.EnforcesSharedMemory] {
						return // without private mounts there are no pseudo terminals
					}
					require.Empty(t, said.ExitStatus, said.Stderr)
					require.Contains(t, said.Stdout, program.says, said.Stderr)
				})
			}
		})
	}
}

// An interpreter outside the system's folders works in the sandbox if its prefix is
// readable, and only then.
func TestInterpreterOutsideSystemPaths(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("python3")
	require.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), path, "-c", "import os, sys; print(os.path.realpath(sys.executable), sys.base_prefix, sep='\\n')").Output()
	require.NoError(t, err)
	executable, base, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	mode := launchMode{uid: os.Getuid()}
	rules := sandbox.Rules{Workdir: mode.makeUserFolder(t), ReadPaths: append(sandbox.SystemPaths(), base)}
	said := mode.runCommand(t, sandboxRequest{Rules: rules, Argv: []string{executable, "-I", "-c", "import json, ssl, sqlite3; print(json.dumps(1))"}})
	require.Equal(t, "1\n", said.Stdout, said.Stderr)

	if strings.HasPrefix(base, "/usr") {
		return
	}
	rules.ReadPaths = sandbox.SystemPaths()
	said = mode.runCommand(t, sandboxRequest{Rules: rules, Argv: []string{executable, "-c", "print(1)"}})
	require.Contains(t, said.Stderr, "permission denied")
	require.Equal(t, "exit status 126", said.ExitStatus)
}
