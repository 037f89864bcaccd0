package metrics

import (
	"assay/internal/model/calllog"
	"assay/internal/protocol"
	"assay/router"
)

// labelOther replaces every label value that is not on one of the lists below:
// names that an agent makes up must not create new time series.
const labelOther = "other"

// Values of the label "hop" of requests: the component that answers an action.
const (
	answeredByKernel   = "kernel"
	answeredByConsole  = "console"
	answeredByNotebook = "notebook" // the server's own document
	answeredByServer   = "server"   // refused at once because there is no such action
)

// Values of the label "name" of children, which the trace uses too.
const (
	childKernel = "kernel"
	childAgent  = "agent"
)

// entryTypeState is the type of the trace entries in which a session records its
// state.
const entryTypeState = "state"

// typeLabel returns the value of the metrics' label "type": the type of a message, or of an
// entry that the session itself records, or labelOther for an unknown type.
func typeLabel(messageType string) string {
	switch messageType {
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
		protocol.TypeAgentError, protocol.TypeManagedProcessExit, protocol.TypeManagedProcessRestart, protocol.TypeNotSessionOwner,
		protocol.TypeNotebookAction, protocol.TypeAttemptStart, protocol.TypeNotebookActionResponse, protocol.TypeNotebookState, protocol.TypeEvalResult,
		"get_global_info_response", "reset_kernel_globals_complete", "set_widget_value_response", "pong",
		calllog.TypeCall, calllog.TypeWait, calllog.TypeSilence, calllog.TypeReply, calllog.TypeRejected,
		router.EntryTypePeerEnded, router.EntryTypeHolderChanged, entryTypeState, "notebook_event":
		return messageType
	default:
		return labelOther
	}
}

// actionLabel returns the value of the metrics' label "action": the name of an action of the
// agent, or labelOther if the protocol has no such action, since an agent may send any text.
func actionLabel(action string) string {
	switch action {
	case "get_context", "create_cell", "create_markdown_cell", "edit_cell", "delete_cell", "move_cell",
		"run_cell", "stop_cell", "set_widget", "request_globals_summary", "request_reactivity_summary", "execute_code",
		"get_global_info", "reset_kernel_globals":
		return action
	default:
		return labelOther
	}
}

// apiLabel returns the value of the metrics' label "api": the API of models that a call speaks.
func apiLabel(api string) string {
	switch api {
	case "messages", "chat", "responses":
		return api
	default:
		return labelOther
	}
}

// childLabel returns the value of the metrics' label "child": kernel or agent, or labelOther
// for any other name.
func childLabel(name string) string {
	switch name {
	case childKernel, childAgent:
		return name
	default:
		return labelOther
	}
}
