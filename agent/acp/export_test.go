package acp

import (
	"io"
	"log/slog"

	"assay/agent/builtin/tools"
	"assay/agent/command"
)

// HandleOutput handles the output of a program that is in a turn of the session "s", until out ends.
func HandleOutput(agent *tools.ExternalAgent, process *command.Process, out io.Reader) {
	log := slog.New(slog.DiscardHandler)
	p := &program{cfg: Config{Log: log}, conversation: newConversation(agent, log), reportError: func(string) {}, process: process}
	p.conn = newRPCConn(p)
	p.conversation.beginTurn("s")
	p.conn.request(methodPrompt, promptRequest{})
	p.conn.readMessages(out)
	p.conversation.endTurn()
}
