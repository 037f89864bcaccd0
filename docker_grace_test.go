package assay_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/session"
	"assay/internal/subprocess"
)

// longestEnd is how long assay serve and assay run may take to end after a
// signal, as the sum of all deadlines on the way, one after the other. Graders
// (gradeDeadline of eval/attempt) are not among them: a signal cuts them off.
func longestEnd(t *testing.T) time.Duration {
	t.Helper()
	stop := constant(t, "eval/session", "endDeadline")
	steps := []time.Duration{
		session.InterruptGrace,               // cells stop
		session.CollectTimeout,               // the parts of the notebook are read side by side
		stop,                                 // the agent
		stop,                                 // the kernel
		constant(t, "router", "finishGrace"), // peers read what is queued for them
		constant(t, "internal/protocol", "goodbye"),   // consoles agree to a close
		constant(t, "server", "shutdown"),             // requests end
		constant(t, "internal/subprocess", "emptied"), // the helper's cgroups
		constant(t, "internal/subprocess", "emptied"), // and the server's look after it
		constant(t, "cmd/assay", "stderrFlush"),       // what was logged
	}
	var sum time.Duration
	for _, step := range steps {
		sum += step
	}
	return sum
}

// constant is a duration that a package declares.
func constant(t *testing.T, dir, name string) time.Duration {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range parsed.Decls {
			if group, ok := decl.(*ast.GenDecl); ok && group.Tok == token.CONST {
				if value := valueOf(group, name); value != nil {
					return time.Duration(evaluate(t, value))
				}
			}
		}
	}
	require.Fail(t, "a deadline has gone", "%s has no constant %s", dir, name)
	return 0
}

// valueOf is what a group of constants gives to one; nil: it is not among them.
func valueOf(group *ast.GenDecl, name string) ast.Expr {
	for _, spec := range group.Specs {
		if value, ok := spec.(*ast.ValueSpec); ok && value.Names[0].Name == name && len(value.Values) == 1 {
			return value.Values[0]
		}
	}
	return nil
}

// evaluate works out sums and products of numbers, units and what it knows, in
// nanoseconds.
func evaluate(t *testing.T, expr ast.Expr) int64 {
	t.Helper()
	switch e := expr.(type) {
	case *ast.BasicLit:
		n, err := strconv.Atoi(e.Value)
		require.NoError(t, err)
		return int64(n)
	case *ast.SelectorExpr:
		known := map[string]time.Duration{"Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "StopGrace": subprocess.StopGrace}
		require.Contains(t, known, e.Sel.Name)
		return int64(known[e.Sel.Name])
	case *ast.BinaryExpr:
		x, y := evaluate(t, e.X), evaluate(t, e.Y)
		if e.Op == token.ADD {
			return x + y
		}
		require.Equal(t, token.MUL, e.Op)
		return x * y
	default:
		require.Fail(t, "not understood", "%T", expr)
		return 0
	}
}
