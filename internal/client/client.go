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
	// answerWithin is how long a server may take to answer, or to accept a
	// connection.
	answerWithin = 10 * time.Second

	// largestAnswer bounds what is read of an answer, in bytes.
	largestAnswer = 64 << 20
)

// Client talks to one server. It is safe for concurrent use and holds nothing
// that would have to be closed.
type Client struct {
	base  *url.URL
	token string
	http  *http.Client
}

// New returns a client of the server at address, such as http://localhost:8765;
// what the address has beside scheme, host and path is not used. token is what
// the server wants to be told; empty: it is told none. Nothing is sent yet.
func New(address, token string) (*Client, error) {
	base, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("the address of a server: %w", err)
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("%q is not the address of a server: want one such as http://localhost:8765", address)
	}
	base = &url.URL{Scheme: base.Scheme, Host: base.Host, Path: base.Path}
	plain := &http.Transport{DisableKeepAlives: true} // nothing stays open between requests
	return &Client{base: base, token: token, http: &http.Client{Transport: plain}}, nil
}

// Error is a server's refusal.
type Error struct {
	Status int    // of HTTP; 0: a connection was made, and closed
	Code   string // for programs; empty: the server gave none
	Text   string
}

func (e *Error) Error() string { return e.Text }

// Broken tells whether it is the server that is at fault, not what was asked.
func (e *Error) Broken() bool { return e.Status >= http.StatusInternalServerError }

// ErrUnreachable says that there was no server to talk to, or no longer.
var ErrUnreachable = errors.New("cannot be reached")

// GetJSON reads what is at path, below the server's address, into into. A
// refusal is an [*Error]; that nobody answers wraps [ErrUnreachable].
func (c *Client) GetJSON(ctx context.Context, path string, into any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerWithin, fmt.Errorf("it did not answer within %v", answerWithin))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base.JoinPath(path).String(), nil)
	if err != nil {
		return err
	}
	request.Header = c.header()
	response, err := c.http.Do(request)
	if err != nil {
		return c.unreachable(ctx, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, largestAnswer))
	if err != nil {
		return c.unreachable(ctx, err)
	}
	if response.StatusCode != http.StatusOK {
		return problem(response, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s answered with what cannot be read: %w", request.URL, err)
	}
	return nil
}

func (c *Client) header() http.Header {
	header := http.Header{}
	if c.token != "" {
		header.Set("Authorization", "Bearer "+c.token)
	}
	return header
}

// unreachable is why a server could not be talked to.
func (c *Client) unreachable(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		err = errors.New("nobody listens there")
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	return fmt.Errorf("%s %w: %v", c.base, ErrUnreachable, err)
}

// problem is the refusal in an answer: JSON with a code and a text, or what HTTP
// says.
func problem(response *http.Response, body []byte) error {
	refusal := &Error{Status: response.StatusCode}
	var said struct {
		Code string `json:"code"`
		Text string `json:"text"`
	}
	if json.Unmarshal(body, &said) == nil && said.Text != "" {
		refusal.Code, refusal.Text = said.Code, said.Text
		return refusal
	}
	path := response.Request.URL.EscapedPath()
	refusal.Text = strings.TrimSpace(fmt.Sprintf("%s: %s", path, response.Status))
	return refusal
}
