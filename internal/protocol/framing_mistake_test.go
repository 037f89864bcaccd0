package protocol_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
)

// frameBytesWithLength returns a frame whose header announces n bytes, whatever body has.
func frameBytesWithLength(n int, body string) []byte { return append(lengthHeader(int64(n)), body...) }

// The error of a stream names what a peer sends in place of frames.
func TestStreamNamesFramingMistakes(t *testing.T) {
	t.Parallel()
	const ready = `{"type":"ready"}`
	long := `{"type":"ready","text":"` + strings.Repeat("x", 300) + `"}`
	bigEndian := func(body string) []byte {
		return append(binary.BigEndian.AppendUint64(nil, uint64(len(body))), body...)
	}
	first := newFrameBytes([]byte(ready))
	for name, tc := range map[string]struct {
		in   []byte
		want string // empty: no mistake is named
	}{
		"lines of JSON":                 {[]byte(ready + "\n"), "it seems to write lines of JSON"},
		"indented JSON":                 {[]byte("\n  " + ready), "it seems to write lines of JSON"},
		"a line of JSON behind a frame": {append(bytes.Clone(first), ready+"\n"...), "it seems to write lines of JSON"},
		"big-endian":                    {bigEndian(ready), "its lengths seem to be big-endian"},
		"big-endian, negative":          {bigEndian(long[:200]), "its lengths seem to be big-endian"},
		"big-endian, long":              {bigEndian(long), "its lengths seem to be big-endian"},
		"4 bytes, big-endian":           {append(binary.BigEndian.AppendUint32(nil, 16), ready...), "its lengths seem to have 4 bytes"},
		"4 bytes, little-endian":        {append(binary.LittleEndian.AppendUint32(nil, 16), ready...), "its lengths seem to have 4 bytes"},
		"printed text":                  {[]byte("Starting up, please wait"), `it seems to write text, "Starting"`},
		"headers of lines":              {[]byte("Content-Length: 16\r\n\r\n" + ready), `it seems to write text, "Content-"`},
		"characters counted":            {append(bytes.Clone(first), append(frameBytesWithLength(17, `{"text":"éééééé"}`), first...)...), "it counts bytes of UTF-8, not characters"},
		"one character too few":         {append(bytes.Clone(first), append(frameBytesWithLength(16, `{"ééé":{"a":{}}}`), first...)...), "it counts bytes of UTF-8, not characters"},
		"noise":                         {[]byte{200, 201, 202, 203, 204, 205, 206, 207}, ""},
		"zeros":                         {make([]byte, 8), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := protocol.NewStream(&scriptedConn{in: bytes.NewReader(tc.in)}, 0)
			var err error
			for err == nil {
				_, err = conn.Read()
			}
			var fault *protocol.FrameLengthError
			require.ErrorAs(t, err, &fault)
			require.Contains(t, fault.Mistake, tc.want)
			require.Equal(t, tc.want == "", fault.Mistake == "", fault.Mistake)
			require.ErrorContains(t, err, fault.Mistake)
		})
	}
}

// A length that is too large leaves the reader waiting. When the connection ends, or is closed
// meanwhile, the error says what had come.
func TestStreamNamesWrongLengths(t *testing.T) {
	t.Parallel()
	const ready = `{"type":"ready"}`
	for name, tc := range map[string]struct {
		in           []byte
		cut, mistake string
	}{
		"too large":            {frameBytesWithLength(len(ready)+8, ready), "16 of 24 bytes of a frame", "all of its JSON has come: the length seems to be 8 too large; it counts the bytes of the body alone"},
		"newline between":      {append(append(newFrameBytes([]byte(ready)), '\n'), newFrameBytes([]byte(ready))...), "17 of 4106 bytes of a frame", "a newline seems to follow the frame before: nothing may be between frames"},
		"a character too few":  {append(frameBytesWithLength(len(ready)-1, ready), newFrameBytes([]byte(ready))...), "17 of 4221 bytes of a frame", "the length of the frame before seems too small: it counts bytes of UTF-8, not characters"},
		"an ordinary cut":      {frameBytesWithLength(len(ready), ready[:5]), "5 of 16 bytes of a frame", ""},
		"nothing but a length": {frameBytesWithLength(len(ready), ""), "0 of 16 bytes of a frame", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireCut := func(conn protocol.Conn, want error) {
				var err error
				for err == nil {
					_, err = conn.Read()
				}
				var cut *protocol.CutFrameError
				require.ErrorAs(t, err, &cut)
				require.ErrorIs(t, err, want)
				require.Equal(t, tc.mistake, cut.Mistake)
				text := tc.cut + ": " + want.Error()
				if tc.mistake != "" {
					text += " (" + tc.mistake + ")"
				}
				require.EqualError(t, cut, text)
			}
			requireCut(protocol.NewStream(&scriptedConn{in: bytes.NewReader(tc.in)}, 0), io.ErrUnexpectedEOF)

			ours, theirs := net.Pipe()
			conn := protocol.NewStream(ours, 0)
			written := make(chan error, 1)
			go func() {
				_, err := theirs.Write(tc.in)
				written <- err
				_ = conn.Close(protocol.CloseNormal, "")
			}()
			requireCut(conn, protocol.ErrClosed)
			require.NoError(t, <-written)
			require.NoError(t, theirs.Close())
		})
	}
}
