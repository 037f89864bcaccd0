package tools_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"io"
	"slices"
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

// patchBase64 returns data with other bytes from an offset on.
func patchBase64(t *testing.T, data string, offset int, bytes ...byte) string {
	t.Helper()
	decoded, err := base64.StdEncoding.DecodeString(data)
	require.NoError(t, err)
	copy(decoded[offset:], bytes)
	return base64.StdEncoding.EncodeToString(decoded)
}

// Images of 3 x 2 pixels in base64, made with libwebp.
const (
	webPLossy    = "UklGRjwAAABXRUJQVlA4IDAAAADQAQCdASoDAAIAAUAmJaACdLoB+AADsAD+8ut//NgVzXPv9//S4P0uD9Lg/9KQAAA="
	webPLossless = "UklGRhwAAABXRUJQVlA4TA8AAAAvAkAAAAcQ/Y/+ByKi/wEA"
	webPExtended = "UklGRl4AAABXRUJQVlA4WAoAAAAQAAAAAgAAAQAAQUxQSAcAAAAAZGRkZGRkAFZQOCAwAAAA0AEAnQEqAwACAAFAJiWgAnS6AfgAA7AA/vLrf/zYFc1z7/f/0uD9Lg/S4P/SkAAA"
)

// An image that the API would reject is replaced by a text.
func TestCO4_ImagesThatCannotBeSent(t *testing.T) {
	t.Parallel()
	asGIF := func(w io.Writer, m image.Image) error { return gif.Encode(w, m, nil) }
	asJPEG := func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) }
	small := agenttest.BlankPNG(t, 3, 2)
	truncated := func(data string, keep int) string {
		decoded, err := base64.StdEncoding.DecodeString(data)
		require.NoError(t, err)
		return base64.StdEncoding.EncodeToString(decoded[:keep])
	}
	for name, c := range map[string]struct{ mime, data, want, sentAs string }{
		"png":               {"image/png", small, "[image/png, shown below]", "image/png"},
		"gif":               {"image/gif", blankImageBase64(t, 3, 2, asGIF), "[image/gif, shown below]", "image/gif"},
		"jpeg":              {"image/jpeg", blankImageBase64(t, 3, 2, asJPEG), "[image/jpeg, shown below]", "image/jpeg"},
		"webp lossy":        {"image/webp", webPLossy, "[image/webp, shown below]", "image/webp"},
		"webp lossless":     {"image/webp", webPLossless, "[image/webp, shown below]", "image/webp"},
		"webp extended":     {"image/webp", webPExtended, "[image/webp, shown below]", "image/webp"},
		"of another kind":   {"image/png", blankImageBase64(t, 3, 2, asJPEG), "[image/png, shown below]", "image/jpeg"},
		"8000 pixels":       {"image/png", agenttest.BlankPNG(t, 8000, 1), "[image/png, shown below]", "image/png"},
		"too wide":          {"image/png", agenttest.BlankPNG(t, 8001, 1), "[image/png, 8001 x 1 pixels, too large to be shown]", ""},
		"too high":          {"image/png", agenttest.BlankPNG(t, 1, 8001), "[image/png, 1 x 8001 pixels, too large to be shown]", ""},
		"webp too wide":     {"image/webp", patchBase64(t, webPLossy, 26, 0x41, 0x1f), "[image/webp, 8001 x 2 pixels, too large to be shown]", ""},
		"webp lossless too": {"image/webp", patchBase64(t, webPLossless, 21, 0x01, 0x00, 0xd0, 0x07), "[image/webp, 2 x 8001 pixels, too large to be shown]", ""},
		"webp extended too": {"image/webp", patchBase64(t, webPExtended, 24, 0x40, 0x1f, 0x00, 0xff, 0xff, 0xff), "[image/webp, not shown: it cannot be read as PNG, JPEG, GIF or WebP]", ""},
		"webp of no kind":   {"image/webp", patchBase64(t, webPLossy, 14, '9'), "[image/webp, not shown: it cannot be read as PNG, JPEG, GIF or WebP]", ""},
		"not base64":        {"image/png", "%%%%", "[image/png, not shown: it is not valid base64]", ""},
		"broken at its end": {"image/png", small + "=", "[image/png, not shown: it is not valid base64]", ""},
		"text":              {"image/png", "aGVsbG8=", "[image/png, not shown: it cannot be read as PNG, JPEG, GIF or WebP]", ""},
		"no header":         {"image/png", small[:8], "[image/png, not shown: it cannot be read as PNG, JPEG, GIF or WebP]", ""},
		"no pixels":         {"image/png", truncated(small, len(small)/4*3-20), "[image/png, not shown: it is broken or too large: png: invalid format: unexpected EOF]", ""},
		"half a jpeg":       {"image/jpeg", truncated(blankImageBase64(t, 300, 200, asJPEG), 700), "[image/jpeg, not shown: it is broken or too large: ", ""},
		"half a webp":       {"image/webp", truncated(webPLossy, 40), "[image/webp, not shown: it is broken or too large: ", ""},
		"too many pixels":   {"image/jpeg", blankImageBase64(t, 4097, 4097, asJPEG), "[image/jpeg, not shown: it is broken or too large: its pixels take more than 256 MiB]", ""},
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
