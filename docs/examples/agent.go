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

// serverConn is our end of the socket, whose number is the last argument, and the messages that were read and are not used
// yet.
type serverConn struct {
	in          *bufio.Reader
	out         *os.File
	queryCount  int                // queries that are not answered yet
	answers     map[string]message // by tx_id
	results     map[string]message // of runs, by cell_id
	actionCount int
}

// send writes one frame: the body's length, eight bytes little-endian, and the body.
func (c *serverConn) send(message object) {
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
	Type    string   `json:"type"`
	TxID    string   `json:"tx_id"`
	CellID  string   `json:"cell_id"`
	Status  string   `json:"status"`
	Error   string   `json:"error"`
	Logs    string   `json:"logs"`
	Message *message `json:"message"` // of a kernel_message
}

// receive reads one frame and keeps what is used later. It exits when the server closes the socket.
func (c *serverConn) receive() {
	var length int64
	err := binary.Read(c.in, binary.LittleEndian, &length)
	if errors.Is(err, io.EOF) {
		os.Exit(0)
	}
	var m message
	if err == nil {
		body := make([]byte, length)
		if _, err = io.ReadFull(c.in, body); err == nil {
			err = json.Unmarshal(body, &m)
		}
	}
	switch {
	case err != nil:
		log.Fatal(err)
	case m.Type == "init":
		c.send(object{"type": "agent_status", "status": "ready"})
	case m.Type == "agent_query":
		c.queryCount++
	case m.Type == "agent_action_response":
		c.answers[m.TxID] = m
	case m.Type == "kernel_message" && m.Message.Type == "cell_result":
		c.results[m.Message.CellID] = *m.Message
	}
}

// take waits for the message with this key. Others may come before it: of other queries, actions and cells.
func (c *serverConn) take(messages map[string]message, key string) message {
	for {
		if m, ok := messages[key]; ok {
			delete(messages, key)
			return m
		}
		c.receive()
	}
}

// answerQuery creates a cell, runs it, and submits what it printed.
func (c *serverConn) answerQuery() {
	source := "import json, os\nprint(json.dumps(sorted(os.listdir('data')) if os.path.isdir('data') else []))"
	params := object{"position": 0, "cell_type": "code", "source": source, "auto_run": true}
	c.actionCount++
	txID := "tx_" + strconv.Itoa(c.actionCount)
	c.send(object{"type": "agent_action", "action": "create_cell", "params": params, "tx_id": txID})
	cell := c.take(c.answers, txID)
	if cell.Status != "success" {
		c.send(object{"type": "agent_error", "error": cell.Error, "fatal": true})
		return
	}
	c.submit(strings.TrimSpace(c.take(c.results, cell.CellID).Logs))
}

// submit sends a call of submit_response and ends the turn.
func (c *serverConn) submit(answer string) {
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
	c := &serverConn{in: bufio.NewReader(socket), out: socket, answers: map[string]message{}, results: map[string]message{}}
	c.send(object{"type": "ready"})
	for {
		for c.queryCount == 0 {
			c.receive()
		}
		c.queryCount--
		c.answerQuery()
	}
}
