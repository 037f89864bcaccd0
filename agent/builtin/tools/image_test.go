package tools_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
	"assay/agent/builtin/tools"
	"assay/internal/model"
)

// blankImageBase64 returns a blank image in base64.
func blankImageBase64(t *testing.T, width, height int, encode func(io.Writer, image.Image) error) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, encode(&out, agenttest.BlankImage(width, height)))
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

// webPHeaderBase64 returns a WebP header in base64 with these parts from byte 12 on, without an image.
func webPHeaderBase64(rest ...any) string {
	var out bytes.Buffer
	out.WriteString("RIFF\x00\x00\x00\x00WEBP")
	for _, part := range rest {
		if text, ok := part.(string); ok {
			part = []byte(text)
		}
		_ = binary.Write(&out, binary.LittleEndian, part) // to memory
	}
	out.WriteString(strings.Repeat("\x00", 40))
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

// An image that the API would reject is replaced by a text.
func TestCO4_ImagesThatCannotBeSent(t *testing.T) {
	t.Parallel()
	asGIF := func(w io.Writer, m image.Image) error { return gif.Encode(w, m, nil) }
	asJPEG := func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) }
	lossy := func(width, height uint16) string {
		return webPHeaderBase64("VP8 ", "size", "tag", "\x9d\x01\x2a", width, height)
	}
	small := agenttest.BlankPNG(t, 3, 2)
	for name, c := range map[string]struct{ mime, data, want, sentAs string }{
		"png":               {"image/png", small, "[image/png, shown below]", "image/png"},
		"gif":               {"image/gif", blankImageBase64(t, 3, 2, asGIF), "[image/gif, shown below]", "image/gif"},
		"jpeg":              {"image/jpeg", blankImageBase64(t, 3, 2, asJPEG), "[image/jpeg, shown below]", "image/jpeg"},
		"webp lossy":        {"image/webp", lossy(8000, 8000), "[image/webp, shown below]", "image/webp"},
		"webp lossless":     {"image/webp", webPHeaderBase64("VP8L", "size", "\x2f", uint32(99|77<<14)), "[image/webp, shown below]", "image/webp"},
		"webp extended":     {"image/webp", webPHeaderBase64("VP8X", "size", "flag", "\x05\x00\x00\x06\x00\x00"), "[image/webp, shown below]", "image/webp"},
		"of another kind":   {"image/png", blankImageBase64(t, 3, 2, asJPEG), "[image/png, shown below]", "image/jpeg"},
		"8000 pixels":       {"image/png", agenttest.BlankPNG(t, 8000, 1), "[image/png, shown below]", "image/png"},
		"too wide":          {"image/png", agenttest.BlankPNG(t, 8001, 1), "[image/png, 8001 x 1 pixels, too large to be shown]", ""},
		"too high":          {"image/png", agenttest.BlankPNG(t, 1, 8001), "[image/png, 1 x 8001 pixels, too large to be shown]", ""},
		"webp too wide":     {"image/webp", lossy(8001, 1), "[image/webp, 8001 x 1 pixels, too large to be shown]", ""},
		"webp lossless too": {"image/webp", webPHeaderBase64("VP8L", "size", "\x2f", uint32(1|8000<<14)), "[image/webp, 2 x 8001 pixels, too large to be shown]", ""},
		"webp extended too": {"image/webp", webPHeaderBase64("VP8X", "size", "flag", "\x40\x1f\x00\xff\xff\xff"), "[image/webp, 8001 x 16777216 pixels, too large to be shown]", ""},
		"webp of no kind":   {"image/webp", webPHeaderBase64("VP9 "), "[image/webp, not shown: it cannot be read as PNG, JPEG, GIF or WebP]", ""},
		"not base64":        {"image/png", "%%%%", "[image/png, not shown: it is not valid base64]", ""},
		"broken at its end": {"image/png", small + "=", "[image/png, not shown: it is not valid base64]", ""},
		"text":              {"image/png", "aGVsbG8=", "[image/png, not shown: it cannot be read as PNG, JPEG, GIF or WebP]", ""},
		"no header":         {"image/png", small[:8], "[image/png, not shown: it cannot be read as PNG, JPEG, GIF or WebP]", ""},
		"empty":             {"image/png", " ", "[image/png, empty]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startToolsAgent(t, agenttest.ToolCallScriptLine("run_cell", `{"cell_id":"c1"}`), `{"content":"x"}`)
			p.SetActionHook(func(_ string, _ frame, tx string) bool {
				p.RespondToAction(tx, nil)
				p.FinishRun("c1", 1, frame{"cell_outputs": []any{frame{"output_type": "display_data", "data": frame{c.mime: c.data}}}})
				return true
			})
			p.InitAndAwaitReady(nil)
			require.Equal(t, "done", p.QueryAndWait("go"))
			content := p.ToolResults()[0].Content
			require.Contains(t, content[0].Text, c.want)
			if c.sentAs == "" {
				require.Len(t, content, 1)
				return
			}
			require.Equal(t, []model.Block{model.Image(c.sentAs, c.data)}, content[1:])
		})
	}
}

// A request has at most 100 images, and no large one among more than 20. An image that does
// not fit is replaced by a text, and the conversation goes on.
func TestCO4_ManyImages(t *testing.T) {
	t.Parallel()
	small, large := agenttest.BlankPNG(t, 2000, 1), agenttest.BlankPNG(t, 1, 2001)
	tooLarge := "[image/png, not shown: among more than 20 images none may have a side of more than 2000 pixels]"
	tooMany := "[image/png, not shown: the conversation has 100 images already]"
	for name, c := range map[string]struct {
		images []string
		want   map[int]string // number of an image: the text in its place
	}{
		"large among few":           {[]string{large, small}, nil},
		"large among many":          {append(slices.Repeat([]string{small}, 20), large, small), map[int]string{20: tooLarge}},
		"many after a large one":    {append([]string{large}, slices.Repeat([]string{small}, 21)...), map[int]string{20: tooLarge, 21: tooLarge}},
		"more than a hundred small": {slices.Repeat([]string{small}, 102), map[int]string{100: tooMany, 101: tooMany}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const perCell = 6 // gives several rounds
			var lines []string
			for at := 0; at < len(c.images); at += perCell {
				lines = append(lines, agenttest.ToolCallScriptLine("run_cell", fmt.Sprintf(`{"cell_id":"c%d"}`, at)))
			}
			p := startAgent(t, tools.Config{Agent: builtin.Config{Model: agenttest.NewValidatingClient(t, append(lines, `{"content":"x"}`)...)}})
			p.SetActionHook(func(_ string, params frame, tx string) bool {
				p.RespondToAction(tx, nil)
				var at int
				_, err := fmt.Sscanf(params.StringField("cell_id"), "c%d", &at)
				require.NoError(t, err)
				var outputs []frame
				for _, data := range c.images[at:min(at+perCell, len(c.images))] {
					outputs = append(outputs, frame{"output_type": "display_data", "data": frame{"image/png": data}})
				}
				p.FinishRun(params.StringField("cell_id"), at, frame{"cell_outputs": outputs})
				return true
			})
			p.InitAndAwaitReady(nil)
			require.Equal(t, "done", p.QueryAndWait("go"))
			var shown []model.Block
			for _, result := range p.ToolResults() {
				shown = append(shown, result.Content[1:]...)
			}
			require.Len(t, shown, len(c.images))
			for i, b := range shown {
				if want, ok := c.want[i]; ok {
					require.Equal(t, model.Text(want), b)
				} else {
					require.Equal(t, model.Image("image/png", c.images[i]), b)
				}
			}
		})
	}
}

// Any data can be looked at as an image.
func FuzzImageHeader(f *testing.F) {
	for _, seed := range []string{"\x89PNG\r\n\x1a\n", "GIF89a", "\xff\xd8\xff", "RIFF....WEBPVP8L", ""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		mime, size := model.ParseImageHeader(bytes.NewReader(data))
		require.Equal(t, mime == "", size.X == 0 && size.Y == 0)
	})
}
