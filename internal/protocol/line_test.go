package protocol_test

import (
	"bufio"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
)

func TestReadLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 9000)
	in := bufio.NewReaderSize(iotest.OneByteReader(strings.NewReader("a\n\n"+long+"\nend")), 16)
	for _, want := range []string{"a\n", "\n", long + "\n"} {
		line, err := protocol.ReadLine(in, 9001)
		require.NoError(t, err)
		require.Equal(t, want, string(line))
	}
	line, err := protocol.ReadLine(in, 9001)
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, "end", string(line))

	line, err = protocol.ReadLine(bufio.NewReader(strings.NewReader(long)), 8999)
	require.EqualError(t, err, "a message of more than 8999 bytes")
	require.Nil(t, line)
}
