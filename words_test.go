package assay_test

import (
	_ "embed"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// retiredNames has one line for each declared name that must not come back: a folder,
// the name, and the name that replaced it.
//
//go:embed testdata/retired_names.txt
var retiredNames string

// retiredPhrases has one line for each phrase that must not come back in comments, docs
// and help texts: a regular expression, a tab, and what to write instead.
//
//go:embed testdata/retired_phrases.txt
var retiredPhrases string

// Declarations of names in Python and TypeScript sources. Go is parsed.
var (
	pythonDeclaration     = regexp.MustCompile(`(?m)^\s*(?:async )?(?:def|class) (\w+)|^(\w+)(?:: [^=\n]+)? = |^\s+self\.(\w+)(?:: [^=\n]+)? = `)
	typeScriptDeclaration = regexp.MustCompile(`\b(?:function|class|interface|type|const|let|enum) (\w+)`)
)

// Comments on a line: to the end of the line, or a line of a block comment.
var (
	goComment         = regexp.MustCompile(`//(.*)$`)
	typeScriptComment = regexp.MustCompile(`//(.*)$|^\s*/?\*+(.*)$`)
	pythonComment     = regexp.MustCompile(`#(.*)$|^\s*(?:"""|''')(.*)$`)
	lispComment       = regexp.MustCompile(`;(.*)$`)
)

// declarationAndCommentPatterns returns the patterns for declarations and comments of a source file; nil:
// declarations are parsed, or every line is prose.
func declarationAndCommentPatterns(file string) (declaration, comment *regexp.Regexp) {
	switch path.Ext(file) {
	case ".go":
		return nil, goComment
	case ".py":
		return pythonDeclaration, pythonComment
	case ".ts", ".tsx":
		return typeScriptDeclaration, typeScriptComment
	case ".el":
		return nil, lispComment
	default:
		return nil, nil
	}
}

func TestNoRetiredNames(t *testing.T) {
	t.Parallel()
	type retired struct{ name, now string }
	lists := map[string][]retired{} // by folder
	for line := range strings.Lines(retiredNames) {
		if fields := strings.Fields(line); len(fields) > 0 && !strings.HasPrefix(line, "#") {
			require.GreaterOrEqual(t, len(fields), 3, "want FOLDER NAME REPLACEMENT: %s", line)
			lists[fields[0]] = append(lists[fields[0]], retired{fields[1], strings.Join(fields[2:], " ")})
		}
	}
	for _, file := range sourceFiles(t) {
		var names map[string]bool
		for folder := path.Dir(file); ; folder = path.Dir(folder) {
			if names == nil && len(lists[folder]) > 0 {
				names = namesDeclaredIn(t, file)
			}
			for _, r := range lists[folder] {
				if names[r.name] {
					t.Errorf("%s declares %s, a retired name: use %s", file, r.name, r.now)
				}
			}
			if folder == "." {
				break
			}
		}
	}
}

func TestNoRetiredPhrases(t *testing.T) {
	t.Parallel()
	type retired struct {
		pattern *regexp.Regexp
		begin   string // what each match begins with, which is found much faster than a match
		now     string
	}
	var list []retired
	for line := range strings.Lines(retiredPhrases) {
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		pattern, now, ok := strings.Cut(strings.TrimSpace(line), "\t")
		require.True(t, ok, "want PATTERN<tab>REPLACEMENT: %s", line)
		begin, _ := regexp.MustCompile(pattern).LiteralPrefix()
		list = append(list, retired{regexp.MustCompile(`\b(?:` + pattern + `)\b`), begin, now})
	}
	for _, file := range sourceFiles(t) {
		for number, text := range proseOf(t, file) {
			text = strings.ToLower(text)
			for _, r := range list {
				if strings.Contains(text, r.begin) && r.pattern.MatchString(text) {
					t.Errorf("%s:%d: %q: write %s", file, number, r.pattern.FindString(text), r.now)
				}
			}
		}
	}
}

// sourceFiles returns the tracked source files and Markdown files of the repository, without
// builds, test data and this test's own tables.
func sourceFiles(t *testing.T) (files []string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard").Output()
	require.NoError(t, err)
	for file := range strings.Lines(string(out)) {
		file = strings.TrimSpace(file)
		skip := strings.HasPrefix(file, "web/dist/") || strings.Contains(file, "testdata/") || file == "CONTRIBUTING.md" || file == "words_test.go"
		if _, err := os.Stat(file); err == nil && !skip && slices.Contains([]string{".go", ".py", ".ts", ".tsx", ".md", ".el"}, path.Ext(file)) {
			files = append(files, file)
		}
	}
	require.NotEmpty(t, files)
	return files
}

// namesDeclaredIn returns the names that a source file declares: packages' and types' members,
// functions, parameters and variables in Go; definitions and assignments in Python;
// declarations in TypeScript.
func namesDeclaredIn(t *testing.T, file string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	text, err := fs.ReadFile(os.DirFS("."), file)
	require.NoError(t, err)
	if pattern, _ := declarationAndCommentPatterns(file); pattern != nil {
		for _, groups := range pattern.FindAllStringSubmatch(string(text), -1) {
			names[strings.Join(groups[1:], "")] = true
		}
		return names
	}
	if path.Ext(file) != ".go" {
		return names
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	require.NoError(t, err)
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			names[n.Name.Name] = true
		case *ast.TypeSpec:
			names[n.Name.Name] = true
		case *ast.ValueSpec:
			maps.Insert(names, identNames(n.Names))
		case *ast.Field:
			maps.Insert(names, identNames(n.Names))
		}
		return true
	})
	return names
}

func identNames(idents []*ast.Ident) func(yield func(string, bool) bool) {
	return func(yield func(string, bool) bool) {
		for _, ident := range idents {
			if !yield(ident.Name, true) {
				return
			}
		}
	}
}

// proseOf returns the prose of a file by line number: comments of a source file, every
// line of a Markdown file.
func proseOf(t *testing.T, file string) map[int]string {
	t.Helper()
	text, err := fs.ReadFile(os.DirFS("."), file)
	require.NoError(t, err)
	prose := map[int]string{}
	_, pattern := declarationAndCommentPatterns(file)
	for i, line := range strings.Split(string(text), "\n") {
		if pattern == nil {
			prose[i+1] = line
		} else if groups := pattern.FindStringSubmatch(line); groups != nil {
			prose[i+1] = strings.Join(groups[1:], "")
		}
	}
	return prose
}
