package kernel

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"assay/kernel/elisp"
)

// Emacs is an installed Emacs that can run the Emacs Lisp kernel, from [ResolveEmacs].
type Emacs struct {
	Executable string // absolute path
	Version    string // such as "28.2"

	kernelFolder string   // the kernel, unpacked and compiled
	readPaths    []string // what a sandboxed kernel must read: the kernel and all libraries
}

// emacsProbeCode is Lisp code that makes Emacs print its version, "json" or "bare" for with or
// without native JSON, and then the folders of its files, one a line.
const emacsProbeCode = `(progn
(princ (format "emacs %s %s\n" emacs-version (if (fboundp 'json-serialize) "json" "bare")))
(when (or (< emacs-major-version 28) (not (fboundp 'json-serialize))) (kill-emacs 0))
(dolist (folder (append (list invocation-directory data-directory exec-directory) load-path))
  (princ (format "%s\n" (expand-file-name folder)))))`

// ResolveEmacs finds Emacs by name or path (empty: emacs), checks that it is Emacs 28 or newer
// with native JSON, and unpacks and compiles the Emacs Lisp kernel below dir. Call it once for
// all kernels. The error says what is missing.
func ResolveEmacs(ctx context.Context, name, dir string) (*Emacs, error) {
	if name == "" {
		name = "emacs"
	}
	executable, err := exec.LookPath(name)
	if err == nil {
		executable, err = filepath.Abs(executable)
	}
	if err != nil {
		return nil, fmt.Errorf("the Emacs Lisp kernel needs Emacs 28 or newer (package emacs-nox): %w", err)
	}
	e := &Emacs{Executable: executable, kernelFolder: filepath.Join(dir, "elisp")}
	files, err := elisp.UnpackSources(e.kernelFolder)
	if err != nil {
		return nil, err
	}
	if err := e.probeAndCompile(ctx, files); err != nil {
		return nil, err
	}
	return e, nil
}

// probeAndCompile runs Emacs once to compile the kernel's files, and sets Version and
// readPaths from what it prints. It fails if Emacs is too old, has no native JSON, or cannot
// compile the files.
func (e *Emacs) probeAndCompile(ctx context.Context, files []string) error {
	args := append(elisp.BatchArgs(e.kernelFolder), "--eval", emacsProbeCode, "--funcall", "batch-byte-compile")
	stdout, stderr, err := runProbe(ctx, e.Executable, append(args, files...)...)
	lines := strings.Split(strings.TrimSpace(string(stdout)), "\n")
	var major int
	var capability string
	if _, scanErr := fmt.Sscanf(lines[0], "emacs %s %s", &e.Version, &capability); scanErr != nil {
		return errors.Join(fmt.Errorf("%s is no working Emacs: it printed %q %q", e.Executable, stdout, stderr), err)
	}
	if _, scanErr := fmt.Sscanf(e.Version, "%d", &major); scanErr != nil || major < 28 || capability != "json" {
		return fmt.Errorf("%s is Emacs %s: the Emacs Lisp kernel needs 28 or newer with native JSON (package emacs-nox)", e.Executable, e.Version)
	}
	if err != nil {
		return fmt.Errorf("compile the Emacs Lisp kernel with %s: %w: %s", e.Executable, err, strings.TrimSpace(stderr))
	}
	e.readPaths = lines[1:]
	return nil
}

// kernelCommand returns the command that starts the Emacs Lisp kernel. The path of the
// server's Unix socket must be appended.
func (e *Emacs) kernelCommand() []string { return elisp.KernelCommand(e.Executable, e.kernelFolder) }
