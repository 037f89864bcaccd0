package anthropic

import (
	"net/http"

	"assay/internal/model/endpoint"
)

// NewWithTransport is New with a given HTTP transport in place of the default one.
func NewWithTransport(transport http.RoundTripper, cfg endpoint.Config) (*Client, error) {
	cfg.APIKey = "key"
	return newClient("claude-test", cfg, transport)
}
