package flow

import (
	"cmp"
	"strings"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// direction tells who speaks to whom; empty: the entry is not logged.
func (f *messageLogger) direction(e *trace.Entry) string {
	switch again := e.RefSeq != 0 && e.Note != trace.NoteDropped; {
	case again:
		return "" // the bytes that came in leave again
	case e.Hop == trace.HopSession, e.Type == protocol.TypeReady, e.Type == protocol.TypeInit:
		return "session"
	}
	switch e.Hop {
	case trace.AgentToServer:
		return f.fromAgent(e)
	case trace.ServerToAgent:
		return f.toAgent(e)
	case trace.KernelToServer:
		return f.fromKernel(e)
	case trace.ServerToKernel:
		return f.toKernel(e)
	case trace.ConsoleToServer:
		return directionFromConsole(e)
	case trace.ServerToConsole:
		return directionToConsole(e)
	default:
		return "notebook"
	}
}

// joinFromAgent remembers which actions it is the kernel that answers.
func (f *messageLogger) fromAgent(e *trace.Entry) string {
	switch {
	case e.Note == trace.NoteIntercepted:
		if e.TxID != "" {
			f.interceptedIDs[e.TxID] = true
		}
		return "agent→kernel"
	case e.Type == protocol.TypeAgentAction:
		return "agent→" + f.holder
	default:
		return "agent→console"
	}
}

func (f *messageLogger) toAgent(e *trace.Entry) string {
	kernel := e.CauseSeq != 0
	if e.Type == protocol.TypeActionResponse && f.interceptedIDs[e.TxID] {
		delete(f.interceptedIDs, e.TxID)
		kernel = true // or an error that stands for its answer
	}
	switch {
	case kernel:
		return "kernel→agent"
	case e.Type == protocol.TypeActionResponse:
		return f.holder + "→agent"
	default:
		return "notebook→agent"
	}
}

// joinFromKernel leaves out what is logged as the answer that is made of it.
func (f *messageLogger) fromKernel(e *trace.Entry) string {
	id := cmp.Or(e.TxID, e.AgentTxID)
	switch e.Type {
	case protocol.TypeStartCell, protocol.TypeKernelStdio, protocol.TypeCellOutput, protocol.TypeCellResult,
		protocol.TypeRunQueue, protocol.TypeCellWidgets, protocol.TypeError:
		return "kernel→console"
	}
	switch {
	case f.serverRequestIDs[id]:
		delete(f.serverRequestIDs, id)
		return "kernel→notebook"
	case e.Note != "":
		return "kernel→agent"
	default:
		return ""
	}
}

// joinToKernel leaves out what is made of a request, which was logged.
func (f *messageLogger) toKernel(e *trace.Entry) string {
	id := cmp.Or(e.TxID, e.AgentTxID)
	switch {
	case e.CauseSeq != 0 && e.Note == "":
		return ""
	case strings.HasPrefix(id, protocol.ServerTxIDPrefix) && e.Type != protocol.TypeStopCell && e.Note == "":
		f.serverRequestIDs[id] = true
	}
	return "notebook→kernel"
}

func directionFromConsole(e *trace.Entry) string {
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
	default:
		return "console→kernel"
	}
}

func directionToConsole(e *trace.Entry) string {
	switch {
	case e.Type == protocol.TypeManagedProcessExit:
		return "" // the session has said it
	case e.CauseSeq != 0:
		return "kernel→console"
	default:
		return "notebook→console"
	}
}
