package server

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"assay/web"
)

const (
	// pagePolicy is the Content-Security-Policy of the page. It runs only its own
	// scripts, and connects only to this server. Only the parts of it that
	// trusted-types names may turn text into HTML or into the address of a script.
	pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-NONCE'; img-src 'self' data: blob:; media-src data: blob:; " +
		"font-src 'self'; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
		"require-trusted-types-for 'script'; trusted-types dompurify assay-inert assay-worker"

	// framePolicy is the Content-Security-Policy of the frames in which outputs may
	// run scripts. A frame has an opaque origin and can connect to nothing, not even
	// this server; the page sends it what it shows.
	framePolicy = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; " +
		"img-src data: blob:; media-src data: blob:; font-src data:; connect-src 'none'; base-uri 'none'; form-action 'none'; " +
		"frame-ancestors 'self'"

	// frameConnections is the Connection-Allowlist of frames: no host at all. Where
	// browsers support it, it also covers what no Content-Security-Policy does:
	// WebRTC, DNS lookups and connections opened in advance.
	frameConnections = "()"
)

// page serves the page, the console and viewer, to browsers. Its files need no token:
// only the data that they show do.
type page struct {
	files fs.FS
	index []byte // index.html, with web.NoncePlaceholder
}

// newPage returns the page in files, the output of its build. It fails if there is no
// index.html, or no nonce placeholder in it.
func newPage(files fs.FS) (*page, error) {
	index, err := fs.ReadFile(files, "index.html")
	if err == nil && !bytes.Contains(index, []byte(web.NoncePlaceholder)) {
		err = errors.New("index.html has no placeholder for its nonce")
	}
	return &page{files: files, index: index}, err
}

// register routes the page's paths. All views of the page are index.html, which
// chooses the view by its address.
func (p *page) register(mux *http.ServeMux) {
	for _, pattern := range []string{"/{$}", "/runs", "/runs/", "/compare", "/live/"} {
		mux.HandleFunc("GET "+pattern, p.serveIndex)
	}
	mux.HandleFunc("GET /assets/", p.serveAsset)
	mux.HandleFunc("GET /icon.svg", p.serveAsset)
	mux.HandleFunc("GET /frame/", p.serveFrame)
}

func (p *page) serveIndex(w http.ResponseWriter, _ *http.Request) {
	nonce := rand.Text()
	header := setPageHeaders(w, strings.Replace(pagePolicy, "NONCE", nonce, 1))
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	_, _ = w.Write(bytes.ReplaceAll(p.index, []byte(web.NoncePlaceholder), []byte(nonce)))
}

// serveAsset serves the icon, or a file in assets. Browsers may cache the latter for
// ever, because its name contains a digest of its content.
func (p *page) serveAsset(w http.ResponseWriter, r *http.Request) {
	header := setPageHeaders(w, strings.Replace(pagePolicy, " 'nonce-NONCE'", "", 1))
	if strings.HasPrefix(r.URL.Path, "/assets/") {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	p.serveFile(w, r)
}

func (p *page) serveFrame(w http.ResponseWriter, r *http.Request) {
	header := setPageHeaders(w, framePolicy)
	header.Set("Connection-Allowlist", frameConnections)
	header.Set("Cache-Control", "no-cache")
	p.serveFile(w, r)
}

func (p *page) serveFile(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	if info, err := fs.Stat(p.files, name); err != nil || info.IsDir() {
		w.Header().Del("Cache-Control")
		http.NotFound(w, r)
		return
	}
	http.ServeFileFS(w, r, p.files, name) //nolint:gosec // the files are those of the build, and an fs.FS has nothing outside
}

// setPageHeaders sets the headers that every response to a browser has, and returns
// the headers.
func setPageHeaders(w http.ResponseWriter, policy string) http.Header {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-DNS-Prefetch-Control", "off") // of links in outputs
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	return header
}
