// Package protocol defines the wire: the messages on Assay's sockets, their framing, and
// [Conn], the interface that a Unix socket, a WebSocket and an in-memory pipe share.
//
// A message is one JSON object with a "type"; its bytes are a body, and on the wire a
// frame. The router forwards the bytes of a body as they came in, and reads only the
// body's [Envelope]. Other packages decode bodies with encoding/json and the structs in
// message.go. docs/protocol.md describes the messages.
package protocol

import (
	"strings"

	"github.com/google/uuid"
)

// DefaultMaxFrameBytes is the size in bytes (64 MiB) of the largest message that a connection
// accepts by default, before and after decompression.
const DefaultMaxFrameBytes = 64 << 20

// Types of messages. "Console" is a client at /run or /agent, and also the server's own
// document.
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
	TypeAttemptStart          = "attempt_start"

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

// TaskRequestIDPrefix is the prefix of the request_id of the query that gives an agent the task of a
// case.
const TaskRequestIDPrefix = "eval-init-"

// NewTxID returns a random id for an agent's request: "tx_" and twelve hexadecimal digits.
func NewTxID() string { return "tx_" + randomHexID() }

// NewServerTxID returns a random id for one of the server's own requests: ServerTxIDPrefix and
// twelve hexadecimal digits. An agent's request with an id of this form is refused, so that the
// two cannot be confused.
func NewServerTxID() string { return ServerTxIDPrefix + randomHexID() }

// ServerTxIDPrefix is the prefix of the ids that the server gives its own requests.
const ServerTxIDPrefix = "eval_"

// randomHexID returns twelve random hexadecimal digits.
func randomHexID() string {
	return strings.ReplaceAll(uuid.NewString(), "-", "")[:12]
}
