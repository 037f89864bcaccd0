package kernel_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"assay/internal/protocol"
	"assay/kernel"
)

// rawStdoutFrame returns a raw frame with text that the cell "c" printed to stdout.
func rawStdoutFrame(text string) []byte {
	return protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: protocol.Stdout, CellID: "c", Text: []byte(text)})
}

// newFrameTextCollector returns a function to pass as emit, and a builder that collects the text of
// the frames passed to that function.
func newFrameTextCollector(t *testing.T) (emit func([]byte), text *strings.Builder) {
	t.Helper()
	text = &strings.Builder{}
	return func(frame []byte) {
		r, err := protocol.ParseRawFrame(frame)
		require.NoError(t, err)
		require.Equal(t, "c", r.CellID)
		text.Write(r.Text)
	}, text
}

func TestPK5MiddleOfLongTextIsDropped(t *testing.T) {
	t.Parallel()
	emit, text := newFrameTextCollector(t)
	output := kernel.NewRunTextLimiter(100)
	for i := range 100 {
		output.AddTextFrame(rawStdoutFrame(fmt.Sprintf("line %03d\n", i)), emit) // 9 bytes
	}
	require.Equal(t, 5*9, text.Len(), "the first half is emitted as it comes")
	output.EndRun(emit)
	head, rest, found := strings.Cut(text.String(), "\n[… 810 bytes of output are left out here …]\n")
	require.True(t, found, text)
	require.True(t, strings.HasPrefix(head, "line 000\nline 001\n"))
	require.Equal(t, "line 095\nline 096\nline 097\nline 098\nline 099\n", rest)
}

func TestPK5TextWithinTheLimitIsComplete(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int{-1, 40, 1000}).Draw(t, "limit")
		chunks := rapid.SliceOf(rapid.StringN(0, 20, 30)).Draw(t, "chunks")
		var got, want strings.Builder
		emit := func(frame []byte) {
			r, err := protocol.ParseRawFrame(frame)
			if err != nil {
				t.Fatal(err)
			}
			got.Write(r.Text)
		}
		output := kernel.NewRunTextLimiter(limit)
		for _, chunk := range chunks {
			output.AddTextFrame(rawStdoutFrame(chunk), emit)
			want.WriteString(chunk)
		}
		output.EndRun(emit)
		switch {
		case limit < 0, want.Len() <= limit/2:
			if got.String() != want.String() {
				t.Fatalf("got %q, want %q", got.String(), want.String())
			}
		default: // the limit, one frame and the note
			if got.Len() > limit+100 {
				t.Fatalf("%d bytes of %d with a limit of %d", got.Len(), want.Len(), limit)
			}
			if last := chunks[len(chunks)-1]; !strings.HasSuffix(got.String(), last) {
				t.Fatalf("the end %q is missing in %q", last, got.String())
			}
		}
	})
}

// Characters that are split between two chunks of a pipe are joined, and invalid UTF-8 is
// replaced by U+FFFD.
func TestSplitCharactersAreJoined(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		output := kernel.NewRunTextLimiter(-1)
		var got strings.Builder
		for rest := []byte(text); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			got.Write(output.JoinSplitCharacters(protocol.Stdout, rest[:n]))
			rest = rest[n:]
		}
		if got.String() != strings.ToValidUTF8(text, "\uFFFD") {
			t.Fatalf("got %q, want %q", got.String(), text)
		}
	})
	emit, out := newFrameTextCollector(t)
	output := kernel.NewRunTextLimiter(-1)
	require.Equal(t, "a\uFFFDb", string(output.JoinSplitCharacters(protocol.Stderr, []byte("a\xffb"))))
	require.Empty(t, output.JoinSplitCharacters(protocol.Stderr, []byte("\xe2\x82")))
	output.EndRun(emit)
	require.Equal(t, "\uFFFD", out.String(), "a character that never ended")
}

func TestFrameType(t *testing.T) {
	t.Parallel()
	for frame, want := range map[string]string{
		`{"type":"cell_result","cell_id":"c"}`:    "cell_result",
		`{"cell_id":"c", "type" : "cell_result"}`: "cell_result",
		"\x00\x01\x00\x00text":                    "kernel_stdio",
		`{"type":`:                                "",
		"":                                        "",
	} {
		require.Equal(t, want, kernel.FrameTypeOf([]byte(frame)), frame)
	}
}
