package builtin

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"assay/internal/model"
)

// readImage returns an image as it can be sent. The error says in a few words why
// it cannot. Of which kind the image is its content says, as it does for the API.
func readImage(text string) (model.Block, error) {
	if len(text) > model.MaxImageDataBytes {
		return model.Block{}, fmt.Errorf("%d bytes, too large to be shown", len(text)/4*3)
	}
	if _, err := io.Copy(io.Discard, decoded(text)); err != nil {
		return model.Block{}, errors.New("not shown: it is not valid base64")
	}
	mime, size := model.ImageHeader(decoded(text))
	switch {
	case mime == "":
		return model.Block{}, errors.New("not shown: it cannot be read as PNG, JPEG, GIF or WebP")
	case max(size.X, size.Y) > model.MaxImageSidePixels:
		return model.Block{}, fmt.Errorf("%d x %d pixels, too large to be shown", size.X, size.Y)
	}
	return model.Image(mime, text), nil
}

// decoded reads base64.
func decoded(text string) io.Reader {
	return base64.NewDecoder(base64.StdEncoding, strings.NewReader(text))
}
