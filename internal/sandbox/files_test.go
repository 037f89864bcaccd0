package sandbox_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/sandbox"
)

// makeOutsideFolder makes a folder of the mode's user, outside any sandbox, with the
// files "secret" and "program".
func (mode launchMode) makeOutsideFolder(t *testing.T) string {
	t.Helper()
	dir := mode.makeUserFolder(t)
	for name, permissions := range map[string]os.FileMode{"secret": 0o600, "program": 0o755} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"), permissions))
		require.NoError(t, os.Chown(path, mode.uid, -1))
	}
	return dir
}

// PK-15: files outside the sandbox cannot be read.
func TestFilesOutsideCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, mode := range launchModes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules, out, other := mode.newRules(t), mode.makeOutsideFolder(t), mode.makeOutsideFolder(t)
			require.NoError(t, os.Symlink(out, filepath.Join(rules.Workdir, "link")))
			mode.requireSnippetsFail(t, sandboxRequest{Rules: rules}, sandbox.EnforcesRead, map[string]string{
				"file":             `open(OUT + "/secret").read()`,
				"folder":           `os.listdir(OUT)`,
				"home":             `os.listdir("/root")`,
				"shadow":           `open("/etc/shadow").read()`,
				"temporary files":  `os.listdir("/tmp")`,
				"variable files":   `os.listdir("/var/lib")`,
				"another sandbox":  `open(OTHER + "/secret").read()`,
				"through a link":   `open("link/secret").read()`,
				"a link made now":  `os.symlink(OUT + "/secret", "made"); open("made").read()`,
				"the way up":       `open("../" + os.path.basename(OUT) + "/secret").read()`,
				"through root":     `open("/proc/self/root" + OUT + "/secret").read()`,
				"server's root":    `open(f"/proc/{SERVER}/root" + OUT + "/secret").read()`,
				"server's folder":  `os.listdir(f"/proc/{SERVER}/cwd")`,
				"server's program": `open(f"/proc/{SERVER}/exe", "rb").read(1)`,
				"server's files":   `open(f"/proc/{SERVER}/fd/0")`,
				"moved in":         `os.rename(OUT + "/secret", "stolen")`,
				"linked in":        `os.link(OUT + "/secret", "stolen")`,
				"executed":         `os.execv(OUT + "/program", ["program"])`,
				"a child":          `import subprocess; subprocess.run([OUT + "/program"], check=True)`,
				"a grandchild": `
import subprocess
failed = subprocess.run(["cat", OUT + "/secret"], stderr=subprocess.PIPE).stderr
if b"Permission denied" in failed: raise PermissionError(failed)`,
				"a daemon": `
os.setsid()
said = run_in_fork('os.setsid(); open(OUT + "/secret").read()', names)
if said != "done": raise PermissionError(said)`,
				"a handle": `
import ctypes
handle = ctypes.create_string_buffer(8 + 128)
ctypes.c_uint.from_buffer(handle).value = 128
mount = ctypes.c_int()
libc = ctypes.CDLL(None, use_errno=True)
if libc.name_to_handle_at(-100, (OUT + "/secret").encode(), handle, ctypes.byref(mount), 0): raise OSError(ctypes.get_errno(), "no handle")
folder = os.open(ROOT, os.O_RDONLY)
file = libc.open_by_handle_at(folder, handle, os.O_RDONLY)
if file < 0: raise OSError(ctypes.get_errno(), "refused")`,
				"a terminal": `
try: open("/dev/tty").read()
except OSError as error: raise PermissionError(error)`,
			}, map[string]any{"OUT": out, "OTHER": other})
		})
	}
}

// PK-15: files outside the sandbox cannot be changed.
func TestFilesOutsideCannotBeChanged(t *testing.T) {
	t.Parallel()
	for name, mode := range launchModes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules, out := mode.newRules(t), mode.makeOutsideFolder(t)
			require.NoError(t, os.Symlink(filepath.Join(out, "secret"), filepath.Join(rules.Workdir, "link")))
			mode.requireSnippetsFail(t, sandboxRequest{Rules: rules}, sandbox.EnforcesWrite, map[string]string{
				"create":          `open(OUT + "/new", "w")`,
				"overwrite":       `open(OUT + "/secret", "w")`,
				"append":          `open(OUT + "/secret", "a").write("x")`,
				"truncate":        `os.truncate(OUT + "/secret", 0)`,
				"remove":          `os.remove(OUT + "/secret")`,
				"make a folder":   `os.mkdir(OUT + "/new")`,
				"remove a folder": `os.rmdir(OUT)`,
				"make a pipe":     `os.mkfifo(OUT + "/new")`,
				"make a link":     `os.symlink("x", OUT + "/new")`,
				"make a device":   `os.mknod("device", 0o20600, os.makedev(1, 3))`,
				"move out":        `open("x", "w"); os.rename("x", OUT + "/new")`,
				"link out":        `open("y", "w"); os.link("y", OUT + "/new")`,
				"move over":       `open("z", "w"); os.replace("z", OUT + "/secret")`,
				"rename":          `os.rename(OUT + "/secret", OUT + "/new")`,
				"through a link":  `open("link", "w")`,
				"through root":    `open("/proc/self/root" + OUT + "/new", "w")`,
				"server's folder": `open(f"/proc/{SERVER}/cwd/new", "w")`,
				"into the system": `open("/usr/new", "w")`,
				"core pattern":    `open("/proc/sys/kernel/core_pattern", "w")`,
				"server's figure": `open(f"/proc/{SERVER}/oom_score_adj", "w")`,
				"temporary file":  `open("/tmp/sandbox-test-new", "w")`,
				"listen":          `import socket; socket.socket(socket.AF_UNIX).bind(OUT + "/new")`,
				"a ring": `
try: syscall(NR["io_uring_setup"], 8, bytes(120))
except OSError as error: raise PermissionError(error)`,
			}, map[string]any{"OUT": out})

			left, err := os.ReadDir(out)
			require.NoError(t, err)
			require.Len(t, left, 2)
			text, err := os.ReadFile(filepath.Join(out, "secret"))
			require.NoError(t, err)
			require.Equal(t, "#!/bin/sh\n", string(text))
			require.NoFileExists(t, "/tmp/sandbox-test-new")
		})
	}
}

// Where mount namespaces can be made, the attributes of files outside cannot be changed; those of files
// inside can.
func TestFileAttributesOutsideCannotBeChanged(t *testing.T) {
	t.Parallel()
	for name, mode := range launchModes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := mode.newRules(t)
			request, names := sandboxRequest{Rules: rules}, map[string]any{"OUT": mode.makeOutsideFolder(t)}
			mode.requireSnippetsFail(t, request, sandbox.EnforcesAttributes, map[string]string{
				"mode":               `os.chmod(OUT + "/secret", 0o640)`,
				"mode of a folder":   `os.chmod(OUT, 0)`,
				"owner":              `os.chown(OUT + "/secret", os.getuid(), -1)`,
				"time":               `os.utime(OUT + "/secret", (0, 0))`,
				"attribute":          `os.setxattr(OUT + "/secret", "user.x", b"1")`,
				"the folder above":   `os.chmod("..", os.stat("..").st_mode & 0o7777)`,
				"by the folder":      `os.chmod("../" + os.path.basename(OUT) + "/secret", 0o640)`,
				"the temporary ones": `os.chmod("/tmp", os.stat("/tmp").st_mode & 0o7777)`,
				"through proc":       `os.chmod("/proc/self/root" + OUT + "/secret", 0o640)`,
			}, names)
			mode.requireSnippetsSucceed(t, request, map[string]string{
				"mode":   `open("mine", "w").close(); os.chmod("mine", 0o640); os.utime("mine", (0, 0))`,
				"folder": `os.mkdir("folder"); os.chmod("folder", 0); os.rmdir("folder")`,
				"path":   `open(os.getcwd() + "/by path", "w").close()`,
				"device": `open("/dev/null", "w").write("x")`,
				"shared": `open("/dev/shm/sandbox-test-own", "w").close(); os.remove("/dev/shm/sandbox-test-own")`,
			}, names)
		})
	}
}

// PK-15: a sandbox has private shared memory, or cannot list the machine's.
func TestSharedMemoryIsPrivate(t *testing.T) {
	t.Parallel()
	theirs, err := os.CreateTemp("/dev/shm", "sandbox-test-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.Remove(theirs.Name())) })
	require.NoError(t, theirs.Close())
	require.NoError(t, os.Chmod(theirs.Name(), 0o666))
	for name, mode := range launchModes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mode.requireSnippetsFail(t, sandboxRequest{Rules: mode.newRules(t)}, sandbox.EnforcesSharedMemory, map[string]string{
				"read": `
try: open(THEIRS).read()
except FileNotFoundError as error: raise PermissionError(error)`,
				"list": `
if not os.listdir("/dev/shm"): raise PermissionError("empty")`,
				"another's terminal": `
if os.listdir("/dev/pts") == ["ptmx"]: raise PermissionError("empty")`,
			}, map[string]any{"THEIRS": theirs.Name()})
		})
	}
}

// Hidden files and folders below a folder that may be read cannot be read, by any way. Everything else
// in the folder can, and the folder can be listed.
func TestHiddenPathsCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, mode := range launchModes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules, out := mode.newRules(t), mode.makeUserFolder(t)
			for _, path := range []string{"cases/a.json", "cases/helper.py", "runs/one/line", "tools/t.py", "agent.py"} {
				path = filepath.Join(out, path)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, []byte("x = 1\n"), 0o644))
			}
			require.NoError(t, os.Symlink("cases/a.json", filepath.Join(out, "link")))
			require.NoError(t, os.Symlink(out, filepath.Join(out, "tools", "up")))
			link := filepath.Join(mode.makeUserFolder(t), "alias")
			require.NoError(t, os.Symlink(out, link))
			rules.ReadPaths = append(rules.ReadPaths, link) // the rules resolve it
			for _, name := range []string{"cases/a.json", "runs", "made later"} {
				rules.HiddenPaths = append(rules.HiddenPaths, sandbox.ResolvePath(filepath.Join(link, name)))
			}
			names := map[string]any{"OUT": out, "ALIAS": link}
			mode.requireSnippetsFail(t, sandboxRequest{Rules: rules}, sandbox.EnforcesRead, map[string]string{
				"the file":          `open(OUT + "/cases/a.json").read()`,
				"by the alias":      `open(ALIAS + "/cases/a.json").read()`,
				"by a link":         `open(OUT + "/link").read()`,
				"by a link upwards": `open(OUT + "/tools/up/cases/a.json").read()`,
				"in a folder":       `open(OUT + "/runs/one/line").read()`,
				"linked in":         `os.link(OUT + "/cases/a.json", "stolen")`,
				"moved in":          `os.rename(OUT + "/cases", "stolen")`,
			}, names)
			mode.requireSnippetsSucceed(t, sandboxRequest{Rules: rules}, map[string]string{
				"beside it":    `open(OUT + "/cases/helper.py").read()`,
				"another file": `open(OUT + "/agent.py").read()`,
				"imported":     `import sys; sys.path.insert(0, OUT + "/tools"); import t; assert t.x == 1`,
				"listed":       `assert "agent.py" in os.listdir(ALIAS)`,
			}, names)
		})
	}
}

// In a shared folder there is nothing but what the rules name, also for a process that knows another path: it
// cannot connect to a socket there.
func TestSharedFoldersHaveOnlyWhatTheRulesName(t *testing.T) {
	t.Parallel()
	for name, mode := range launchModes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules, root := mode.newRules(t), mode.makeUserFolder(t)
			rules.SharedFolders = []string{filepath.Join(root, "read"), root, filepath.Dir(rules.Workdir) + "/missing"}
			rules.VisiblePaths = []string{filepath.Join(root, "seen")}
			rules.WritePaths = []string{filepath.Join(root, "own")}
			rules.ReadPaths = append(rules.ReadPaths, filepath.Join(root, "own", "inside"), filepath.Join(root, "read", "deep"), filepath.Join(root, "text"), filepath.Join(root, "missing"))
			for _, name := range []string{"own", "own/inside", "other", "seen", "read", "read/deep", "read/other"} {
				require.NoError(t, os.Mkdir(filepath.Join(root, name), 0o700))
				require.NoError(t, os.Chown(filepath.Join(root, name), mode.uid, -1))
			}
			require.NoError(t, os.WriteFile(filepath.Join(root, "text"), []byte("text"), 0o644))
			var listening net.ListenConfig
			listener, err := listening.Listen(t.Context(), "unix", filepath.Join(root, "other", "socket"))
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, listener.Close()) })
			require.NoError(t, os.Chown(listener.Addr().String(), mode.uid, -1))
			names := map[string]any{"FOLDER": root}
			mode.requireSnippetsFail(t, sandboxRequest{Rules: rules}, sandbox.EnforcesSharedMemory, map[string]string{
				"connect": `
import socket
try: socket.socket(socket.AF_UNIX).connect(FOLDER + "/other/socket")
except FileNotFoundError as error: raise PermissionError(error)`,
				"look": `
try: os.stat(FOLDER + "/other")
except FileNotFoundError as error: raise PermissionError(error)`,
				"list": `os.listdir(FOLDER + "/seen")`,
				"look deeper": `
try: os.stat(FOLDER + "/read/other")
except FileNotFoundError as error: raise PermissionError(error)`,
				"make": `os.mkdir(FOLDER + "/more")`,
			}, names)
			mode.requireSnippetsSucceed(t, sandboxRequest{Rules: rules}, map[string]string{
				"read":   `assert open(FOLDER + "/text").read() == "text"; os.listdir(FOLDER + "/read/deep"); os.listdir(FOLDER + "/own/inside")`,
				"see":    `os.stat(FOLDER + "/seen")`,
				"write":  `open(FOLDER + "/own/file", "w").write("text")`,
				"modes":  `os.chmod(FOLDER + "/own", 0o755)`,
				"listen": `import socket; socket.socket(socket.AF_UNIX).bind(FOLDER + "/own/socket")`,
			}, names)
			require.FileExists(t, filepath.Join(root, "own", "file"), "it is the same folder outside")
		})
	}
}

// The working folder may be in a shared folder: it is the current one by every path.
func TestWorkdirInASharedFolder(t *testing.T) {
	t.Parallel()
	for name, mode := range launchModes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules, root := mode.newRules(t), mode.makeUserFolder(t)
			rules.Workdir, rules.SharedFolders = filepath.Join(root, "own"), []string{root}
			require.NoError(t, os.Mkdir(rules.Workdir, 0o700))
			require.NoError(t, os.Chown(rules.Workdir, mode.uid, -1))
			mode.requireSnippetsSucceed(t, sandboxRequest{Rules: rules}, map[string]string{
				"rename":  `open("a", "w").close(); os.rename("a", os.getcwd() + "/b")`,
				"current": `assert os.getcwd() == ROOT and os.path.samefile(".", ROOT)`,
			}, map[string]any{"ROOT": rules.Workdir})
		})
	}
}
