package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/server"
)

// An attempt that has ended has closed its files.
func TestAttemptClosesItsFiles(t *testing.T) {
	t.Parallel()
	tr := newHouse(t, server.Config{}).try(t, `{"id":"x","task":"Say it."}`, "")
	newHolder(t, tr.url)
	tr.agent.await(t, "the task", ofType("agent_query"))
	tr.agent.submit("1")
	tr.end(t)
	links, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	for _, link := range links {
		to, _ := os.Readlink(link)
		require.False(t, strings.HasPrefix(to, tr.dir), to)
	}
}
