package builtin

import "assay/agent/model"

// What the Messages API takes of images together.
const (
	maxImages     = 100  // in a request
	fewImages     = 20   // in a request: among more each is at most maxSideOfMany
	maxSideOfMany = 2000 // pixels
)

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
	return size.X > maxSideOfMany || size.Y > maxSideOfMany
}

// admit returns an image if there is room for it, otherwise a text that says why
// it is not shown.
func (g *gallery) admit(b model.Block) model.Block {
	switch {
	case g.count >= maxImages:
		return says("[%s, not shown: the conversation has %d images already]", b.Source.MediaType, maxImages)[0]
	case g.count >= fewImages && (g.large || isLarge(b)):
		return says("[%s, not shown: among more than %d images none may have a side of more than %d pixels]",
			b.Source.MediaType, fewImages, maxSideOfMany)[0]
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
