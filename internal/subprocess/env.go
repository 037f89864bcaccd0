package subprocess

import (
	"slices"
	"strings"
)

// Env returns the variables that every child gets: where its sandbox is, whose
// session it is part of, and what keeps its output prompt and its start quiet.
func Env(sandbox, session string) []string {
	return []string{
		"LATCH_SANDBOX_ROOT=" + sandbox,
		"ASSAY_SESSION=" + session,
		"PYTHONUNBUFFERED=1",
		"DD_TRACE_ENABLED=false",
	}
}

// Pick returns the variables of environ, as os.Environ gives them, whose names
// keep says yes to, less those that Env sets.
func Pick(environ []string, keep func(name string) bool) []string {
	set := Env("", "")
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		ours := slices.ContainsFunc(set, func(s string) bool { return strings.HasPrefix(s, name+"=") })
		return ours || !keep(name)
	})
}
