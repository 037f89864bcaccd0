// Package assay_test holds what is true of the module as a whole.
package assay_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// layers says which of our packages each package may import, and whether it
// may import net/http. ARCHITECTURE.md has the same table with the reasons.
// Arrows point down only; cmd/assay, at the top, may import everything.
func layers() map[string]layer {
	return map[string]layer{
		"cmd/assay": {anything: true},

		"server":         {imports: []string{"internal/session", "internal/runs", "internal/notebook", "router", "internal/trace", "internal/protocol", "web"}, http: true},
		"web":            {},
		"internal/batch": {imports: []string{"internal/attempt", "internal/runs", "testcases"}},

		"internal/attempt": {imports: []string{"internal/session", "internal/runs", "internal/trace", "internal/protocol", "internal/child", "internal/fence", "internal/notebook", "kernel", "agent", "router", "testcases", "testcases/grading", "agent/model"}},
		"internal/grade":   {imports: []string{"internal/runs", "testcases", "testcases/grading", "agent/model"}},
		"internal/session": {imports: []string{"router", "kernel", "agent", "internal/notebook", "internal/child", "internal/fence", "internal/trace", "internal/protocol"}},
		"internal/runs":    {},
		"internal/client":  {imports: []string{"internal/protocol"}, http: true},

		"router":            {imports: []string{"internal/trace", "internal/protocol"}},
		"kernel":            {imports: []string{"kernel/python", "kernel/elisp", "internal/child", "internal/fence", "internal/protocol"}},
		"kernel/python":     {},
		"kernel/elisp":      {},
		"kernel/jupyter":    {imports: []string{"internal/protocol"}},
		"agent":             {imports: []string{"internal/child", "internal/fence", "internal/protocol"}},
		"internal/notebook": {imports: []string{"internal/protocol"}},

		"agent/builtin": {imports: []string{"agent/model", "internal/protocol"}},
		"agent/mcp":     {imports: []string{"agent/builtin", "agent/model", "internal/protocol"}, http: true},
		"agent/model":   {http: true},

		"testcases":         {imports: []string{"testcases/grading"}},
		"testcases/grading": {imports: []string{"agent/model"}},

		"internal/turnstile": {},

		"internal/child":    {imports: []string{"internal/fence", "internal/protocol"}},
		"internal/fence":    {},
		"internal/trace":    {imports: []string{"internal/protocol"}},
		"internal/protocol": {},
	}
}

type layer struct {
	imports  []string
	http     bool
	anything bool
}

type listed struct {
	ImportPath string
	Imports    []string
}

func TestLayering(t *testing.T) {
	t.Parallel()
	table := layers()
	for _, pkg := range list(t) {
		name := strings.TrimPrefix(pkg.ImportPath, "assay/")
		if pkg.ImportPath == "assay" {
			continue // this folder holds only tests
		}
		rules, ok := table[name]
		if !ok {
			t.Errorf("package %s is not in the table of layering_test.go and ARCHITECTURE.md: give it a place", name)
			continue
		}
		for _, path := range pkg.Imports {
			own, ours := strings.CutPrefix(path, "assay/")
			if ours && !rules.anything && !slices.Contains(rules.imports, own) {
				t.Errorf("%s imports %s, which is not below it", name, own)
			}
			if path == "net/http" && !rules.http {
				t.Errorf("%s imports net/http, which is for server, agent/model, agent/mcp and internal/client", name)
			}
		}
		delete(table, name)
	}
	for name := range table {
		t.Errorf("package %s is in the table but not in the module", name)
	}
}

func list(t *testing.T) []listed {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "./...").Output()
	require.NoError(t, err)
	var pkgs []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var pkg listed
		err := dec.Decode(&pkg)
		if errors.Is(err, io.EOF) {
			return pkgs
		}
		require.NoError(t, err)
		pkgs = append(pkgs, pkg)
	}
}
