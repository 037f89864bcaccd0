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

// findModulesProgram is a Python program that prints which of its arguments are not
// installed modules.
//
//go:embed modules.py
var findModulesProgram string

// Machine describes the machine on which cases will run: its Python interpreter and its
// kernels.
type Machine struct {
	Python  string   // interpreter; "" means python3
	Kernels []string // names of the available kernels
}

// MissingRequirements holds the requirements of cases that this machine does not meet. It is safe
// for concurrent use.
type MissingRequirements struct {
	missing map[string]string // the reason, by requirement
}

// CheckRequirements checks all requirements of the cases, each once: for all
// python:MODULE it starts the interpreter once, without importing the modules
// themselves; command:NAME must be on PATH; kernel:NAME must be one of the machine's
// kernels. It returns an error if the interpreter fails or takes more than 30 s.
func CheckRequirements(ctx context.Context, cases []Case, machine Machine) (*MissingRequirements, error) {
	r := &MissingRequirements{missing: map[string]string{}}
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

// OfCase lists which requirements of the case the machine does not meet, or "" if it
// meets all.
func (r *MissingRequirements) OfCase(c Case) string {
	var reasons []string
	for _, requirement := range c.Requires {
		if reason, ok := r.missing[requirement]; ok {
			reasons = append(reasons, reason)
		}
	}
	return strings.Join(reasons, "; ")
}

// findMissingModules starts the Python interpreter and records the modules that it
// cannot find. It fails if the interpreter fails or takes more than 30 s.
func (r *MissingRequirements) findMissingModules(ctx context.Context, python string, modules []string) error {
	const deadline = 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	if python == "" {
		python = "python3"
	}
	slices.Sort(modules)
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, python, append([]string{"-c", findModulesProgram}, slices.Compact(modules)...)...)
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
