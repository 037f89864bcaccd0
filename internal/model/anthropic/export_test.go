package anthropic

import (
	"net/http"

	"assay/internal/model/endpoint"
)

// NewWithTransport is New with another transport.
func NewWithTransport(transport http.RoundTripper, cfg endpoint.Config) (*Client, error) {
	cfg.APIKey = "key"
	return newClient("claude-test", cfg, transport)
}
