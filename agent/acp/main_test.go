package acp_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"assay/agent/mcp"
	"assay/internal/subprocess/subprocesstest"
)

func TestMain(m *testing.M) {
	subprocesstest.RunTestsOrRole(m, map[string]subprocesstest.Role{"mcp": runBridgeProcess})
}

// runBridgeProcess does what `assay mcp --attach` does.
func runBridgeProcess([]string) int {
	if err := mcp.Bridge(context.Background(), mcp.Address{Socket: os.Getenv("ASSAY_SOCKET")}, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	return 0
}
