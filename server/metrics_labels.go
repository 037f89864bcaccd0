package server

import (
	"assay/internal/protocol"
	"assay/router"
)

// other is the label of what is on none of the lists below: what an agent makes
// up must not become a label.
const other = "other"

// Who answers an action, as a label.
const (
	hopKernel   = "kernel"
	hopConsole  = "console"
	hopNotebook = "notebook" // the server's own document
	hopServer   = "server"   // refused at once: there is no such action
)

// typeState is the type of the entries by which a session tells its state.
const typeState = "state"

// typeLabel is the label of a type of message, or of an entry that the session
// itself makes.
func typeLabel(kind string) string {
	switch kind {
	case protocol.TypeInit, protocol.TypeRunCell, protocol.TypeStopCell, protocol.TypeDisposeCell,
		protocol.TypeSetWidgetValue, protocol.TypeGlobalsSummary, protocol.TypeReactivitySummary,
		protocol.TypeGetGlobalInfo, protocol.TypeExecuteCode, protocol.TypeResetGlobals, protocol.TypeDebugState,
		protocol.TypeReady, protocol.TypeStartCell, protocol.TypeKernelStdio, protocol.TypeCellOutput,
		protocol.TypeCellResult, protocol.TypeRunQueue, protocol.TypeCellWidgets, protocol.TypeExecuteCodeResponse,
		protocol.TypeError, protocol.TypeAgentQuery, protocol.TypeAgentCancel, protocol.TypeAgentClearHistory,
		protocol.TypeActionResponse, protocol.TypeKernelMessage, protocol.TypeAgentStatus, protocol.TypeAgentAction,
		protocol.TypeAgentHistoryUpdated, protocol.TypeAgentResult, protocol.TypeAgentStreamStart,
		protocol.TypeAgentStreamBlock, protocol.TypeAgentStreamDelta, protocol.TypeAgentStreamStop,
		protocol.TypeAgentStreamComplete, protocol.TypeAgentUsageUpdate, protocol.TypeAgentEvent,
		protocol.TypeAgentError, protocol.TypeManagedProcessExit, protocol.TypeRestart, protocol.TypeNotOwner,
		protocol.TypeNotebookAction, protocol.TypeNotebookActionResponse, protocol.TypeNotebookState, protocol.TypeEvalResult,
		"get_global_info_response", "reset_kernel_globals_complete", "set_widget_value_response", "pong",
		router.TypePeerEnded, router.TypeHolder, typeState, "notebook_event":
		return kind
	default:
		return other
	}
}

// actionLabel is the label of an action of the agent.
func actionLabel(action string) string {
	switch action {
	case "get_context", "create_cell", "create_markdown_cell", "edit_cell", "delete_cell", "move_cell",
		"run_cell", "stop_cell", "set_widget", "request_globals_summary", "request_reactivity_summary", "execute_code",
		"get_global_info", "reset_kernel_globals":
		return action
	default:
		return other
	}
}

// childLabel is the label of a child.
func childLabel(name string) string {
	switch name {
	case childKernel, childAgent:
		return name
	default:
		return other
	}
}
