package server_test

import (
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"assay/server"
	"assay/web"
)

// builtPageFiles returns files like those of a build of the web page.
func builtPageFiles() fs.FS {
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"index.html": `<meta name="csp-nonce" content="` + web.NoncePlaceholder + `"><style nonce="` + web.NoncePlaceholder + `"></style>`,
		"icon.svg":   "<svg/>", "assets/index-1.js": "run()", "assets/index-1.css": "a{}", "frame/html.html": "<script>1</script>",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// requestPage sends a request to the page, with this path as it is.
func requestPage(t *testing.T, method, path string) *http.Response {
	t.Helper()
	page, err := server.NewPageHandler(builtPageFiles())
	require.NoError(t, err)
	request := httptest.NewRequestWithContext(t.Context(), method, "/", nil)
	request.URL.Path = path
	response := httptest.NewRecorder()
	page.ServeHTTP(response, request)
	return response.Result()
}

func readBody(t *testing.T, response *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(text)
}

// Each response with index.html has a new nonce, in its text and in its policy.
func TestPageNonce(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, path := range []string{"/", "/", "/runs", "/runs/x/y", "/compare", "/live/default"} {
		answer := requestPage(t, http.MethodGet, path)
		require.Equal(t, http.StatusOK, answer.StatusCode, path)
		require.Equal(t, "text/html; charset=utf-8", answer.Header.Get("Content-Type"))
		require.Equal(t, "no-store", answer.Header.Get("Cache-Control"))
		found := regexp.MustCompile(`'nonce-([A-Z0-9]{20,})'`).FindStringSubmatch(answer.Header.Get("Content-Security-Policy"))
		require.NotNil(t, found, answer.Header.Get("Content-Security-Policy"))
		require.False(t, seen[found[1]], "the nonce is new")
		seen[found[1]] = true
		require.Equal(t, `<meta name="csp-nonce" content="`+found[1]+`"><style nonce="`+found[1]+`"></style>`, readBody(t, answer))
	}
}

// Every response to a browser has a policy. Only frames may run other scripts than the
// page's own; they have an opaque origin and may connect to nothing.
func TestPagePolicies(t *testing.T) {
	t.Parallel()
	for path, frame := range map[string]bool{
		"/": false, "/icon.svg": false, "/assets/index-1.js": false, "/assets/none.js": false, "/frame/html.html": true, "/frame/none.html": true,
	} {
		header := requestPage(t, http.MethodGet, path).Header
		policy := header.Get("Content-Security-Policy")
		directives := map[string]string{}
		for directive := range strings.SplitSeq(policy, "; ") {
			name, value, _ := strings.Cut(directive, " ")
			directives[name] = value
		}
		require.Equal(t, "'none'", directives["default-src"], path)
		require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"), path)
		require.Equal(t, "no-referrer", header.Get("Referrer-Policy"), path)
		require.Equal(t, "same-origin", header.Get("Cross-Origin-Opener-Policy"), path)
		if frame {
			require.Equal(t, "allow-scripts", directives["sandbox"], path)
			require.Equal(t, "'none'", directives["connect-src"], path)
			require.Equal(t, "'self'", directives["frame-ancestors"], path)
			continue
		}
		require.Equal(t, "'script'", directives["require-trusted-types-for"], path)
		require.Equal(t, "dompurify assay-inert assay-worker", directives["trusted-types"], path)
		require.NotContains(t, policy, "unsafe", path)
		require.NotContains(t, policy, "NONCE", path)
		require.Equal(t, "'self'", directives["script-src"], path)
		require.Equal(t, "'none'", directives["frame-ancestors"], path)
	}
}

// Files whose name contains a digest may be cached for ever; no other file may. A path that
// is not a file of the build is not found.
func TestPageFiles(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]struct {
		status      int
		cache, kind string
	}{
		"/assets/index-1.js":           {200, "public, max-age=31536000, immutable", "text/javascript; charset=utf-8"},
		"/assets/index-1.css":          {200, "public, max-age=31536000, immutable", "text/css; charset=utf-8"},
		"/icon.svg":                    {200, "", "image/svg+xml"},
		"/frame/html.html":             {200, "no-cache", "text/html; charset=utf-8"},
		"/assets/":                     {404, "", "text/plain; charset=utf-8"},
		"/assets/none.js":              {404, "", "text/plain; charset=utf-8"},
		"/frame/":                      {404, "", "text/plain; charset=utf-8"},
		"/assets/\x00":                 {404, "", "text/plain; charset=utf-8"},
		"/assets/..\\..\\index.html":   {404, "", "text/plain; charset=utf-8"},
		"/assets/index-1.js/index.css": {404, "", "text/plain; charset=utf-8"},
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			answer := requestPage(t, method, path)
			require.Equal(t, want.status, answer.StatusCode, path)
			require.Equal(t, want.cache, answer.Header.Get("Cache-Control"), path)
			require.Equal(t, want.kind, answer.Header.Get("Content-Type"), path)
		}
	}
	require.Equal(t, http.StatusMethodNotAllowed, requestPage(t, http.MethodPost, "/").StatusCode)
}

// No path leads to a file outside of the build.
func TestPageTraversal(t *testing.T) {
	t.Parallel()
	h := newServerHarness(t, server.Config{})
	for _, path := range []string{"/assets/../../go.mod", "/assets/%2e%2e/%2e%2e/go.mod", "/frame/..%2f..%2f..%2fetc/passwd", "/assets/%2fetc%2fpasswd"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.Replace(h.URL, "ws", "http", 1)+path, nil)
		require.NoError(t, err)
		answer, err := http.DefaultTransport.RoundTrip(request) // RoundTrip follows no redirect
		require.NoError(t, err)
		text := readBody(t, answer)
		require.NoError(t, answer.Body.Close())
		require.NotEqual(t, http.StatusOK, answer.StatusCode, path)
		require.NotContains(t, text, "module assay", path)
		require.NotContains(t, text, "root:", path)
	}
	http.DefaultClient.CloseIdleConnections()
}

// The server serves the committed build, and answers paths that it does not know with 404.
func TestPageOfTheServer(t *testing.T) {
	t.Parallel()
	h := newServerHarness(t, server.Config{Token: "secret"})
	for path, want := range map[string]int{
		"/": http.StatusOK, "/runs/x/y": http.StatusOK, "/icon.svg": http.StatusOK, "/index.html": http.StatusNotFound,
		"/nothing": http.StatusNotFound, "/runsx": http.StatusNotFound, "/nothing/runs/": http.StatusNotFound,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.Replace(h.URL, "ws", "http", 1)+path, nil)
		require.NoError(t, err)
		if want == http.StatusNotFound {
			request.Header.Set("Authorization", "Bearer secret")
		}
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		text := readBody(t, answer)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, want, answer.StatusCode, path)
		require.NotContains(t, text, web.NoncePlaceholder, path)
		if want == http.StatusNotFound {
			require.NotContains(t, text, "<html", path)
		}
		head, err := http.DefaultClient.Head(request.URL.String() + "?token=secret")
		require.NoError(t, err)
		require.NoError(t, head.Body.Close())
		require.Equal(t, want, head.StatusCode, path)
	}
	http.DefaultClient.CloseIdleConnections()
}

// A build without index.html, or without a placeholder for the nonce in it, is an error: the
// policy would block its styles.
func TestPageWithoutNoncePlaceholder(t *testing.T) {
	t.Parallel()
	for _, files := range []fs.FS{fstest.MapFS{}, fstest.MapFS{"index.html": {Data: []byte("<html>")}}} {
		_, err := server.NewPageHandler(files)
		require.Error(t, err)
	}
}
