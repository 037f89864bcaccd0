// Package protocol is the wire: the messages that cross Assay's sockets, the
// framing they travel in, and [Conn], the one interface behind which a Unix
// socket, a WebSocket and an in-memory pipe look the same.
//
// A message is one ToJSON object with a "type". The router forwards bodies as the
// bytes that came in and reads no more of them than an [Decode]; everybody
// else decodes the bodies they are interested in with encoding/json and the
// structs in message.go.
package protocol

import (
	"strings"

	"github.com/google/uuid"
)

// DefaultMaxFrameBytes is the largest body, in bytes, that a connection accepts
// unless it is told otherwise. The same limit holds after gunzip.
const DefaultMaxFrameBytes = 64 << 20

// Types of messages. The directions are those of the router: a console is
// whoever sits at /run and /agent, the server's own document included.
const (
	// Server to kernel, most of them first sent by a console.
	TypeInit              = "init" // also server to agent, and console to server
	TypeRunCell           = "run_cell"
	TypeStopCell          = "stop_cell"
	TypeDisposeCell       = "dispose_cell"
	TypeSetWidgetValue    = "set_widget_value"
	TypeGlobalsSummary    = "globals_summary" // request and answer
	TypeReactivitySummary = "reactivity_summary"
	TypeGetGlobalInfo     = "get_global_info"
	TypeExecuteCode       = "execute_code"
	TypeResetGlobals      = "reset_kernel_globals"
	TypeDebugState        = "debug_state" // request and answer

	// Kernel to server.
	TypeReady               = "ready" // also agent to server, and server to console
	TypeStartCell           = "start_cell"
	TypeKernelStdio         = "kernel_stdio"
	TypeCellOutput          = "cell_output"
	TypeCellResult          = "cell_result"
	TypeRunQueue            = "run_queue"
	TypeCellWidgets         = "cell_widgets"
	TypeExecuteCodeResponse = "execute_code_response"
	TypeError               = "error" // also server to console

	// Server to agent, the first three first sent by a console.
	TypeAgentQuery        = "agent_query"
	TypeAgentCancel       = "agent_cancel"
	TypeAgentClearHistory = "agent_clear_history"
	TypeActionResponse    = "agent_action_response"
	TypeKernelMessage     = "kernel_message"

	// Agent to server.
	TypeAgentStatus         = "agent_status"
	TypeAgentAction         = "agent_action" // also server to kernel, the older request form
	TypeAgentHistoryUpdated = "agent_history_updated"
	TypeAgentResult         = "agent_result"
	TypeAgentStreamStart    = "agent_stream_start"
	TypeAgentStreamBlock    = "agent_stream_block_start"
	TypeAgentStreamDelta    = "agent_stream_delta"
	TypeAgentStreamStop     = "agent_stream_block_stop"
	TypeAgentStreamComplete = "agent_stream_complete"
	TypeAgentUsageUpdate    = "agent_usage_update"
	TypeAgentEvent          = "agent_event"
	TypeAgentError          = "agent_error"

	// Console to server.
	TypeManagedProcessRestart = "managed_process_restart"
	TypeNotebookAction        = "notebook_action"

	// Server to console.
	TypeManagedProcessExit     = "managed_process_exit"
	TypeNotSessionOwner        = "not_session_owner_error"
	TypeNotebookState          = "notebook_state"
	TypeNotebookActionResponse = "notebook_action_response"
	TypeEvalResult             = "eval_result"
)

// Values of "status" in an agent_action_response and in a cell_result.
const (
	StatusSuccess     = "success"
	StatusError       = "error"
	StatusOK          = "ok"
	StatusInterrupted = "interrupted"
)

// NewTxID makes the id of a request: "tx_" and twelve hexadecimal digits.
func NewTxID() string { return "tx_" + shortID() }

// NewServerTxID makes the id of a request of the server's own. Agents are
// refused ids of this form, so it can never meet one of theirs.
func NewServerTxID() string { return ServerTxIDPrefix + shortID() }

// ServerTxIDPrefix begins the ids of the server's own requests.
const ServerTxIDPrefix = "eval_"

func shortID() string {
	return strings.ReplaceAll(uuid.NewString(), "-", "")[:12]
}
