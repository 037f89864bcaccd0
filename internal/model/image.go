package model

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	_ "image/gif"  // registers the format with image.Decode
	_ "image/jpeg" // likewise
	_ "image/png"  // likewise
	"io"

	_ "golang.org/x/image/webp" // likewise
)

// Limits of the Messages API for images.
const (
	MaxImageDataBytes       = 5 << 20 // bytes of base64 per image
	MaxImageSidePixels      = 8000    // pixels of each side
	MaxImagesPerRequest     = 100     // images in one request
	MaxFullSizeImages       = 20      // with more images in one request, MaxManyImagesSidePixels is the limit
	MaxManyImagesSidePixels = 2000    // pixels of each side, in a request with more than MaxFullSizeImages images
)

// maxDecodedImageBytes is how much memory CheckImage uses at most for the pixels of an image.
const maxDecodedImageBytes = 256 << 20

// ParseImageHeader returns media type, width and height in pixels of a PNG, JPEG, GIF
// or WebP image from the beginning of its data. The media type is "" if the data is
// none of these or malformed.
func ParseImageHeader(r io.Reader) (mediaType string, size image.Point) {
	config, format, err := image.DecodeConfig(r)
	if err != nil || config.Width < 1 || config.Height < 1 {
		return "", image.Point{}
	}
	return "image/" + format, image.Pt(config.Width, config.Height)
}

// CheckImage returns an error if an image with a valid header cannot be decoded, of several frames the
// first. An API refuses the whole request for such an image. It also fails for an image that would need
// more than 256 MiB of memory.
func CheckImage(data []byte) error {
	config, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return err
	}
	if int64(config.Width)*int64(config.Height)*decodedBytesPerPixel(format, config.ColorModel) > maxDecodedImageBytes {
		return fmt.Errorf("its pixels take more than %d MiB", maxDecodedImageBytes>>20)
	}
	_, _, err = image.Decode(bytes.NewReader(data))
	return err
}

// decodedBytesPerPixel returns how much memory decoding takes at most per pixel.
func decodedBytesPerPixel(format string, colors color.Model) int64 {
	switch {
	case format == "jpeg":
		return 16 // with the coefficients of a progressive image
	case colors == color.RGBA64Model, colors == color.NRGBA64Model:
		return 8
	default:
		return 4
	}
}
