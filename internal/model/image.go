package model

import (
	"bufio"
	"encoding/binary"
	"image"
	_ "image/gif"  // so that image.DecodeConfig knows it
	_ "image/jpeg" // likewise
	_ "image/png"  // likewise
	"io"
)

// What the Messages API takes of images.
const (
	MaxImageDataBytes       = 5 << 20 // bytes of base64, each
	MaxImageSidePixels      = 8000    // pixels
	MaxImagesPerRequest     = 100     // in a request
	MaxFullSizeImages       = 20      // in a request: among more each side is at most MaxManyImagesSidePixels
	MaxManyImagesSidePixels = 2000    // pixels
)

// ImageHeader reads the beginning of a PNG, JPEG, GIF or WebP: its media type and
// its size in pixels. The type is "" when it cannot be read.
func ImageHeader(r io.Reader) (mediaType string, size image.Point) {
	const enough = 30 // bytes for WebP
	buffered := bufio.NewReader(r)
	if start, err := buffered.Peek(enough); err == nil {
		if size, ok := sizeOfWebP(start); ok {
			return "image/webp", size
		}
	}
	config, format, err := image.DecodeConfig(buffered)
	if err != nil || config.Width < 1 || config.Height < 1 {
		return "", image.Point{}
	}
	return "image/" + format, image.Pt(config.Width, config.Height)
}

// sizeOfWebP reads the first 30 bytes of a WebP: lossy, lossless or extended.
func sizeOfWebP(start []byte) (size image.Point, ok bool) {
	if string(start[:4]) != "RIFF" || string(start[8:12]) != "WEBP" {
		return image.Point{}, false
	}
	const mask = 1<<14 - 1 // both sides have 14 bits, where they are not three bytes
	low := binary.LittleEndian
	switch string(start[12:16]) {
	case "VP8 ":
		return image.Pt(int(low.Uint16(start[26:])&mask), int(low.Uint16(start[28:])&mask)), true
	case "VP8L":
		bits := low.Uint32(start[21:])
		return image.Pt(int(bits&mask)+1, int(bits>>14&mask)+1), true
	case "VP8X":
		return image.Pt(threeBytes(start[24:])+1, threeBytes(start[27:])+1), true
	}
	return image.Point{}, false
}

func threeBytes(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
