// Package client talks to a running server, over HTTP and WebSockets.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

const (
	// responseTimeout is how long a server may take to answer a request, or to accept
	// a WebSocket.
	responseTimeout = 10 * time.Second

	// maxResponseBytes is how much is read of the body of a response.
	maxResponseBytes = 64 << 20
)

// Client sends requests to one Assay server and reads live traces from it. It is safe
// for concurrent use and needs no Close.
type Client struct {
	base  *url.URL
	token string
	http  *http.Client
}

// New returns a client for the server at address, such as http://localhost:8765. Query
// and fragment of the address are ignored. The client sends token with each request,
// unless it is empty. New sends nothing; it fails if address is not an HTTP or HTTPS
// URL.
func New(address, token string) (*Client, error) {
	base, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("the address of a server: %w", err)
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("%q is not the address of a server: want one such as http://localhost:8765", address)
	}
	base = &url.URL{Scheme: base.Scheme, Host: base.Host, Path: base.Path}
	transport := &http.Transport{DisableKeepAlives: true} // so that no connection stays open between requests
	return &Client{base: base, token: token, http: &http.Client{Transport: transport}}, nil
}

// ResponseError is an error response of the server, or its reason for closing a WebSocket.
type ResponseError struct {
	Status int    // HTTP status; 0: a WebSocket was accepted and then closed
	Code   string // endpoint.Problem.Code; empty: the response was not a problem
	Text   string // for people
}

func (e *ResponseError) Error() string { return e.Text }

// IsServerFault reports whether the HTTP status is 500 or above: the server failed,
// rather than refused a bad request.
func (e *ResponseError) IsServerFault() bool { return e.Status >= http.StatusInternalServerError }

// ErrUnreachable means that there is no server at the address, or that the connection
// was lost.
var ErrUnreachable = errors.New("cannot be reached")

// GetJSON sends a GET request for path, below the server's address, and decodes the
// response into into. It returns a [*ResponseError] if the status is not 200, and an error that
// wraps [ErrUnreachable] if no server listens, the connection is lost, ctx ends, or the whole
// response has not come within 10 s. It also fails if the response cannot be decoded.
func (c *Client) GetJSON(ctx context.Context, path string, into any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, responseTimeout, fmt.Errorf("it did not answer within %v", responseTimeout))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base.JoinPath(path).String(), nil)
	if err != nil {
		return err
	}
	request.Header = c.requestHeader()
	response, err := c.http.Do(request)
	if err != nil {
		return c.unreachableError(ctx, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponseBytes))
	if err != nil {
		return c.unreachableError(ctx, err)
	}
	if response.StatusCode != http.StatusOK {
		return parseErrorResponse(response, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("cannot decode the response of %s: %w", request.URL, err)
	}
	return nil
}

// requestHeader returns the HTTP headers that every request to the server carries: the
// bearer token, if the client has one.
func (c *Client) requestHeader() http.Header {
	header := http.Header{}
	if c.token != "" {
		header.Set("Authorization", "Bearer "+c.token)
	}
	return header
}

// unreachableError wraps err, the failure of a request, in ErrUnreachable and adds the
// reason: nothing listens at the address, the cause of ctx if that has ended, or else
// err itself.
func (c *Client) unreachableError(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		err = errors.New("no server is listening there")
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	return fmt.Errorf("%s %w: %v", c.base, ErrUnreachable, err)
}

// parseErrorResponse converts an HTTP response whose status is not 200 to a ResponseError:
// with code and text if the body is an endpoint.Problem, else with the path and the
// HTTP status.
func parseErrorResponse(response *http.Response, body []byte) error {
	result := &ResponseError{Status: response.StatusCode}
	var problem struct {
		Code string `json:"code"`
		Text string `json:"text"`
	}
	if json.Unmarshal(body, &problem) == nil && problem.Text != "" {
		result.Code, result.Text = problem.Code, problem.Text
		return result
	}
	path := response.Request.URL.EscapedPath()
	result.Text = strings.TrimSpace(fmt.Sprintf("%s: %s", path, response.Status))
	return result
}
