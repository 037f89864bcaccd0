package server_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/server"
)

func TestSessionIDs(t *testing.T) {
	t.Parallel()
	for id, valid := range map[string]bool{
		"default": true, "0": true, "A.b_c-9": true, strings.Repeat("x", 100): true,
		"": false, strings.Repeat("x", 101): false, ".a": false, "-a": false, "_a": false,
		"a b": false, "a@b": false, "a/b": false, "..": false, "é": false, "a\n": false, "a\x00": false,
	} {
		require.Equal(t, valid, server.IsSessionID(id), "%q", id)
	}
}

// The check once compiled a regular expression at each call (0.2 ms), and
// /api/sessions checks an id per stored trace.
//
//nolint:paralleltest // testing.AllocsPerRun must not run beside other tests
func TestSessionIDCheckDoesNotAllocate(t *testing.T) {
	id := strings.Repeat("x", 99)
	valid := true
	require.Zero(t, testing.AllocsPerRun(100, func() { valid = valid && server.IsSessionID(id) }))
	require.True(t, valid)
}
