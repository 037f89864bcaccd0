package testcases

import (
	"bytes"
	"context"
	_ "embed" // for the program that looks for modules
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// modulesProgram prints which of its arguments are no modules.
//
//go:embed modules.py
var modulesProgram string

// Machine is where the cases will run.
type Machine struct {
	Python  string   // the interpreter; empty: python3
	Kernels []string // the names of the kernels there are
}

// Requirements knows what of the cases' requires is missing on a machine. It may
// be used by several goroutines.
type Requirements struct {
	missing map[string]string // requirement to reason
}

// CheckRequirements looks for all that the cases require, each thing once:
// python:MODULE is asked of the interpreter, all in one start, without importing
// the module itself; command:NAME is looked for on PATH; kernel:NAME is one of
// the machine's kernels. The error says that the interpreter could not be asked.
func CheckRequirements(ctx context.Context, cases []Case, machine Machine) (*Requirements, error) {
	r := &Requirements{missing: map[string]string{}}
	var modules []string
	for _, c := range cases {
		for _, requirement := range c.Requires {
			kind, name, _ := strings.Cut(requirement, ":")
			switch kind {
			case "python":
				modules = append(modules, name)
			case "command":
				if _, err := exec.LookPath(name); err != nil {
					r.missing[requirement] = fmt.Sprintf("command %s is not on PATH", name)
				}
			case "kernel":
				if !slices.Contains(machine.Kernels, name) {
					r.missing[requirement] = fmt.Sprintf("there is no kernel %s", name)
				}
			}
		}
	}
	if len(modules) == 0 {
		return r, nil
	}
	return r, r.findMissingModules(ctx, machine.Python, modules)
}

// Missing says what the case requires and does not get, empty when nothing is
// missing.
func (r *Requirements) Missing(c Case) string {
	var reasons []string
	for _, requirement := range c.Requires {
		if reason, ok := r.missing[requirement]; ok {
			reasons = append(reasons, reason)
		}
	}
	return strings.Join(reasons, "; ")
}

func (r *Requirements) findMissingModules(ctx context.Context, python string, modules []string) error {
	const deadline = 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	if python == "" {
		python = "python3"
	}
	slices.Sort(modules)
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, python, append([]string{"-c", modulesProgram}, slices.Compact(modules)...)...)
	cmd.Stderr = &stderr
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("ask %s for modules: %w\n%s", python, err, bytes.TrimSpace(stderr.Bytes()))
	}
	var missing []string
	if err := json.Unmarshal(out, &missing); err != nil {
		return fmt.Errorf("ask %s for modules: %w", python, err)
	}
	for _, module := range missing {
		r.missing["python:"+module] = fmt.Sprintf("%s has no module %s", python, module)
	}
	return nil
}
