package jupyter_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
)

func TestRReadyMessage(t *testing.T) {
	t.Parallel()
	k := startRKernel(t)
	require.Equal(t, "r", k.ready.Language)
	require.Regexp(t, `^\d+\.\d+\.\d+$`, k.ready.Version)
	require.Equal(t, []string{"reactivity", "widgets"}, k.ready.Unsupported)
	frames := k.runCell("cat(Sys.getpid(), getwd())")
	require.Equal(t, fmt.Sprintf("%d %s", k.ready.PID, k.workdir), streamText(t, frames, protocol.Stdout))
}

func TestRResultsAndText(t *testing.T) {
	t.Parallel()
	k := startRKernel(t)
	frames := k.runCell("cat('é€😀\\n')\nsystem('echo sub; echo err >&2')\nmessage('m')\nx <- 20\nx + 22")
	// Text of a child and text of R come on two ways, whose order is not known.
	require.Contains(t, []string{"é€😀\nsub\n", "sub\né€😀\n"}, streamText(t, frames, protocol.Stdout))
	require.Contains(t, []string{"err\nm\n\n", "m\n\nerr\n"}, streamText(t, frames, protocol.Stderr))
	all := cellOutputs(frames)
	require.Len(t, all, 1)
	require.Equal(t, "display_data", all[0].Type)
	require.Equal(t, "[1] 42", all[0].textOfMIMEType("text/plain"))
	require.Equal(t, "42", all[0].textOfMIMEType("text/html"))
	result := lastFrame(frames)
	require.Equal(t, protocol.StatusOK, result.Status)
	require.Equal(t, []string{}, result.Outputs, "not known of R")
	table := cellOutputs(k.runCell("data.frame(a = 1:2)"))[0]
	require.Contains(t, table.textOfMIMEType("text/html"), "<table")
	require.Len(t, streamText(t, k.runCell("cat(strrep('x', 2e7))"), protocol.Stdout), 2e7)
	require.Equal(t, 5000, strings.Count(streamText(t, k.runCell("for (i in 1:5000) print(i)"), protocol.Stdout), "\n"))
}

func TestRPlots(t *testing.T) {
	t.Parallel()
	k := startRKernel(t)
	all := cellOutputs(k.runCell("plot(1:3)"))
	require.Len(t, all, 1)
	png, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(all[0].textOfMIMEType("image/png"), "\n", ""))
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(png, []byte("\x89PNG")))
}

func TestRTracebackEndsWithTheError(t *testing.T) {
	t.Parallel()
	k := startRKernel(t)
	for code, want := range map[string]string{
		"f <- function() stop('no')\nf()": "Error in f(): no\n",
		"no_such":                         "object 'no_such' not found\n",
		"x x":                             "1: x x\n      ^\n",
	} {
		result := lastFrame(k.runCell(code))
		require.Equal(t, protocol.StatusError, result.Status, code)
		require.True(t, result.HasError)
		require.True(t, strings.HasSuffix(result.Exception, want), "%q", result.Exception)
		require.Equal(t, 1, strings.Count(result.Exception, want))
	}
	require.Equal(t, "Traceback:\n1. f()\n2. stop(\"no\")   # at line 1 of file <text>\nError in f(): no\n", lastFrame(k.runCell("f()")).Exception)
	require.Equal(t, protocol.StatusOK, lastFrame(k.runCell("quit()")).Status, "a cell does not end it")
	require.Equal(t, "[1] \"\"", cellOutputs(k.runCell("x <- readline('name? ')\nx"))[0].textOfMIMEType("text/plain"), "standard input is empty")
}

func TestPK14RExecutesCode(t *testing.T) {
	t.Parallel()
	k := startRKernel(t)
	answer := k.executeCode("x <- 41\nprint('out')\nx + 1")
	require.Equal(t, protocol.StatusOK, answer.Status)
	require.Equal(t, "[1] 42", *answer.Result)
	require.Equal(t, "[1] \"out\"\n", answer.Stdout)
	require.Nil(t, k.executeCode("y <- 1").Result)
	failed := k.executeCode("stop('bad')")
	require.Equal(t, protocol.StatusError, failed.Status)
	require.Contains(t, failed.Error, "bad")
	require.Equal(t, "[1] 41", *k.executeCode("x").Result)
}

func TestPK8RSummary(t *testing.T) {
	t.Parallel()
	k := startRKernel(t)
	infos, _ := k.globalsSummary()
	require.Empty(t, infos)
	k.runCell("x <- 3; v <- c(1.5, 2); s <- 'text'; .hidden <- 1\ndf <- data.frame(a = 1:3, b = letters[1:3])\none <- data.frame(a = 1)\n" +
		"m <- matrix(1:6, 2); l <- list(a = 1); f <- function(n) n; big <- strrep('é', 5000)\n" +
		"makeActiveBinding('active', function() stop('looked at'), globalenv())\ndelayedAssign('lazy', stop('no'))\nnothing <- NULL")
	infos, answer := k.globalsSummary()
	require.False(t, answer.Truncated)
	require.Equal(t, map[string]any{
		"type": "data.frame", "columns": []any{"a", "b"}, "dtypes": map[string]any{"a": "integer", "b": "character"},
		"column_preview_truncated": false, "shape": []any{3.0, 2.0},
	}, infos["df"])
	require.Equal(t, []any{"a"}, infos["one"]["columns"])
	require.Equal(t, map[string]any{"type": "matrix", "dtype": "integer", "shape": []any{2.0, 3.0}}, infos["m"])
	require.Equal(t, map[string]any{"type": "numeric", "repr": "num 3"}, infos["x"])
	require.Equal(t, map[string]any{"type": "numeric", "dtype": "double", "shape": []any{2.0}, "repr": "num [1:2] 1.5 2"}, infos["v"])
	require.Equal(t, map[string]any{"type": "list", "len": 1.0, "repr": "List of 1\n $ a: num 1"}, infos["l"])
	require.Equal(t, map[string]any{"type": "active binding", "error": "not inspected"}, infos["active"])
	require.Equal(t, "no", infos["lazy"]["error"])
	require.LessOrEqual(t, len([]rune(infos["big"]["repr"].(string))), 1000) //nolint:errcheck,forcetypeassert // a test
	require.Len(t, infos, 12, "%v", infos)
	k.sendMessage(protocol.TypeGetGlobalInfo, messageFields{"key": "s"})
	require.JSONEq(t, `{"type": "character", "repr": "chr \"text\""}`, string(k.awaitFrame("get_global_info_response").Info))
	k.sendMessage(protocol.TypeGetGlobalInfo, messageFields{"key": "\"\n); stop('x"})
	require.Contains(t, k.awaitFrame("get_global_info_response").Error, "there is no global")
}

func TestPK14RResetRestartsTheKernel(t *testing.T) {
	t.Parallel()
	k := startRKernel(t)
	k.runCell("x <- 1")
	k.sendMessage(protocol.TypeResetGlobals, messageFields{"agent_tx_id": "r"})
	require.Equal(t, "r", k.awaitFrame("reset_kernel_globals_complete").AgentTxID)
	require.Equal(t, "FALSE", streamText(t, k.runCell("cat(exists('x'))"), protocol.Stdout))
}
