package exit_test

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/cmd/assay/internal/exit"
)

func TestOrBrokenKeepsTheFirstStatus(t *testing.T) {
	t.Parallel()
	wrapped := fmt.Errorf("start: %w", exit.UsageError(io.EOF))
	require.Equal(t, exit.UsageError(io.EOF), exit.FirstErrorOrBroken(errors.Join(wrapped, exit.BrokenError(io.ErrUnexpectedEOF))))
	require.Equal(t, exit.BrokenError(io.EOF), exit.FirstErrorOrBroken(io.EOF))
	require.NoError(t, exit.FirstErrorOrBroken(nil))
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	require.EqualError(t, exit.UsageError(io.EOF), "EOF")
	require.ErrorIs(t, exit.BrokenError(io.EOF), io.EOF)
	require.EqualError(t, exit.FailedError(), "exit status 1")
	require.EqualError(t, exit.SignalError(syscall.SIGTERM), "exit status 143")
}
