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

// The policies of what a browser is sent. The page itself runs no script but
// its own and asks nobody but this server; text becomes HTML, or the address of a
// script, by those alone of its parts that trusted-types names. A frame is where outputs may run
// theirs: it has an origin of its own, shared with nothing, and reaches nothing,
// this server included; the page hands it all that it shows. frameReach says that
// once more where browsers know it, and of what no policy covers: WebRTC, names
// looked up and connections made ahead of requests.
const (
	pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-NONCE'; img-src 'self' data: blob:; media-src data: blob:; " +
		"font-src 'self'; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
		"require-trusted-types-for 'script'; trusted-types dompurify assay-inert assay-worker"
	framePolicy = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; " +
		"img-src data: blob:; media-src data: blob:; font-src data:; connect-src 'none'; base-uri 'none'; form-action 'none'; " +
		"frame-ancestors 'self'"
	frameReach = "()"
)

// page serves the console and the viewer to browsers. Its files are no secret:
// what they show is asked for with a token.
type page struct {
	files fs.FS
	index []byte
}

// newPage returns the page that is built in files, index.html at the top.
func newPage(files fs.FS) (*page, error) {
	index, err := fs.ReadFile(files, "index.html")
	if err == nil && !bytes.Contains(index, []byte(web.NoncePlaceholder)) {
		err = errors.New("index.html has no place for its nonce")
	}
	return &page{files: files, index: index}, err
}

// register routes the page's paths; which page one of them is, it finds out itself.
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
	header := pageHeader(w, strings.Replace(pagePolicy, "NONCE", nonce, 1))
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	_, _ = w.Write(bytes.ReplaceAll(p.index, []byte(web.NoncePlaceholder), []byte(nonce)))
}

// serveAsset serves a file whose name has a digest of what is in it, or the icon.
func (p *page) serveAsset(w http.ResponseWriter, r *http.Request) {
	header := pageHeader(w, strings.Replace(pagePolicy, " 'nonce-NONCE'", "", 1))
	if strings.HasPrefix(r.URL.Path, "/assets/") {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	p.serveFile(w, r)
}

func (p *page) serveFrame(w http.ResponseWriter, r *http.Request) {
	header := pageHeader(w, framePolicy)
	header.Set("Connection-Allowlist", frameReach)
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
	http.ServeFileFS(w, r, p.files, name) //nolint:gosec // files are those of the build, and have nothing above them
}

// pageHeader sets what every answer to a browser has.
func pageHeader(w http.ResponseWriter, policy string) http.Header {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-DNS-Prefetch-Control", "off") // of links in outputs
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	return header
}
