package kernel_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"assay/kernel"
)

// A kernel that ends each run with a status alone gets has_exception filled in, which consoles and agents
// rely on: all of them are sent the frames as they are read here.
func TestHasExceptionFollowsFromStatus(t *testing.T) {
	t.Parallel()
	const result = `send(type="cell_result", cell_id=cell, has_exception=exception is not None, exception=exception)`
	require.Contains(t, originalKernel, result)
	program := filepath.Join(t.TempDir(), "kernel.py")
	source := strings.Replace(originalKernel, result, `send(type="cell_result", cell_id=cell, status=names["status"])`, 1)
	require.NoError(t, os.WriteFile(program, []byte(source), 0o600))
	k := startKernel(t, func(cfg *kernel.Config) { cfg.Python, cfg.Command = nil, []string{"python3", "-u", program} })
	for _, c := range []struct {
		status       string
		hasException bool
	}{{"ok", false}, {"error", true}, {"interrupted", true}} {
		require.NoError(t, k.Write([]byte(`{"type":"run_cell","cell_id":"c","code":"status = '`+c.status+`'"}`)))
		results := 0
		for _, frame := range k.readUntilIdle() {
			if gjson.Get(frame, "type").Str != "cell_result" {
				continue
			}
			results++
			require.Equal(t, c.status, gjson.Get(frame, "status").Str, frame)
			require.True(t, gjson.Get(frame, "has_exception").IsBool(), frame)
			require.Equal(t, c.hasException, gjson.Get(frame, "has_exception").Bool(), frame)
			require.Equal(t, "c", gjson.Get(frame, "cell_id").Str)
		}
		require.Equal(t, 1, results)
		_, err := k.Read() // the summary
		require.NoError(t, err)
	}
}
