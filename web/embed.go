// Package web embeds the page, console and viewer, that the server serves: dist, the
// committed output of its build. Building the program needs neither Node nor the
// sources of the page in this folder.
package web

import (
	"embed"
	"io/fs"
)

//go:embed dist
var dist embed.FS

// NoncePlaceholder stands in index.html for the nonce of the response's
// Content-Security-Policy.
const NoncePlaceholder = "__CSP_NONCE__"

// Dist returns the files of the page, with index.html at the top. The server must
// replace each [NoncePlaceholder] in index.html.
func Dist() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil { // cannot happen: the path is a valid constant
		panic(err)
	}
	return files
}
