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
	wrapped := fmt.Errorf("start: %w", exit.Usage(io.EOF))
	require.Equal(t, exit.Usage(io.EOF), exit.OrBroken(errors.Join(wrapped, exit.Broken(io.ErrUnexpectedEOF))))
	require.Equal(t, exit.Broken(io.EOF), exit.OrBroken(io.EOF))
	require.NoError(t, exit.OrBroken(nil))
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	require.EqualError(t, exit.Usage(io.EOF), "EOF")
	require.ErrorIs(t, exit.Broken(io.EOF), io.EOF)
	require.EqualError(t, exit.Failed(), "exit status 1")
	require.EqualError(t, exit.Signal(syscall.SIGTERM), "exit status 143")
}
