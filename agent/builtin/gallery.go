package builtin

import "assay/internal/model"

// gallery is the images of a transcript.
type gallery struct {
	count int
	large bool // one of them may not be among many
}

// gallery counts the images that there are.
func (c *conversation) gallery() *gallery {
	g := &gallery{}
	for _, m := range c.messages {
		for _, result := range m.Content {
			for _, b := range result.Content {
				g.add(b)
			}
		}
	}
	return g
}

func (g *gallery) add(b model.Block) {
	if b.Type == model.BlockImage {
		g.count++
		g.large = g.large || isLarge(b)
	}
}

func isLarge(b model.Block) bool {
	_, size := model.ImageHeader(decoded(b.Source.Data))
	return max(size.X, size.Y) > model.MaxManyImagesSidePixels
}

// admit returns an image if there is room for it, otherwise a text that says why
// it is not shown.
func (g *gallery) admit(b model.Block) model.Block {
	switch {
	case g.count >= model.MaxImagesPerRequest:
		return says("[%s, not shown: the conversation has %d images already]", b.Source.MediaType, model.MaxImagesPerRequest)[0]
	case g.count >= model.MaxFullSizeImages && (g.large || isLarge(b)):
		return says("[%s, not shown: among more than %d images none may have a side of more than %d pixels]",
			b.Source.MediaType, model.MaxFullSizeImages, model.MaxManyImagesSidePixels)[0]
	}
	g.add(b)
	return b
}

// fitImages puts a text, in results of tools that nobody else has, in the place
// of each image that the conversation has no room for.
func (c *conversation) fitImages(results []model.Block) {
	var g *gallery
	for _, result := range results {
		for j, b := range result.Content {
			if b.Type != model.BlockImage {
				continue
			}
			if g == nil {
				g = c.gallery()
			}
			result.Content[j] = g.admit(b)
		}
	}
}
