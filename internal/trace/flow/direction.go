package flow

import (
	"cmp"
	"strings"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// directionOfEntry returns the log attribute "direction" of a trace entry, which names sender and
// receiver. It is empty for an entry that is not logged because another entry with the same
// frame is.
func (l *messageLogger) directionOfEntry(e *trace.Entry) string {
	switch isForwarded := e.RefSeq != 0 && e.Note != trace.NoteDropped; {
	case isForwarded:
		return ""
	case e.Hop == trace.HopSession, e.Type == protocol.TypeReady, e.Type == protocol.TypeInit:
		return "session"
	}
	switch e.Hop {
	case trace.AgentToServer:
		return l.directionOfMessageFromAgent(e)
	case trace.ServerToAgent:
		return l.directionOfMessageToAgent(e)
	case trace.KernelToServer:
		return l.directionOfMessageFromKernel(e)
	case trace.ServerToKernel:
		return l.directionOfMessageToKernel(e)
	case trace.ConsoleToServer:
		return directionOfMessageFromConsole(e)
	case trace.ServerToConsole:
		return directionOfMessageToConsole(e)
	case trace.AgentToModel:
		return "agent→model"
	case trace.ModelToAgent:
		return "model→agent"
	default:
		return "notebook"
	}
}

// directionOfMessageFromAgent returns the direction of a message from the agent, and remembers which
// actions the kernel will answer.
func (l *messageLogger) directionOfMessageFromAgent(e *trace.Entry) string {
	switch {
	case e.Note == trace.NoteIntercepted:
		if e.TxID != "" {
			l.interceptedIDs[e.TxID] = true
		}
		return "agent→kernel"
	case e.Type == protocol.TypeAgentAction:
		return "agent→" + l.holder
	default:
		return "agent→console"
	}
}

// directionOfMessageToAgent returns the direction of a message to the agent. It is "kernel→agent" also
// for an error that replaces an answer of the kernel.
func (l *messageLogger) directionOfMessageToAgent(e *trace.Entry) string {
	fromKernel := e.CauseSeq != 0
	if e.Type == protocol.TypeActionResponse && l.interceptedIDs[e.TxID] {
		delete(l.interceptedIDs, e.TxID)
		fromKernel = true
	}
	switch {
	case fromKernel:
		return "kernel→agent"
	case e.Type == protocol.TypeActionResponse:
		return l.holder + "→agent"
	default:
		return "notebook→agent"
	}
}

// directionOfMessageFromKernel returns the direction of a message from the kernel. It is empty for a
// reply from which the server makes an answer, because that answer is logged.
func (l *messageLogger) directionOfMessageFromKernel(e *trace.Entry) string {
	id := cmp.Or(e.TxID, e.AgentTxID)
	switch e.Type {
	case protocol.TypeStartCell, protocol.TypeKernelStdio, protocol.TypeCellOutput, protocol.TypeCellResult,
		protocol.TypeRunQueue, protocol.TypeCellWidgets, protocol.TypeError:
		return "kernel→console"
	}
	switch {
	case l.serverRequestIDs[id]:
		delete(l.serverRequestIDs, id)
		return "kernel→notebook"
	case e.Note != "":
		return "kernel→agent"
	default:
		return ""
	}
}

// directionOfMessageToKernel returns the direction of a message to the kernel, and remembers the
// server's own requests. It is empty for a request that was made from one that is logged
// already.
func (l *messageLogger) directionOfMessageToKernel(e *trace.Entry) string {
	id := cmp.Or(e.TxID, e.AgentTxID)
	switch {
	case e.CauseSeq != 0 && e.Note == "":
		return ""
	case strings.HasPrefix(id, protocol.ServerTxIDPrefix) && e.Type != protocol.TypeStopCell && e.Note == "":
		l.serverRequestIDs[id] = true
	}
	return "notebook→kernel"
}

// directionOfMessageFromConsole returns the direction of a message from a console, such as
// "console→agent".
func directionOfMessageFromConsole(e *trace.Entry) string {
	switch e.Type {
	case protocol.TypeAgentQuery, protocol.TypeAgentCancel, protocol.TypeAgentClearHistory, protocol.TypeKernelMessage:
		return "console→agent"
	case protocol.TypeActionResponse:
		if strings.HasPrefix(e.TxID, protocol.ServerTxIDPrefix) {
			return "console→notebook"
		}
		return "console→agent"
	case protocol.TypeNotebookAction:
		return "console→notebook"
	case protocol.TypeAttemptStart:
		return "console→session"
	default:
		return "console→kernel"
	}
}

// directionOfMessageToConsole returns the direction of a message to a console. It is empty for
// managed_process_exit, because the entry about it on the hop "session" is logged.
func directionOfMessageToConsole(e *trace.Entry) string {
	switch {
	case e.Type == protocol.TypeManagedProcessExit:
		return ""
	case e.CauseSeq != 0:
		return "kernel→console"
	case e.RefSeq != 0 && strings.HasPrefix(e.Type, "agent_"): // dropped; otherwise it is not logged here
		return "agent→console"
	default:
		return "notebook→console"
	}
}
