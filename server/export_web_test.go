package server

import (
	"io/fs"
	"net/http"
)

// PageHandler is the page of a build by itself.
func PageHandler(files fs.FS) (http.Handler, error) {
	page, err := newPage(files)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	page.register(mux)
	return mux, nil
}
