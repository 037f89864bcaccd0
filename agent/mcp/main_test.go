package mcp_test

import (
	"testing"

	"assay/internal/subprocess/subprocesstest"
)

func TestMain(m *testing.M) {
	subprocesstest.RunTestsOrRole(m, map[string]subprocesstest.Role{"agent": runAgentProcess, "client": runClientProcess})
}
