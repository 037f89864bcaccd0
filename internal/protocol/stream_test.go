package protocol_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
)

// scriptedConn is a net.Conn whose Read yields fixed bytes and whose Write keeps what is
// written.
type scriptedConn struct {
	net.Conn
	in  io.Reader
	out bytes.Buffer
}

func (s *scriptedConn) Read(p []byte) (int, error)  { return s.in.Read(p) }
func (s *scriptedConn) Write(p []byte) (int, error) { return s.out.Write(p) }
func (s *scriptedConn) Close() error                { return nil }

// newFrameBytes returns a frame of the stream: the length of body and body.
func newFrameBytes(body []byte) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(body))), body...)
}

// lengthHeader returns the header of a frame which announces a body of n bytes.
func lengthHeader(n int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }

// gzipBytes returns body compressed with gzip.
func gzipBytes(tb testing.TB, body []byte) []byte {
	tb.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(body)
	require.NoError(tb, err)
	require.NoError(tb, w.Close())
	return packed.Bytes()
}

func TestStreamReadErrors(t *testing.T) {
	t.Parallel()
	bomb := gzipBytes(t, bytes.Repeat([]byte("x"), 2000))
	for name, tc := range map[string]struct {
		in   []byte
		want string
	}{
		"length zero":             {lengthHeader(0), "frame length 0"},
		"length negative":         {lengthHeader(-1), "frame length -1"},
		"length over the limit":   {lengthHeader(1001), "frame length 1001: over the limit of 1000 bytes"},
		"length of printed text":  {[]byte("Traceback (most recent call last)"), "over the limit of 1000 bytes"},
		"end inside the header":   {lengthHeader(5)[:3], "unexpected EOF"},
		"end behind the header":   {lengthHeader(5), "0 of 5 bytes of a frame: unexpected EOF"},
		"end inside the body":     {append(lengthHeader(5), "abc"...), "3 of 5 bytes of a frame: unexpected EOF"},
		"gzip that is cut":        {newFrameBytes(gzipBytes(t, []byte("short"))[:20]), "gzip frame: unexpected EOF"},
		"gzip over the limit":     {newFrameBytes(bomb), "over the limit of 1000 bytes"},
		"gzip with a broken body": {newFrameBytes([]byte{0x1f, 0x8b, 8, 0, 1, 2, 3, 4, 5, 6, 7}), "gzip frame"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := protocol.NewStream(&scriptedConn{in: bytes.NewReader(tc.in)}, 1000).Read()
			var fault *protocol.ConnError
			require.ErrorAs(t, err, &fault)
			require.NotErrorIs(t, err, io.EOF, "only an end between two frames is a close")
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestStreamReadsSplitFrames(t *testing.T) {
	t.Parallel()
	in := append(newFrameBytes([]byte(`{"type":"ready"}`)), newFrameBytes([]byte(`{"a":1}`))...)
	conn := protocol.NewStream(&scriptedConn{in: iotest.OneByteReader(bytes.NewReader(in))}, 0)
	for _, want := range []string{`{"type":"ready"}`, `{"a":1}`} {
		got, err := conn.Read()
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	_, err := conn.Read()
	require.ErrorIs(t, err, io.EOF)
}

func TestStreamCompressesIfPeerDoes(t *testing.T) {
	t.Parallel()
	peer := &scriptedConn{in: bytes.NewReader(newFrameBytes(gzipBytes(t, []byte(`{"type":"ready"}`))))}
	conn := protocol.NewStream(peer, 0)
	require.NoError(t, conn.Write([]byte(`{"early":1}`)))
	require.Equal(t, newFrameBytes([]byte(`{"early":1}`)), peer.out.Bytes(), "plain until the peer has sent its first frame")
	peer.out.Reset()

	got, err := conn.Read()
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"ready"}`, string(got))
	for range 2 { // the compressor can be used again
		require.NoError(t, conn.Write([]byte(`{"type":"init"}`)))
		body := peer.out.Bytes()[8:]
		unpacker, err := gzip.NewReader(bytes.NewReader(body))
		require.NoError(t, err)
		plain, err := io.ReadAll(unpacker)
		require.NoError(t, err)
		require.JSONEq(t, `{"type":"init"}`, string(plain))
		peer.out.Reset()
	}
}

func TestStreamStaysPlainForAPlainPeer(t *testing.T) {
	t.Parallel()
	in := append(newFrameBytes([]byte(`{"type":"ready"}`)), newFrameBytes(gzipBytes(t, []byte(`{"late":1}`)))...)
	peer := &scriptedConn{in: bytes.NewReader(in)}
	conn := protocol.NewStream(peer, 0)
	for range 2 {
		_, err := conn.Read()
		require.NoError(t, err, "gzip is understood in any frame")
	}
	require.NoError(t, conn.Write([]byte(`{}`)))
	require.Equal(t, newFrameBytes([]byte(`{}`)), peer.out.Bytes(), "only the first frame decides whether gzip is sent")
}

func TestStreamRefusesToWriteTooLargeFrames(t *testing.T) {
	t.Parallel()
	peer := &scriptedConn{in: bytes.NewReader(nil)}
	conn := protocol.NewStream(peer, 10)
	var fault *protocol.FrameLengthError
	require.ErrorAs(t, conn.Write(make([]byte, 11)), &fault)
	require.Zero(t, peer.out.Len(), "nothing is written")
	require.NoError(t, conn.Write(make([]byte, 10)), "the connection can still be used")
}

// A frame's header alone costs no memory: 60 headers that announce 64 MiB each would otherwise
// take 3.75 GiB.
func TestStreamAllocatesAsBytesArrive(t *testing.T) { //nolint:paralleltest // it measures the process's allocations
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 60 {
		in := append(lengthHeader(protocol.DefaultMaxFrameBytes), make([]byte, 1000)...)
		_, err := protocol.NewStream(&scriptedConn{in: bytes.NewReader(in)}, 0).Read()
		require.ErrorContains(t, err, "1000 of 67108864 bytes")
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
}

// FuzzStream reads arbitrary bytes as frames: nothing may panic, and no body may exceed the
// limit.
func FuzzStream(f *testing.F) {
	f.Add(newFrameBytes([]byte(`{"type":"ready"}`)))
	f.Add(append(newFrameBytes([]byte(`{}`)), 1, 2, 3))
	f.Add(lengthHeader(-5))
	f.Add(newFrameBytes(gzipBytes(f, []byte(`{"type":"ready"}`))))
	f.Add(newFrameBytes([]byte{0x1f, 0x8b}))
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 1 << 12
		conn := protocol.NewStream(&scriptedConn{in: bytes.NewReader(in)}, limit)
		for {
			body, err := conn.Read()
			if err != nil {
				return
			}
			require.LessOrEqual(t, len(body), limit)
		}
	})
}
