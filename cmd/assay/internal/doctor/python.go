package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"assay/internal/protocol"
	"assay/internal/subprocess"
	"assay/kernel"
)

// listLibrariesCode is Python code. It prints a JSON object with the version of each library
// that the kernel has special support for, or "" if the library is not installed.
const listLibrariesCode = `
import importlib.metadata, json
found = {}
for name in "IPython", "numpy", "pandas", "matplotlib", "plotly":
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        found[name] = ""
print(json.dumps(found))
`

// checkPython starts a kernel with the interpreter and runs code in it.
func (cfg Config) checkPython(ctx context.Context) Finding {
	const do = "install Python 3.9 or newer, or name another with --python"
	sup, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: cfg.CleanupHelper})
	if err != nil {
		return missingFinding(err, "see the other lines")
	}
	defer sup.Close()
	python, err := kernel.ResolvePython(ctx, cfg.Python, sup.TempDir())
	if err != nil {
		return missingFinding(err, do)
	}
	libraries, err := cfg.describeLibraries(ctx, sup, python)
	if err != nil {
		return missingFinding(fmt.Errorf("%s %s: the kernel does not work: %w", python.Executable, python.Version, err), do)
	}
	return okFinding("%s at %s runs a kernel; %s", python.Version, python.Executable, libraries)
}

// describeLibraries starts a kernel, runs listLibrariesCode in it, stops it, and returns the
// result in words.
func (cfg Config) describeLibraries(ctx context.Context, sup *subprocess.Supervisor, python *kernel.Python) (text string, err error) {
	workdir := filepath.Join(sup.TempDir(), "sandbox")
	for _, dir := range []string{"home", "tmp", "mpl"} {
		if err := os.MkdirAll(filepath.Join(workdir, ".assay", dir), 0o700); err != nil {
			return "", err
		}
	}
	k, err := kernel.Start(ctx, sup, kernel.Config{Python: python, Workdir: workdir, Session: "doctor", Environ: cfg.Environ})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, k.Stop(ctx)) }()
	defer context.AfterFunc(ctx, func() { _ = k.Close(protocol.CloseNormal, "") })() // ends a Read
	request, err := protocol.Marshal(protocol.KernelRequest{
		Type: protocol.TypeExecuteCode, AgentTxID: "doctor", Code: new(listLibrariesCode), TimeoutS: CheckTimeout.Seconds(),
	})
	if err == nil {
		err = k.Write(request)
	}
	for err == nil {
		var frame []byte
		var response protocol.ExecuteCodeResponse
		if frame, err = k.Read(); err != nil {
			break
		}
		if frame, err = protocol.BodyToJSON(frame); err != nil {
			break
		}
		if err = json.Unmarshal(frame, &response); err == nil && response.Type == protocol.TypeExecuteCodeResponse {
			return librariesInWords(response)
		}
	}
	return "", err
}

// librariesInWords puts the kernel's response to listLibrariesCode into words, such as
// "with numpy 2.1.0; without plotly".
func librariesInWords(response protocol.ExecuteCodeResponse) (string, error) {
	var versions map[string]string
	if err := json.Unmarshal([]byte(response.Stdout), &versions); err != nil {
		return "", fmt.Errorf("%s %s", response.Status, response.Error)
	}
	var with, without []string
	for _, name := range []string{"IPython", "numpy", "pandas", "matplotlib", "plotly"} {
		if versions[name] != "" {
			with = append(with, name+" "+versions[name])
		} else {
			without = append(without, name)
		}
	}
	var parts []string
	if len(with) > 0 {
		parts = append(parts, "with "+strings.Join(with, ", "))
	}
	if len(without) > 0 {
		parts = append(parts, "without "+strings.Join(without, ", "))
	}
	return strings.Join(parts, "; "), nil
}
