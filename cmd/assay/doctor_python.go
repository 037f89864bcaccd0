package main

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

// libraries prints, as an object, which of the libraries that the kernel knows
// to show something of are installed, and their versions.
const libraries = `
import importlib.metadata, json
found = {}
for name in "IPython", "numpy", "pandas", "matplotlib", "plotly":
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        found[name] = ""
print(json.dumps(found))
`

// lookForPython starts a kernel with the interpreter and lets it run something.
func (p *process) lookForPython(ctx context.Context, name string) finding {
	const do = "install Python 3.9 or newer, or name another with --python"
	sup, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{p.self, "reap"}})
	if err != nil {
		return isMissing(err, "see the other lines")
	}
	defer sup.Close()
	python, err := kernel.ResolvePython(ctx, name, sup.TempDir())
	if err != nil {
		return isMissing(err, do)
	}
	found, err := p.runLibraries(ctx, sup, python)
	if err != nil {
		return isMissing(fmt.Errorf("%s %s: no kernel runs: %w", python.Executable, python.Version, err), do)
	}
	return isOK("%s at %s runs a kernel; %s", python.Version, python.Executable, found)
}

// runLibraries starts a kernel and asks it for its libraries.
func (p *process) runLibraries(ctx context.Context, sup *subprocess.Supervisor, python *kernel.Python) (text string, err error) {
	sandbox := filepath.Join(sup.TempDir(), "sandbox")
	for _, dir := range []string{"home", "tmp", "mpl"} {
		if err := os.MkdirAll(filepath.Join(sandbox, ".assay", dir), 0o700); err != nil {
			return "", err
		}
	}
	k, err := kernel.Start(ctx, sup, kernel.Config{Python: python, Workdir: sandbox, Session: "doctor", Environ: p.environ})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, k.Stop(ctx)) }()
	defer context.AfterFunc(ctx, func() { _ = k.Close(protocol.CloseNormal, "") })() // ends a Read
	request, err := protocol.Marshal(protocol.KernelRequest{
		Type: protocol.TypeExecuteCode, AgentTxID: "doctor", Code: new(libraries), TimeoutS: probeDeadline.Seconds(),
	})
	if err == nil {
		err = k.Write(request)
	}
	for err == nil {
		var frame []byte
		var answer protocol.ExecuteCodeResponse
		if frame, err = k.Read(); err != nil {
			break
		}
		if frame, err = protocol.ToJSON(frame); err != nil {
			break
		}
		if err = json.Unmarshal(frame, &answer); err == nil && answer.Type == protocol.TypeExecuteCodeResponse {
			return inWords(answer)
		}
	}
	return "", err
}

// inWords is what a kernel has answered to the question for its libraries.
func inWords(answer protocol.ExecuteCodeResponse) (string, error) {
	var versions map[string]string
	if err := json.Unmarshal([]byte(answer.Stdout), &versions); err != nil {
		return "", fmt.Errorf("%s %s", answer.Status, answer.Error)
	}
	var with, without []string
	for _, name := range []string{"IPython", "numpy", "pandas", "matplotlib", "plotly"} {
		if versions[name] != "" {
			with = append(with, name+" "+versions[name])
		} else {
			without = append(without, name)
		}
	}
	text := ""
	if len(with) > 0 {
		text = "with " + strings.Join(with, ", ")
	}
	if len(with) > 0 && len(without) > 0 {
		text += "; "
	}
	if len(without) > 0 {
		text += "without " + strings.Join(without, ", ")
	}
	return text, nil
}
