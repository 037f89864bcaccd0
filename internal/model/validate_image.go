package model

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"slices"
)

// checkImage looks at an image by itself.
func checkImage(s Source) error {
	kinds := []string{"image/jpeg", "image/png", "image/gif", "image/webp"}
	switch {
	case s.Type == "url" || s.Type == "file":
		return nil // nothing to look at
	case s.Type != "base64":
		return fmt.Errorf("image.source.type: %q is not base64, url or file", s.Type)
	case !slices.Contains(kinds, s.MediaType):
		return fmt.Errorf("image.source.media_type: %q is not supported", s.MediaType)
	case s.Data == "":
		return errors.New("image.source.data: must not be empty")
	case len(s.Data) > MaxImageData:
		return fmt.Errorf("image.source.data: more than %d bytes", MaxImageData)
	}
	kind, size, err := s.header()
	switch {
	case err != nil:
		return fmt.Errorf("image.source.data: %w", err)
	case kind == "":
		return errors.New("image.source.data: the image cannot be read")
	case kind != s.MediaType:
		return fmt.Errorf("image.source.media_type: the image is %s, not %s", kind, s.MediaType)
	case max(size.X, size.Y) > MaxImageSide:
		return fmt.Errorf("image.source.data: a side has more than %d pixels", MaxImageSide)
	}
	return nil
}

// header is what the data of an image says of it.
func (s Source) header() (kind string, size image.Point, err error) {
	data, err := base64.StdEncoding.DecodeString(s.Data)
	if err != nil {
		return "", size, fmt.Errorf("no valid base64: %w", err)
	}
	kind, size = ImageHeader(bytes.NewReader(data))
	return kind, size, nil
}

// checkImages looks at all images together.
func (in *incoming) checkImages() error {
	count, largeAt := 0, ""
	look := func(place string, content []Block) {
		for i, b := range content {
			if b.Type != BlockImage {
				continue
			}
			count++
			if _, size, err := b.Source.header(); err == nil && max(size.X, size.Y) > MaxSideOfMany && largeAt == "" {
				largeAt = fmt.Sprintf("%s.%d", place, i)
			}
		}
	}
	for i, m := range in.Messages {
		place := fmt.Sprintf("messages.%d.content", i)
		look(place, m.Content)
		for j, b := range m.Content {
			look(fmt.Sprintf("%s.%d.tool_result.content", place, j), b.Content)
		}
	}
	if count > MaxImages {
		return fmt.Errorf("messages: more than %d images", MaxImages)
	}
	if count > FewImages && largeAt != "" {
		return fmt.Errorf("%s: a side has more than %d pixels, in a request with more than %d images", largeAt, MaxSideOfMany, FewImages)
	}
	return nil
}
