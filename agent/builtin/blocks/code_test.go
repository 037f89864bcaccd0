package blocks_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin/blocks"
)

func TestBL2_WhichBlocksAreRun(t *testing.T) {
	t.Parallel()
	reply := "```python\n1\n```\n```PY\n2\n```\n```Python3 x\n3\n```\n```\n4\n```\n```elisp\n5\n```\n```emacs-lisp\n6\n```\n" +
		"```lisp\n7\n```\n```r\n8\n```\n```json\n9\n```\n```pycon\n10\n```\n```python\nopen"
	for language, want := range map[string][]string{
		"python": {"1", "2", "3", "4"},
		"elisp":  {"4", "5", "6", "7"},
		"R":      {"4", "8"},
	} {
		require.Equal(t, want, blocks.RunnableCode(reply, language), language)
	}
	require.Empty(t, blocks.RunnableCode("No `code` here.", "python"))
}
