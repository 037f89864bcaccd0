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

// scripted is a net.Conn whose peer's bytes are fixed in advance.
type scripted struct {
	net.Conn
	in  io.Reader
	out bytes.Buffer
}

func (s *scripted) Read(p []byte) (int, error)  { return s.in.Read(p) }
func (s *scripted) Write(p []byte) (int, error) { return s.out.Write(p) }
func (s *scripted) Close() error                { return nil }

func frame(body []byte) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(body))), body...)
}

func header(n int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }

func gzipped(tb testing.TB, body []byte) []byte {
	tb.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(body)
	require.NoError(tb, err)
	require.NoError(tb, w.Close())
	return packed.Bytes()
}

func TestStreamFaults(t *testing.T) {
	t.Parallel()
	bomb := gzipped(t, bytes.Repeat([]byte("x"), 2000))
	for name, tc := range map[string]struct {
		in   []byte
		want string
	}{
		"length zero":             {header(0), "frame length 0"},
		"length negative":         {header(-1), "frame length -1"},
		"length over the limit":   {header(1001), "frame length 1001: over the limit of 1000 bytes"},
		"length of printed text":  {[]byte("Traceback (most recent call last)"), "over the limit of 1000 bytes"},
		"end inside the header":   {header(5)[:3], "unexpected EOF"},
		"end behind the header":   {header(5), "0 of 5 bytes of a frame: unexpected EOF"},
		"end inside the body":     {append(header(5), "abc"...), "3 of 5 bytes of a frame: unexpected EOF"},
		"gzip that is cut":        {frame(gzipped(t, []byte("short"))[:20]), "gzip frame: unexpected EOF"},
		"gzip over the limit":     {frame(bomb), "over the limit of 1000 bytes"},
		"gzip with a broken body": {frame([]byte{0x1f, 0x8b, 8, 0, 1, 2, 3, 4, 5, 6, 7}), "gzip frame"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := protocol.NewStream(&scripted{in: bytes.NewReader(tc.in)}, 1000).Read()
			var fault *protocol.ChannelError
			require.ErrorAs(t, err, &fault)
			require.NotErrorIs(t, err, io.EOF, "only an end between frames is a close")
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestStreamReadsSplitFrames(t *testing.T) {
	t.Parallel()
	in := append(frame([]byte(`{"type":"ready"}`)), frame([]byte(`{"a":1}`))...)
	conn := protocol.NewStream(&scripted{in: iotest.OneByteReader(bytes.NewReader(in))}, 0)
	for _, want := range []string{`{"type":"ready"}`, `{"a":1}`} {
		got, err := conn.Read()
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	_, err := conn.Read()
	require.ErrorIs(t, err, io.EOF)
}

func TestStreamMirrorsGzip(t *testing.T) {
	t.Parallel()
	peer := &scripted{in: bytes.NewReader(frame(gzipped(t, []byte(`{"type":"ready"}`))))}
	conn := protocol.NewStream(peer, 0)
	require.NoError(t, conn.Write([]byte(`{"early":1}`)))
	require.Equal(t, frame([]byte(`{"early":1}`)), peer.out.Bytes(), "plain until the peer has spoken")
	peer.out.Reset()

	got, err := conn.Read()
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"ready"}`, string(got))
	for range 2 { // the packer is used again
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
	in := append(frame([]byte(`{"type":"ready"}`)), frame(gzipped(t, []byte(`{"late":1}`)))...)
	peer := &scripted{in: bytes.NewReader(in)}
	conn := protocol.NewStream(peer, 0)
	for range 2 {
		_, err := conn.Read()
		require.NoError(t, err, "gzip is understood whenever it comes")
	}
	require.NoError(t, conn.Write([]byte(`{}`)))
	require.Equal(t, frame([]byte(`{}`)), peer.out.Bytes(), "but only the first frame decides what is sent")
}

func TestStreamRefusesToWriteWhatItWouldNotRead(t *testing.T) {
	t.Parallel()
	peer := &scripted{in: bytes.NewReader(nil)}
	conn := protocol.NewStream(peer, 10)
	var fault *protocol.FrameLengthError
	require.ErrorAs(t, conn.Write(make([]byte, 11)), &fault)
	require.Zero(t, peer.out.Len(), "refused whole")
	require.NoError(t, conn.Write(make([]byte, 10)), "and the channel is still good")
}

// A header alone must not cost memory: sixty of them, each promising 64 MiB,
// would be 3.75 GiB.
func TestStreamTakesMemoryAsBytesArrive(t *testing.T) { //nolint:paralleltest // measures the process's allocations
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 60 {
		in := append(header(protocol.DefaultMaxFrameBytes), make([]byte, 1000)...)
		_, err := protocol.NewStream(&scripted{in: bytes.NewReader(in)}, 0).Read()
		require.ErrorContains(t, err, "1000 of 67108864 bytes")
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
}

func FuzzStream(f *testing.F) {
	f.Add(frame([]byte(`{"type":"ready"}`)))
	f.Add(append(frame([]byte(`{}`)), 1, 2, 3))
	f.Add(header(-5))
	f.Add(frame(gzipped(f, []byte(`{"type":"ready"}`))))
	f.Add(frame([]byte{0x1f, 0x8b}))
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 1 << 12
		conn := protocol.NewStream(&scripted{in: bytes.NewReader(in)}, limit)
		for {
			body, err := conn.Read()
			if err != nil {
				return
			}
			require.LessOrEqual(t, len(body), limit)
		}
	})
}
