package builtin_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/internal/model"
)

// blank is an image of one colour that takes no memory.
func blank(width, height int) image.Image {
	return image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.Black, color.White})
}

// drawn is an image in base64.
func drawn(t *testing.T, width, height int, encode func(io.Writer, image.Image) error) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, encode(&out, blank(width, height)))
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

func pngOf(t *testing.T, width, height int) string {
	t.Helper()
	return drawn(t, width, height, png.Encode)
}

// webP is the header of a WebP, with what is in it from byte 12 on.
func webP(rest ...any) string {
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

// What the API would refuse is told as a text.
func TestCO4_ImagesThatCannotBeSent(t *testing.T) {
	t.Parallel()
	asGIF := func(w io.Writer, m image.Image) error { return gif.Encode(w, m, nil) }
	asJPEG := func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) }
	lossy := func(width, height uint16) string { return webP("VP8 ", "size", "tag", "\x9d\x01\x2a", width, height) }
	small := pngOf(t, 3, 2)
	for name, c := range map[string]struct{ mime, data, want, sentAs string }{
		"png":               {"image/png", small, "[image/png, shown below]", "image/png"},
		"gif":               {"image/gif", drawn(t, 3, 2, asGIF), "[image/gif, shown below]", "image/gif"},
		"jpeg":              {"image/jpeg", drawn(t, 3, 2, asJPEG), "[image/jpeg, shown below]", "image/jpeg"},
		"webp lossy":        {"image/webp", lossy(8000, 8000), "[image/webp, shown below]", "image/webp"},
		"webp lossless":     {"image/webp", webP("VP8L", "size", "\x2f", uint32(99|77<<14)), "[image/webp, shown below]", "image/webp"},
		"webp extended":     {"image/webp", webP("VP8X", "size", "flag", "\x05\x00\x00\x06\x00\x00"), "[image/webp, shown below]", "image/webp"},
		"of another kind":   {"image/png", drawn(t, 3, 2, asJPEG), "[image/png, shown below]", "image/jpeg"},
		"8000 pixels":       {"image/png", pngOf(t, 8000, 1), "[image/png, shown below]", "image/png"},
		"too wide":          {"image/png", pngOf(t, 8001, 1), "[image/png, 8001 x 1 pixels, too large to be shown]", ""},
		"too high":          {"image/png", pngOf(t, 1, 8001), "[image/png, 1 x 8001 pixels, too large to be shown]", ""},
		"webp too wide":     {"image/webp", lossy(8001, 1), "[image/webp, 8001 x 1 pixels, too large to be shown]", ""},
		"webp lossless too": {"image/webp", webP("VP8L", "size", "\x2f", uint32(1|8000<<14)), "[image/webp, 2 x 8001 pixels, too large to be shown]", ""},
		"webp extended too": {"image/webp", webP("VP8X", "size", "flag", "\x40\x1f\x00\xff\xff\xff"), "[image/webp, 8001 x 16777216 pixels, too large to be shown]", ""},
		"webp of no kind":   {"image/webp", webP("VP9 "), "[image/webp, not shown: it cannot be read as PNG, JPEG, GIF or WebP]", ""},
		"not base64":        {"image/png", "%%%%", "[image/png, not shown: it is not valid base64]", ""},
		"broken at its end": {"image/png", small + "=", "[image/png, not shown: it is not valid base64]", ""},
		"text":              {"image/png", "aGVsbG8=", "[image/png, not shown: it cannot be read as PNG, JPEG, GIF or WebP]", ""},
		"no header":         {"image/png", small[:8], "[image/png, not shown: it cannot be read as PNG, JPEG, GIF or WebP]", ""},
		"empty":             {"image/png", " ", "[image/png, empty]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startTools(t, builtin.Config{}, uses("run_cell", `{"cell_id":"c1"}`), `{"content":"x"}`)
			p.onAction(func(_ string, _ frame, tx string) bool {
				p.answer(tx, nil)
				p.result("c1", 1, frame{"cell_outputs": []any{frame{"output_type": "display_data", "data": frame{c.mime: c.data}}}})
				return true
			})
			p.init(nil)
			require.Equal(t, "done", p.ask("go"))
			content := p.results()[0].Content
			require.Contains(t, content[0].Text, c.want)
			if c.sentAs == "" {
				require.Len(t, content, 1)
				return
			}
			require.Equal(t, []model.Block{model.Image(c.sentAs, c.data)}, content[1:])
		})
	}
}

// A request has at most 100 images, and among more than 20 no large one. What
// does not fit is told as a text, and the conversation goes on.
func TestCO4_ManyImages(t *testing.T) {
	t.Parallel()
	small, large := pngOf(t, 2000, 1), pngOf(t, 1, 2001)
	tooLarge := "[image/png, not shown: among more than 20 images none may have a side of more than 2000 pixels]"
	tooMany := "[image/png, not shown: the conversation has 100 images already]"
	for name, c := range map[string]struct {
		images []string
		want   map[int]string // number of an image: what is there instead
	}{
		"large among few":           {[]string{large, small}, nil},
		"large among many":          {append(slices.Repeat([]string{small}, 20), large, small), map[int]string{20: tooLarge}},
		"many after a large one":    {append([]string{large}, slices.Repeat([]string{small}, 21)...), map[int]string{20: tooLarge, 21: tooLarge}},
		"more than a hundred small": {slices.Repeat([]string{small}, 102), map[int]string{100: tooMany, 101: tooMany}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const perCell = 6 // so that there are several rounds
			var lines []string
			for at := 0; at < len(c.images); at += perCell {
				lines = append(lines, uses("run_cell", fmt.Sprintf(`{"cell_id":"c%d"}`, at)))
			}
			p := startStrict(t, builtin.Config{}, append(lines, `{"content":"x"}`)...)
			p.onAction(func(_ string, params frame, tx string) bool {
				p.answer(tx, nil)
				var at int
				_, err := fmt.Sscanf(params.text("cell_id"), "c%d", &at)
				require.NoError(t, err)
				var outputs []frame
				for _, data := range c.images[at:min(at+perCell, len(c.images))] {
					outputs = append(outputs, frame{"output_type": "display_data", "data": frame{"image/png": data}})
				}
				p.result(params.text("cell_id"), at, frame{"cell_outputs": outputs})
				return true
			})
			p.init(nil)
			require.Equal(t, "done", p.ask("go"))
			var shown []model.Block
			for _, result := range p.results() {
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

// Whatever a kernel calls an image, the agent looks at it and works on.
func FuzzImage(f *testing.F) {
	for _, seed := range []string{"\x89PNG\r\n\x1a\n", "GIF89a", "\xff\xd8\xff", "RIFF....WEBPVP8L", ""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		mime, width, height := builtin.ImageHeader(data)
		require.Equal(t, mime == "", width == 0 && height == 0)
	})
}
