package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program in a folder bin may read the folder above, but not the user's home or all files.
func TestCommandReadPaths(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	file := func(path string) string {
		path = filepath.Join(home, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		return path
	}
	file("venv/pyvenv.cfg")
	require.NoError(t, os.MkdirAll(filepath.Join(home, "tool", "lib", "python3.11"), 0o700))
	for name, tc := range map[string]struct {
		command []string
		want    []string // below home, unless absolute
	}{
		"a program":                {[]string{file("tool/bin/agent")}, []string{"tool"}},
		"of npm":                   {[]string{file("node_modules/.bin/agent")}, []string{"node_modules"}},
		"elsewhere":                {[]string{file("tool/agent")}, []string{"tool"}},
		"in the home":              {[]string{file("bin/agent")}, []string{"bin"}},
		"in /":                     {[]string{"/bin/sh"}, []string{"/bin"}},
		"Python":                   {[]string{file("tool/bin/python3")}, []string{"tool/bin/python3", "tool/bin", "tool/lib", "tool/bin", "tool/lib"}},
		"Python in a home":         {[]string{file("bin/python3")}, []string{"bin/python3"}},
		"a virtual environment":    {[]string{file("venv/bin/python3")}, []string{"venv/bin/python3", "venv", "venv"}},
		"a script and other files": {[]string{file("tool/agent"), file("a/run.py"), file("b/x.json"), "--flag"}, []string{"tool", "a", "b/x.json"}},
		"no file":                  {[]string{filepath.Join(home, "missing"), "word"}, nil},
	} {
		var want []string
		for _, path := range tc.want {
			if !filepath.IsAbs(path) {
				path = filepath.Join(home, path)
			}
			want = append(want, path)
		}
		require.Equal(t, want, commandReadPaths(tc.command), name)
	}
}
