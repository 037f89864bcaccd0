package render

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"assay/internal/model"
)

// newImageBlock returns an image (data is base64) as a content block for the model. The MIME
// type is taken from the image itself, because the API checks it. The error says in a few
// words why the image cannot be sent: too large, no valid base64, an unknown format, or broken.
func newImageBlock(data string) (model.Block, error) {
	if len(data) > model.MaxImageDataBytes {
		return model.Block{}, fmt.Errorf("%d bytes, too large to be shown", len(data)/4*3)
	}
	decoded, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)))
	if err != nil {
		return model.Block{}, errors.New("not shown: it is not valid base64")
	}
	mime, size := model.ParseImageHeader(bytes.NewReader(decoded))
	switch {
	case mime == "":
		return model.Block{}, errors.New("not shown: it cannot be read as PNG, JPEG, GIF or WebP")
	case max(size.X, size.Y) > model.MaxImageSidePixels:
		return model.Block{}, fmt.Errorf("%d x %d pixels, too large to be shown", size.X, size.Y)
	}
	if err := model.CheckImage(decoded); err != nil {
		return model.Block{}, fmt.Errorf("not shown: it is broken or too large: %w", err)
	}
	return model.Image(mime, data), nil
}
