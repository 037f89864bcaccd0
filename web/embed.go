// Package web is the page that the server serves: the console and the viewer of
// runs. What is here for Go is dist, the committed build; the sources beside it
// need Node and are not needed to build the program.
package web

import (
	"embed"
	"io/fs"
)

//go:embed dist
var dist embed.FS

// Dist returns the files of the page, index.html at the top. In index.html each
// occurrence of [NoncePlaceholder] is to be replaced by the nonce of the
// response's Content-Security-Policy.
func Dist() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil { // the name is a constant, and valid
		panic(err)
	}
	return files
}

// NoncePlaceholder stands in index.html for the nonce of a response.
const NoncePlaceholder = "__CSP_NONCE__"
