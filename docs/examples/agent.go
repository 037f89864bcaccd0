//go:build ignore

// An agent in Go, with the standard library: go build -o agent agent.go, then
// assay run CASES --agent ./agent
//
// It runs one cell and submits what the cell printed. A real agent would call a
// model to decide what to do; the messages would be the same.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
	"strconv"
	"strings"
)

// object is a JSON object.
type object = map[string]any

// serverConn is our end of the socket. Its number is the last argument.
type serverConn struct {
	in  *bufio.Reader
	out *os.File
}

// send writes one frame: the body's length, eight bytes little-endian, and the body.
func (c serverConn) send(message object) {
	body, err := json.Marshal(message)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.out.Write(append(binary.LittleEndian.AppendUint64(nil, uint64(len(body))), body...)); err != nil {
		log.Fatal(err)
	}
}

// message has the fields of frames from the server that this agent uses.
type message struct {
	Type, Status, Error string
	Message             struct{ Type, Logs string } // of a kernel_message
}

// receive reads one frame. It exits when the server closes the socket.
func (c serverConn) receive() (m message) {
	var length int64
	err := binary.Read(c.in, binary.LittleEndian, &length)
	if errors.Is(err, io.EOF) {
		os.Exit(0)
	}
	if err == nil {
		body := make([]byte, length)
		if _, err = io.ReadFull(c.in, body); err == nil {
			err = json.Unmarshal(body, &m)
		}
	}
	if err != nil {
		log.Fatal(err)
	}
	return m
}

// answerQuery creates a cell, runs it, and submits what it printed.
func (c serverConn) answerQuery() {
	source := "import json, os\nprint(json.dumps(sorted(os.listdir('data')) if os.path.isdir('data') else []))"
	params := object{"position": 0, "cell_type": "code", "source": source, "auto_run": true}
	c.send(object{"type": "agent_action", "action": "create_cell", "params": params, "tx_id": "tx_1"})
	for {
		m := c.receive()
		if m.Type == "agent_action_response" && m.Status != "success" {
			c.send(object{"type": "agent_error", "error": m.Error, "fatal": true})
			return
		}
		if m.Message.Type == "cell_result" {
			c.submit(strings.TrimSpace(m.Message.Logs))
			return
		}
	}
}

// submit sends a call of submit_response and ends the turn.
func (c serverConn) submit(answer string) {
	input := object{"summary": "<EVAL_ANSWER>" + answer + "</EVAL_ANSWER> [EVAL_COMPLETE]", "next_status": "done"}
	call := object{"type": "tool_use", "id": "t1", "name": "submit_response", "input": input}
	entry := object{"type": "anthropic_message", "role": "assistant", "content": []any{call}}
	c.send(object{"type": "agent_history_updated", "entry": entry})
	c.send(object{"type": "agent_status", "status": "done"})
}

func main() {
	fd, err := strconv.Atoi(os.Args[len(os.Args)-1])
	if err != nil {
		log.Fatal("the last argument must be the number of a socket: start this with assay run --agent")
	}
	socket := os.NewFile(uintptr(fd), "server")
	c := serverConn{bufio.NewReader(socket), socket}
	c.send(object{"type": "ready"})
	for {
		switch c.receive().Type {
		case "init":
			c.send(object{"type": "agent_status", "status": "ready"})
		case "agent_query":
			c.answerQuery()
		}
	}
}
