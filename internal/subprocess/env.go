package subprocess

import (
	"slices"
	"strings"
)

// StandardEnv returns the variables that every child gets: where its sandbox is, whose
// session it is part of, and what keeps its output prompt and its start quiet.
func StandardEnv(sandbox, session string) []string {
	return []string{
		"LATCH_SANDBOX_ROOT=" + sandbox,
		"ASSAY_SESSION=" + session,
		"PYTHONUNBUFFERED=1",
		"DD_TRACE_ENABLED=false",
	}
}

// FilterEnv returns the variables of environ, as os.Environ gives them, whose names
// keep says yes to, less those that Env sets.
func FilterEnv(environ []string, keep func(name string) bool) []string {
	set := StandardEnv("", "")
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		ours := slices.ContainsFunc(set, func(s string) bool { return strings.HasPrefix(s, name+"=") })
		return ours || !keep(name)
	})
}
