package model

import (
	"bufio"
	"encoding/binary"
	"image"
	_ "image/gif"  // registers the format with image.DecodeConfig
	_ "image/jpeg" // likewise
	_ "image/png"  // likewise
	"io"
)

// Limits of the Messages API for images.
const (
	MaxImageDataBytes       = 5 << 20 // bytes of base64 per image
	MaxImageSidePixels      = 8000    // pixels of each side
	MaxImagesPerRequest     = 100     // images in one request
	MaxFullSizeImages       = 20      // with more images in one request, MaxManyImagesSidePixels is the limit
	MaxManyImagesSidePixels = 2000    // pixels of each side, in a request with more than MaxFullSizeImages images
)

// ParseImageHeader returns media type, width and height in pixels of a PNG, JPEG, GIF
// or WebP image from the beginning of its data. The media type is "" if the data is
// none of these or malformed.
func ParseImageHeader(r io.Reader) (mediaType string, size image.Point) {
	const enough = 30 // bytes that parseWebPSize needs
	buffered := bufio.NewReader(r)
	if start, err := buffered.Peek(enough); err == nil {
		if size, ok := parseWebPSize(start); ok {
			return "image/webp", size
		}
	}
	config, format, err := image.DecodeConfig(buffered)
	if err != nil || config.Width < 1 || config.Height < 1 {
		return "", image.Point{}
	}
	return "image/" + format, image.Pt(config.Width, config.Height)
}

// parseWebPSize returns width and height in pixels from the first 30 bytes of a WebP
// file: lossy, lossless or extended. It reports false for other data.
func parseWebPSize(start []byte) (size image.Point, ok bool) {
	if string(start[:4]) != "RIFF" || string(start[8:12]) != "WEBP" {
		return image.Point{}, false
	}
	const mask = 1<<14 - 1 // lossy and lossless files have 14 bits for each side
	low := binary.LittleEndian
	switch string(start[12:16]) {
	case "VP8 ":
		return image.Pt(int(low.Uint16(start[26:])&mask), int(low.Uint16(start[28:])&mask)), true
	case "VP8L":
		bits := low.Uint32(start[21:])
		return image.Pt(int(bits&mask)+1, int(bits>>14&mask)+1), true
	case "VP8X":
		return image.Pt(littleEndianUint24(start[24:])+1, littleEndianUint24(start[27:])+1), true
	}
	return image.Point{}, false
}

func littleEndianUint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
