// Package assay_test checks properties of the module as a whole.
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
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// layers is the import table, top to bottom: each line is a package, a colon and
// the packages of this module that it may import. "*" allows all. A package marked
// with +http may import net/http. docs and bench hold tests and examples only.
const layers = `
cmd/assay:                            *
cmd/assay/internal/chat:              cmd/assay/internal/exit cmd/assay/internal/terminal eval/session router agent/builtin/blocks agent/builtin/tools internal/model internal/trace internal/protocol
cmd/assay/internal/doctor:            cmd/assay/internal/terminal kernel internal/sandbox internal/subprocess internal/protocol
cmd/assay/internal/exit:
cmd/assay/internal/leftovers:         eval/runs testcases testcases/grading/pyvalue
cmd/assay/internal/localsession:      cmd/assay/internal/exit eval/session internal/redact internal/subprocess internal/trace
cmd/assay/internal/loglimit:
cmd/assay/internal/progress:          cmd/assay/internal/terminal eval/batch eval/rescore eval/runs kernel
cmd/assay/internal/terminal:
cmd/assay/internal/terminal/terminaltest:
cmd/assay/internal/textlog:           cmd/assay/internal/terminal internal/trace/flow
cmd/assay/internal/traceview:         cmd/assay/internal/exit eval/runs internal/client internal/trace internal/trace/flow

server +http:          server/api server/metrics server/endpoint eval/session eval/runs router web internal/notebook internal/redact internal/trace internal/trace/flow internal/protocol
server/api +http:      server/endpoint eval/session eval/runs internal/model/calllog internal/notebook internal/trace internal/trace/flow internal/protocol
server/metrics +http:  eval/session router internal/model internal/model/calllog internal/trace internal/protocol
server/endpoint +http: eval/runs internal/protocol
server/servertest:     server internal/subprocess internal/subprocess/subprocesstest
server/chaos:
web:

eval/batch:            eval/attempt eval/runs testcases internal/stats
eval/rescore:          eval/runs testcases testcases/grading testcases/grading/pyvalue internal/model internal/model/replay internal/redact internal/stats
eval/attempt:          eval/session eval/runs router kernel agent testcases testcases/grading testcases/grading/pyvalue internal/model internal/model/calllog internal/model/conversation internal/model/gateway internal/model/replay internal/notebook internal/redact internal/trace internal/trace/flow internal/subprocess internal/sandbox internal/protocol internal/rawjson
eval/session:          router kernel agent internal/model internal/model/calllog internal/model/gateway internal/model/replay internal/notebook internal/redact internal/trace internal/subprocess internal/sandbox internal/protocol
eval/runs:             internal/redact

router:                internal/trace internal/protocol
kernel:                kernel/python kernel/elisp internal/subprocess internal/sandbox internal/protocol
kernel/python:
kernel/elisp:
kernel/jupyter:        internal/protocol
agent:                 internal/subprocess internal/sandbox internal/protocol
agent/check:           agent internal/notebook internal/subprocess internal/protocol
agent/human:           agent/builtin internal/model internal/protocol
agent/mcp +http:       agent/builtin agent/builtin/tools agent/command internal/model internal/peers internal/protocol
agent/acp:             agent/builtin agent/builtin/render agent/builtin/tools agent/command agent/mcp internal/model internal/protocol
agent/command:
agent/builtin/oracle:  agent/builtin agent/builtin/tools agent/builtin/render internal/model internal/model/script internal/protocol
agent/builtin/tools:   agent/builtin agent/builtin/render internal/model internal/protocol
agent/builtin/blocks:  agent/builtin agent/builtin/render agent/builtin/markdown internal/model internal/protocol
agent/builtin/ticks:   agent/builtin agent/builtin/render agent/builtin/markdown internal/model internal/protocol
agent/builtin/agenttest +http: agent/builtin internal/model internal/model/open internal/model/script internal/model/mockapi internal/protocol kernel/python
agent/builtin:         agent/builtin/render internal/model internal/protocol
agent/builtin/render:  internal/model internal/protocol
agent/builtin/markdown:
testcases:             testcases/grading testcases/grading/pyvalue
testcases/lint:        testcases testcases/grading testcases/grading/pyvalue
testcases/grading:     testcases/grading/pyvalue internal/model internal/stats
testcases/grading/pyvalue:
testcases/grading/pyvalue/pyvaluetest: testcases/grading/pyvalue

internal/client +http: internal/protocol
internal/notebook:     internal/redact internal/protocol internal/rawjson
internal/peers:        internal/sandbox
internal/subprocess:   internal/peers internal/sandbox internal/protocol
internal/subprocess/subprocesstest: internal/subprocess internal/sandbox
internal/trace:        internal/redact internal/protocol internal/rawjson
internal/trace/flow:   internal/model internal/model/calllog internal/trace internal/protocol
internal/model +http:           internal/rawjson
internal/model/endpoint +http:  internal/model
internal/model/anthropic +http: internal/model internal/model/endpoint internal/model/wire
internal/model/openai +http:    internal/model internal/model/endpoint internal/model/wire internal/rawjson
internal/model/script +http:    internal/model internal/model/endpoint
internal/model/replay:          internal/model internal/rawjson internal/redact
internal/model/wire +http:      internal/model internal/model/endpoint internal/rawjson
internal/model/mockapi +http:   internal/model internal/model/endpoint internal/model/wire internal/rawjson internal/model/script
internal/model/gateway +http:   internal/model internal/model/endpoint internal/model/replay internal/model/wire internal/redact
internal/model/calllog +http:   internal/model
internal/model/conversation:    internal/model internal/model/calllog internal/model/wire internal/rawjson
internal/model/open +http:      internal/model internal/model/anthropic internal/model/endpoint internal/model/openai internal/model/replay internal/model/script internal/model/wire
internal/model/modeltest +http: internal/model internal/model/mockapi internal/model/open internal/model/script internal/model/wire
internal/sandbox:
internal/redact:        internal/rawjson
internal/rawjson:
internal/stats:
internal/protocol:
`

// folderOrder is the direction of imports between top-level folders: a package may import
// packages of the same level or of a lower one.
const folderOrder = "cmd > server > web > eval > router kernel agent testcases > internal"

func TestImportsFollowTheImportTable(t *testing.T) {
	t.Parallel()
	table := parseLayers(t)
	for _, pkg := range listPackages(t) {
		name := strings.TrimPrefix(pkg.ImportPath, "assay/")
		if pkg.ImportPath == "assay" {
			continue // the root folder holds only tests
		}
		rule, ok := table[name]
		if !ok {
			t.Errorf("package %s is not in the table of layering_test.go: add a line for it", name)
			continue
		}
		delete(table, name)
		for _, path := range pkg.Imports {
			own, ours := strings.CutPrefix(path, "assay/")
			if ours && !rule.allows(own) {
				t.Errorf("%s imports %s, which its line in the table does not list", name, own)
			}
			if path == "net/http" && !rule.http {
				t.Errorf("%s imports net/http, but its line in the table has no +http", name)
			}
		}
	}
	for name := range table {
		t.Errorf("the table lists package %s, which does not exist", name)
	}
}

func TestImportTableHasNoUpwardImports(t *testing.T) {
	t.Parallel()
	for name, rule := range parseLayers(t) {
		for _, imported := range rule.imports {
			if imported != "*" && folderLevel(t, imported) < folderLevel(t, name) {
				t.Errorf("the table lets %s import %s, which is above it", name, imported)
			}
		}
	}
}

// importRule is one line of the table.
type importRule struct {
	imports []string
	http    bool
}

func (r importRule) allows(pkg string) bool {
	return slices.Contains(r.imports, pkg) || slices.Contains(r.imports, "*")
}

func parseLayers(t *testing.T) map[string]importRule {
	t.Helper()
	table := map[string]importRule{}
	for line := range strings.Lines(layers) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		pkg, imports, ok := strings.Cut(line, ":")
		require.True(t, ok, "no colon in the line %q", line)
		name, http := strings.CutSuffix(pkg, " +http")
		require.NotContains(t, table, name, "listed twice")
		table[name] = importRule{imports: strings.Fields(imports), http: http}
	}
	return table
}

// folderLevel returns the index in folderOrder of the package's top-level folder.
func folderLevel(t *testing.T, pkg string) int {
	t.Helper()
	top, _, _ := strings.Cut(pkg, "/")
	levels := strings.Split(folderOrder, " > ")
	i := slices.IndexFunc(levels, func(folders string) bool { return slices.Contains(strings.Fields(folders), top) })
	require.GreaterOrEqual(t, i, 0, "folder %s has no level in order", top)
	return i
}

type listedPackage struct {
	ImportPath string
	Imports    []string
}

func listPackages(t *testing.T) []listedPackage {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "./...").Output()
	require.NoError(t, err)
	var pkgs []listedPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var pkg listedPackage
		err := dec.Decode(&pkg)
		if errors.Is(err, io.EOF) {
			return pkgs
		}
		require.NoError(t, err)
		pkgs = append(pkgs, pkg)
	}
}
