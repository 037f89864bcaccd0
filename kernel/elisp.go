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

// Emacs is an Emacs that can run the Emacs Lisp kernel.
type Emacs struct {
	Executable string // absolute
	Version    string // "28.2"

	folder string   // the kernel, unpacked and compiled
	paths  []string // what it has to read, its program and libraries
}

// elispProbe has Emacs say what it is, and where its files are.
const elispProbe = `(progn
(princ (format "emacs %s %s\n" emacs-version (if (fboundp 'json-serialize) "json" "bare")))
(when (or (< emacs-major-version 28) (not (fboundp 'json-serialize))) (kill-emacs 0))
(dolist (folder (append (list invocation-directory data-directory exec-directory) load-path))
  (princ (format "%s\n" (expand-file-name folder)))))`

// ResolveEmacs finds Emacs by name or path (empty: emacs), makes sure that it
// can run the Emacs Lisp kernel, which it unpacks below dir, and has it compile
// the kernel, so that no start has to. It is done once for many kernels.
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
	e := &Emacs{Executable: executable, folder: filepath.Join(dir, "elisp")}
	files, err := elisp.Unpack(e.folder)
	if err != nil {
		return nil, err
	}
	if err := e.probe(ctx, files); err != nil {
		return nil, err
	}
	return e, nil
}

// probe has Emacs answer to elispProbe and compile the kernel's files.
func (e *Emacs) probe(ctx context.Context, files []string) error {
	args := append(elisp.BatchArgs(e.folder), "--eval", elispProbe, "--funcall", "batch-byte-compile")
	out, said, err := ask(ctx, e.Executable, append(args, files...)...)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	var major int
	var capability string
	if _, scanned := fmt.Sscanf(lines[0], "emacs %s %s", &e.Version, &capability); scanned != nil {
		return errors.Join(fmt.Errorf("%s is no Emacs that runs: it printed %q %q", e.Executable, out, said), err)
	}
	if _, scanned := fmt.Sscanf(e.Version, "%d", &major); scanned != nil || major < 28 || capability != "json" {
		return fmt.Errorf("%s is Emacs %s: the Emacs Lisp kernel needs 28 or newer with native JSON (package emacs-nox)", e.Executable, e.Version)
	}
	if err != nil {
		return fmt.Errorf("compile the Emacs Lisp kernel with %s: %w: %s", e.Executable, err, strings.TrimSpace(said))
	}
	e.paths = lines[1:]
	return nil
}

// argv is the command that starts the kernel, but for the path of its socket.
// Emacs in batch mode is killed by SIGPIPE when what it writes to is gone, unless
// it finds the signal ignored.
func (e *Emacs) argv() []string {
	return append([]string{"/bin/sh", "-c", `trap "" PIPE; exec "$@"`, "sh", e.Executable}, elisp.KernelArgs(e.folder)...)
}
