package builtin

import (
	"encoding/base64"
	"fmt"
	"strings"

	"assay/internal/model"
)

// imageCounter counts the images in a transcript, because an API accepts only a limited number
// per request.
type imageCounter struct {
	count    int
	hasLarge bool // one is larger than is allowed among many images
}

// countImages counts the images in the tool results of the transcript.
func (c *Conversation) countImages() *imageCounter {
	images := &imageCounter{}
	for _, m := range c.messages {
		for _, result := range m.Content {
			for _, b := range result.Content {
				images.countIfImage(b)
			}
		}
	}
	return images
}

func (n *imageCounter) countIfImage(b model.Block) {
	if b.Type == model.BlockImage {
		n.count++
		n.hasLarge = n.hasLarge || isLargeImage(b)
	}
}

// isLargeImage reports whether a side of an image is longer than
// model.MaxManyImagesSidePixels, the limit for requests with more than
// model.MaxFullSizeImages images.
func isLargeImage(b model.Block) bool {
	_, size := model.ParseImageHeader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(b.Source.Data)))
	return max(size.X, size.Y) > model.MaxManyImagesSidePixels
}

// admitImage counts an image and returns it if a request has room for it beside the images
// counted before; otherwise it returns a text block that says why the image is not shown.
func (n *imageCounter) admitImage(b model.Block) model.Block {
	switch {
	case n.count >= model.MaxImagesPerRequest:
		return model.Text(fmt.Sprintf("[%s, not shown: the conversation has %d images already]", b.Source.MediaType, model.MaxImagesPerRequest))
	case n.count >= model.MaxFullSizeImages && (n.hasLarge || isLargeImage(b)):
		return model.Text(fmt.Sprintf("[%s, not shown: among more than %d images none may have a side of more than %d pixels]",
			b.Source.MediaType, model.MaxFullSizeImages, model.MaxManyImagesSidePixels))
	}
	n.countIfImage(b)
	return b
}

// limitImages replaces, in results itself, each image for which the conversation has no more
// room by a text that says so.
func (c *Conversation) limitImages(results []model.Block) {
	var images *imageCounter
	for _, result := range results {
		for j, b := range result.Content {
			if b.Type != model.BlockImage {
				continue
			}
			if images == nil {
				images = c.countImages()
			}
			result.Content[j] = images.admitImage(b)
		}
	}
}
