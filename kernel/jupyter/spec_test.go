package jupyter_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/kernel/jupyter"
)

// writeKernelspec writes a kernelspec with this name, whose program is /bin/sh, into the
// Jupyter data folder data.
func writeKernelspec(t *testing.T, data, name string) {
	t.Helper()
	path := filepath.Join(data, "kernels", name, "kernel.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(shellKernelspec), 0o600))
}

const shellKernelspec = `{"argv": ["/bin/sh", "{connection_file}"]}`

func TestFindSpecSearchOrder(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	at := func(name string) string { return filepath.Join(root, name) }
	environ := []string{
		"PATH=/nonexistent", "HOME=" + at("home"), "JUPYTER_PATH=" + at("first") + ":" + at("second"),
		"VIRTUAL_ENV=" + at("venv"), "CONDA_PREFIX=" + at("conda"),
	}
	places := []string{at("conda/share/jupyter"), at("venv/share/jupyter"), at("home/.local/share/jupyter"), at("second"), at("first")}
	for n, place := range places {
		writeKernelspec(t, place, "k")
		writeKernelspec(t, place, "Only"+filepath.Base(place)+"N"+string(rune('a'+n)))
		spec, err := jupyter.FindSpec(t.Context(), "K", environ)
		require.NoError(t, err)
		require.Equal(t, filepath.Join(place, "kernels", "k", "kernel.json"), spec.Path, "each folder comes before those written so far")
		require.Equal(t, "k", spec.Name)
	}
	_, err := jupyter.FindSpec(t.Context(), "none", environ)
	require.ErrorContains(t, err, `there is no Jupyter kernel "none": installed are `)
	require.ErrorContains(t, err, "k, onlyfirstne, onlyjupyterna")
	writeKernelspec(t, at("data"), "own")
	spec, err := jupyter.FindSpec(t.Context(), "own", append(environ, "JUPYTER_DATA_DIR="+at("data")))
	require.NoError(t, err)
	require.Equal(t, "own", spec.Name)
	writeKernelspec(t, at("xdg/jupyter"), "own")
	_, err = jupyter.FindSpec(t.Context(), "own", append(environ, "XDG_DATA_HOME="+at("xdg")))
	require.NoError(t, err)
}

func TestFindSpecAsksPythonForItsPrefix(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	prefix := filepath.Join(root, "real")
	writeKernelspec(t, filepath.Join(prefix, "share", "jupyter"), "k")
	bin := filepath.Join(root, "shims")
	require.NoError(t, os.Mkdir(bin, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "python3"), []byte("#!/bin/sh\necho "+prefix+"\n"), 0o700))
	spec, err := jupyter.FindSpec(t.Context(), "k", []string{"PATH=" + bin})
	require.NoError(t, err)
	require.Equal(t, filepath.Join(prefix, "share/jupyter/kernels/k/kernel.json"), spec.Path)
}

// FindSpec does not find a kernelspec if the name is a path.
func TestFindSpecRefusesPaths(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	writeKernelspec(t, filepath.Join(root, "other"), "k")
	for _, name := range []string{"", "..", "../../other/kernels/k", "/etc"} {
		_, err := jupyter.FindSpec(t.Context(), name, []string{"JUPYTER_PATH=" + filepath.Join(root, "here")})
		require.ErrorContains(t, err, "there is no Jupyter kernel")
	}
}

func TestReadSpecErrors(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"":                               "it is no kernel.json: unexpected end of JSON input",
		"[]":                             "it is no kernel.json",
		`{"argv": "sh"}`:                 "it is no kernel.json",
		`{}`:                             "its argv names no program",
		`{"argv": [""]}`:                 "its argv names no program",
		`{"argv": ["no-such-program"]}`:  "its program no-such-program is not on PATH",
		`{"argv": ["/no/such/program"]}`: "its program /no/such/program is not there, or cannot be executed",
		`{"argv": ["/etc/passwd"]}`:      "cannot be executed",
		`{"argv": ["/bin/sh"], "interrupt_mode": "shout"}`: `its interrupt_mode "shout" is neither signal nor message`,
		strings.Repeat(" ", 2<<20):                         "no file of at most 1048576 bytes",
	} {
		path := writeKernelJSON(t, content)
		_, err := jupyter.ReadSpec(path, []string{"PATH=/usr/bin:/bin"})
		require.ErrorContains(t, err, "the kernelspec "+path+": ")
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "\n")
	}
	_, err := jupyter.ReadSpec(filepath.Join(t.TempDir(), "kernel.json"), nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A kernelspec inside a virtual environment uses the programs of that environment before those
// on PATH.
func TestBareProgramIsFoundBesideTheSpecFirst(t *testing.T) {
	t.Parallel()
	path := writeKernelJSON(t, `{"argv": ["python"]}`)
	prefix := strings.TrimSuffix(filepath.Dir(path), "/share/jupyter/kernels/Made")
	own := filepath.Join(prefix, "bin", "python")
	require.NoError(t, os.Mkdir(filepath.Dir(own), 0o700))
	require.NoError(t, os.WriteFile(own, nil, 0o700))
	spec, err := jupyter.ReadSpec(path, []string{"PATH=/usr/bin"})
	require.NoError(t, err)
	require.Equal(t, own, spec.Executable)
	require.Equal(t, "made", spec.Name)
	require.Contains(t, spec.ReadPaths(), prefix)
	require.Contains(t, spec.ReadPaths(), filepath.Dir(path))
}

func TestSpecReadPaths(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"env/bin", "base/lib/r/bin", "start"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, name), 0o700))
	}
	program := filepath.Join(root, "base/lib/r/bin/r")
	require.NoError(t, os.WriteFile(program, nil, 0o700))
	link := filepath.Join(root, "env/bin/r")
	require.NoError(t, os.Symlink(program, link))
	script := filepath.Join(root, "start", "kernel.jl")
	require.NoError(t, os.WriteFile(script, nil, 0o600))
	path := writeKernelJSON(t, `{"argv": ["`+link+`", "-i", "`+script+`", "/no/such", "{connection_file}"]}`)
	spec, err := jupyter.ReadSpec(path, nil)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{
		filepath.Dir(path), filepath.Join(root, "env"), filepath.Join(root, "base/lib/r"), script,
	}, spec.ReadPaths())
}

func FuzzParseSpec(f *testing.F) {
	for _, seed := range []string{shellKernelspec, `{"argv":["R"],"env":{"A":"${B}"},"interrupt_mode":"message"}`, `{"argv":null}`, `{"env":[]}`, "\x00", `{"argv":["a"],"metadata":{"debugger":true}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		argv, err := jupyter.ParseSpec(body)
		if err == nil {
			require.NotEmpty(t, argv[0])
		}
	})
}
