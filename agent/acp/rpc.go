package acp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"assay/internal/protocol"
)

// maxQueuedLines is how many messages may wait until the program reads its standard input. One more
// ends the connection.
const maxQueuedLines = 256

var (
	// errStreamEnded is the error of requests when the program has ended or closed a standard stream.
	errStreamEnded = errors.New("the program has ended")

	// errNotReading is the error of requests when the program does not read its standard input.
	errNotReading = errors.New("the program does not read its standard input")
)

// rpcHandler handles what a program sends of itself. It is called by one goroutine, in order, and must
// not wait for a response of the program.
type rpcHandler interface {
	handleRequest(method string, params json.RawMessage) (result any, failure *jsonrpc.Error)
	handleNotification(method string, params json.RawMessage)
	handleGarbage(line []byte) // a line that is not a JSON-RPC message
}

// rpcResponse is the result of a request. err is a [*jsonrpc.Error] if the program answered with an
// error; any other error has ended the connection.
type rpcResponse struct {
	result json.RawMessage
	err    error
}

// rpcConn is a JSON-RPC 2.0 connection with a message per line. Its owner runs readMessages and
// writeMessages. The other methods are safe for concurrent use and never block.
type rpcConn struct {
	handler  rpcHandler
	outgoing chan []byte   // lines to write; see maxQueuedLines
	ended    chan struct{} // closed when the connection has ended

	mu       sync.Mutex
	requests int                               // sent so far, for their ids
	pending  map[jsonrpc.ID]chan<- rpcResponse // without a response
	endErr   error                             // why the connection has ended; nil while it has not
}

func newRPCConn(handler rpcHandler) *rpcConn {
	return &rpcConn{
		handler: handler, outgoing: make(chan []byte, maxQueuedLines), ended: make(chan struct{}),
		pending: map[jsonrpc.ID]chan<- rpcResponse{},
	}
}

// request sends a request. The channel, which has a buffer, gets its response, or the error that has
// ended the connection.
func (c *rpcConn) request(method string, params any) <-chan rpcResponse {
	response := make(chan rpcResponse, 1)
	raw, err := protocol.Marshal(params)
	if err != nil {
		response <- rpcResponse{err: err}
		return response
	}
	c.mu.Lock()
	c.requests++
	id, err := jsonrpc.MakeID(float64(c.requests))
	if err = errors.Join(err, c.endErr); err == nil {
		c.pending[id] = response
	}
	c.mu.Unlock()
	if err != nil {
		response <- rpcResponse{err: err}
		return response
	}
	c.send(&jsonrpc.Request{ID: id, Method: method, Params: raw})
	return response
}

// notify sends a notification. If the connection has ended, it does nothing.
func (c *rpcConn) notify(method string, params any) {
	if raw, err := protocol.Marshal(params); err == nil { // structs of strings
		c.send(&jsonrpc.Request{Method: method, Params: raw})
	}
}

// send queues a message. It ends the connection if the queue is full or the message cannot be encoded.
func (c *rpcConn) send(message jsonrpc.Message) {
	line, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		c.end(err)
		return
	}
	select {
	case c.outgoing <- append(line, '\n'):
	default:
		c.end(errNotReading)
	}
}

// end ends the connection and fails the requests without a response. Only the first call has an effect.
func (c *rpcConn) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.endErr != nil {
		return
	}
	c.endErr = err
	close(c.ended)
	for _, response := range c.pending {
		response <- rpcResponse{err: err}
	}
	c.pending = nil
}

// hasEnded reports whether the connection has ended.
func (c *rpcConn) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// writeMessages writes the queued messages until the connection has ended or out is closed.
func (c *rpcConn) writeMessages(out io.Writer) {
	for {
		select {
		case line := <-c.outgoing:
			if _, err := out.Write(line); err != nil {
				c.end(errStreamEnded)
				return
			}
		case <-c.ended:
			return
		}
	}
}

// readMessages handles the messages of the program until in ends or has a line of more than
// protocol.DefaultMaxFrameBytes. Then the connection has ended.
func (c *rpcConn) readMessages(in io.Reader) {
	lines := bufio.NewReader(in)
	for {
		line, err := protocol.ReadLine(lines, protocol.DefaultMaxFrameBytes)
		if line = bytes.TrimSpace(line); len(line) > 0 {
			c.handleLine(line)
		}
		if _, isTooLong := errors.AsType[*protocol.LineTooLongError](err); isTooLong {
			c.end(err)
			return
		}
		if err != nil {
			c.end(errStreamEnded)
			return
		}
	}
}

// handleLine handles one message of the program.
func (c *rpcConn) handleLine(line []byte) {
	message, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		c.handler.handleGarbage(line)
		return
	}
	switch m := message.(type) {
	case *jsonrpc.Response:
		c.deliver(m)
	case *jsonrpc.Request:
		if !m.IsCall() {
			c.handler.handleNotification(m.Method, m.Params)
			return
		}
		c.answer(m)
	}
}

// answer answers a request of the program.
func (c *rpcConn) answer(request *jsonrpc.Request) {
	response := &jsonrpc.Response{ID: request.ID}
	result, failure := c.handler.handleRequest(request.Method, request.Params)
	if failure != nil {
		response.Error = failure
	} else {
		response.Result, _ = protocol.Marshal(result) // structs of strings
	}
	c.send(response)
}

// deliver passes a response to the sender of its request. A response to no request is ignored.
func (c *rpcConn) deliver(m *jsonrpc.Response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if response, ok := c.pending[m.ID]; ok {
		delete(c.pending, m.ID)
		response <- rpcResponse{result: m.Result, err: m.Error}
	}
}
