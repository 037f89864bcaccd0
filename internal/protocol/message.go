package protocol

import (
	"encoding/json"
	"fmt"
)

// Ready is the first message that a kernel or an agent sends: which program it is and what it
// can do. An agent, and a kernel made for another harness, may send the type alone.
type Ready struct {
	Type     string `json:"type"`
	Language string `json:"language,omitempty"` // that the kernel runs, such as "python"
	Version  string `json:"version,omitempty"`  // of the language
	PID      int    `json:"pid,omitempty"`      // of the kernel's process
	Protocol int    `json:"protocol,omitempty"` // the kernel's version of the protocol
	Actions  bool   `json:"actions,omitempty"`  // the kernel takes requests for summaries as agent_action

	// Requests names further types of request that the kernel answers. A console may send them.
	Requests []string `json:"requests,omitempty"`

	// Unsupported names what the kernel or its language cannot do: globals_summary,
	// reactivity, widgets, rich_outputs.
	Unsupported []string `json:"lacks,omitempty"`

	// Pool describes the state of a kernel that was forked from the warm pool; nil: the
	// kernel was started as a new process.
	Pool *PoolOrigin `json:"pool,omitempty"`
}

// PoolOrigin says what a kernel from the warm pool had inherited from its parent process when
// it was handed out. If the parent was clean, Threads is 1 and all fields but ParentPID, Seed
// and WorkingDir are empty.
type PoolOrigin struct {
	ParentPID       int      `json:"parent"`      // as the server sees it, also if the kernel is in a PID namespace
	Seed            *uint32  `json:"seed"`        // of numpy's global generator; nil: numpy is not loaded
	Globals         []string `json:"globals"`     // names of global variables
	WorkingDir      string   `json:"folder"`      // the current folder
	OpenDescriptors []int    `json:"descriptors"` // of files that a library of the parent holds open
	Threads         int      `json:"threads"`     // how many there were
	Children        int      `json:"children"`    // how many child processes there were
	Environ         []string `json:"environ"`     // names of environment variables that differ from what was asked for
}

// KernelInit is the message that a kernel is sent once, after its ready message. The objects in
// it are a console's state, which this server sends as empty objects, never null.
type KernelInit struct {
	Type                 string         `json:"type"`
	WidgetStates         map[string]any `json:"widget_states"` // values of widgets by absolute key
	CellOutputSelections map[string]any `json:"cell_output_selections"`
	PlotDataSelections   map[string]any `json:"plot_data_selections"`
	ViewerCellData       map[string]any `json:"viewer_cell_data"`
	PlotConfigs          map[string]any `json:"plot_configs"`
	SessionSnapshotMode  bool           `json:"session_snapshot_mode"`
	KernelPID            int            `json:"kernel_pid"`
}

// NewKernelInit returns the init message for a kernel that starts without any state.
func NewKernelInit(pid int) KernelInit {
	return KernelInit{
		Type: TypeInit, WidgetStates: map[string]any{}, CellOutputSelections: map[string]any{},
		PlotDataSelections: map[string]any{}, ViewerCellData: map[string]any{}, PlotConfigs: map[string]any{},
		KernelPID: pid,
	}
}

// CellCommand is a message to the kernel about one cell: run_cell (with Code), stop_cell or
// dispose_cell.
type CellCommand struct {
	Type      string  `json:"type"`
	CellID    string  `json:"cell_id,omitempty"`
	AgentTxID string  `json:"agent_tx_id,omitempty"` // of stop_cell: the execute_code to interrupt, in place of a cell
	Code      *string `json:"code,omitempty"`        // of run_cell; may be the empty string
}

// KernelRequest is a request to the kernel, which answers with a message that has the same
// AgentTxID. Which fields are used depends on Type.
type KernelRequest struct {
	Type      string                     `json:"type"`
	AgentTxID string                     `json:"agent_tx_id,omitempty"`
	Key       string                     `json:"key,omitempty"`       // get_global_info: the variable
	Code      *string                    `json:"code,omitempty"`      // execute_code; may be the empty string
	Session   string                     `json:"session,omitempty"`   // execute_code: requests of different sessions interleave where they await
	TimeoutS  float64                    `json:"timeout_s,omitempty"` // execute_code: seconds from its start; 0: none
	Pristine  bool                       `json:"pristine,omitempty"`  // execute_code: run with the original builtins and streams
	Data      map[string]json.RawMessage `json:"data,omitempty"`      // set_widget_value: strings of JSON by absolute key
}

// StartCell is the kernel's message that a run of a cell has started.
type StartCell struct {
	Type         string  `json:"type"`
	CellID       *string `json:"cell_id"`       // nil: the kernel is idle
	RunSequencer int     `json:"run_sequencer"` // number of the run, rising
}

// KernelStdio is the kernel's message with text that a run has printed.
type KernelStdio struct {
	Type       string  `json:"type"`
	ActiveCell *string `json:"active_cell"` // nil: it was written outside of runs
	Stream     string  `json:"stream"`      // Stdout or Stderr
	Data       string  `json:"data"`        // the text
}

// CellOutput is the kernel's message with one output of a run: an nbformat 4 output, or
// clear_output.
type CellOutput struct {
	Type         string          `json:"type"`
	CellID       string          `json:"cell_id"`
	RunSequencer int             `json:"run_sequencer"`
	Output       json.RawMessage `json:"output"`
}

// CellResult is the kernel's message that a run of a cell has ended. The lists in it are the
// sorted names of variables that the run has assigned.
type CellResult struct {
	Type                string   `json:"type"`
	CellID              string   `json:"cell_id"`
	RunSequencer        int      `json:"run_sequencer"` // 0: the server ended the run, for want of a kernel
	Status              string   `json:"status"`        // StatusOK, StatusError or StatusInterrupted
	HasException        bool     `json:"has_exception"`
	Exception           string   `json:"exception,omitempty"` // traceback
	Outputs             []string `json:"outputs"`             // all of them
	DataframeOutputs    []string `json:"dataframe_outputs"`
	FigureOutputs       []string `json:"figure_outputs"`
	StaticFigureOutputs []string `json:"static_figure_outputs"`
	DurationMS          float64  `json:"duration_ms"`
}

// RunQueue is the kernel's message that names the cells waiting to run, in order.
type RunQueue struct {
	Type  string   `json:"type"`
	Queue []string `json:"queue"` // cell ids
}

// ExecuteCodeResponse is the kernel's answer to an execute_code request.
type ExecuteCodeResponse struct {
	Type      string  `json:"type"`
	AgentTxID string  `json:"agent_tx_id,omitempty"`
	Status    string  `json:"status"` // StatusOK, StatusError or StatusInterrupted
	Result    *string `json:"result"` // repr of the last expression's value; nil: that is None
	Stdout    string  `json:"stdout"`
	Stderr    string  `json:"stderr"`
	Exception string  `json:"exception,omitempty"` // traceback
	EName     string  `json:"ename,omitempty"`     // the exception's type
	Error     string  `json:"error,omitempty"`     // the exception's text
	Forms     int     `json:"forms,omitempty"`     // how many statements the code has at the top level
}

// ErrorResponse is the message by which the kernel or the server reports that it cannot carry
// out another message.
type ErrorResponse struct {
	Type      string            `json:"type"`
	TxID      string            `json:"tx_id,omitempty"`       // of the request, at /agent
	AgentTxID string            `json:"agent_tx_id,omitempty"` // of the request, at /run
	Data      ErrorResponseData `json:"data"`
}

// ErrorResponseData has the text of an [ErrorResponse].
type ErrorResponseData struct {
	Message string `json:"message"`
}

// AgentInit is the message that an agent is sent once, after its ready message.
type AgentInit struct {
	Type      string          `json:"type"`
	SessionID int             `json:"session_id"`
	EvalMode  bool            `json:"eval_mode"` // the agent works on a case
	Strategy  string          `json:"strategy,omitempty"`
	Language  string          `json:"language,omitempty"` // of the kernel, from its ready
	Limits    json.RawMessage `json:"limits,omitempty"`   // of the attempt, an object; nil: none
}

// AgentStatus is the agent's message that says what it is doing, such as thinking or done.
type AgentStatus struct {
	Type   string `json:"type"`
	Status string `json:"status"` // one of the constants AgentReady to AgentDone
}

// Values of AgentStatus.Status.
const (
	AgentReady          = "ready"
	AgentThinking       = "thinking"
	AgentExecuting      = "executing"
	AgentAwaitingUser   = "awaiting_user_response"
	AgentAwaitingCell   = "awaiting_cell_execution"
	AgentAwaitingWidget = "awaiting_user_widget_input"
	AgentDone           = "done"
)

// AgentQuery is the message that gives the agent a task or a further prompt.
type AgentQuery struct {
	Type      string `json:"type"`
	Query     string `json:"query"`
	RequestID string `json:"request_id"`

	// ContextualNodeData is a list of files, which the model is shown behind the prompt.
	ContextualNodeData json.RawMessage `json:"contextual_node_data,omitempty"`
}

// AgentCommand is the message agent_cancel, which stops the work on the query RequestID, or
// agent_clear_history.
type AgentCommand struct {
	Type      string `json:"type"`
	RequestID string `json:"request_id,omitempty"` // of the query to cancel
}

// AgentAction is a request of the agent to the notebook or the kernel, such as create_cell.
type AgentAction struct {
	Type   string          `json:"type"`
	Action string          `json:"action"`
	Params json.RawMessage `json:"params"`
	TxID   string          `json:"tx_id,omitempty"` // empty: no answer is wanted
}

// ProblemWithTxID says why an agent_action with this body, whose [Envelope] has no TxID, gets no answer: its
// tx_id is missing or empty, or is no text. mistyped is true for the last.
func ProblemWithTxID(body []byte) (text string, mistyped bool) {
	var action struct {
		TxID json.RawMessage `json:"tx_id"`
	}
	if err := json.Unmarshal(body, &action); err != nil || len(action.TxID) == 0 || string(action.TxID) == "null" || string(action.TxID) == `""` {
		return "it had no tx_id, so it got no answer", false
	}
	const maxShown = 40
	return fmt.Sprintf("its tx_id was %.*s, which is no text, so it got no answer", maxShown, action.TxID), true
}

// ActionResponse has the fields that all answers to an [AgentAction] share. An answer may have
// more fields, which depend on the action.
type ActionResponse struct {
	Type   string `json:"type"`
	TxID   string `json:"tx_id"`
	Status string `json:"status"` // StatusSuccess or StatusError
	Error  string `json:"error,omitempty"`
}

// NewActionError returns the answer to the agent's request txID which says that the request
// failed, with the error text.
func NewActionError(txID, text string) ActionResponse {
	return ActionResponse{Type: TypeActionResponse, TxID: txID, Status: StatusError, Error: text}
}

// KernelMessage is the message that tells the agent that a run of a cell has started or ended.
type KernelMessage struct {
	Type    string          `json:"type"`
	Message json.RawMessage `json:"message"` // a [StartCell] or [KernelMessageResult]
}

// KernelMessageResult is the content of a [KernelMessage] about the end of a run: the kernel's
// cell_result, and what the run has printed and shown.
type KernelMessageResult struct {
	CellResult
	Logs        string            `json:"logs"`         // its stdio; the middle is left out if it is long
	DisplayName string            `json:"display_name"` // the cell's title
	CellOutputs []json.RawMessage `json:"cell_outputs"` // nbformat outputs in order
}

// HistoryUpdated is the agent's message that it has added a message to its conversation with
// the model.
type HistoryUpdated struct {
	Type      string          `json:"type"`
	SessionID string          `json:"session_id,omitempty"`
	RequestID string          `json:"request_id,omitempty"` // of the query that it belongs to
	Entry     json.RawMessage `json:"entry,omitempty"`      // a [HistoryEntry]
}

// HistoryEntry is one message of the agent's conversation with its model.
type HistoryEntry struct {
	Type      string          `json:"type"`                 // HistoryEntryTypeAnthropicMessage
	Role      string          `json:"role"`                 // user or assistant
	Content   json.RawMessage `json:"content"`              // a text, or content blocks of Anthropic's Messages API
	Timestamp string          `json:"timestamp"`            // RFC 3339
	RequestID string          `json:"request_id,omitempty"` // of the query that it belongs to
	Usage     json.RawMessage `json:"usage,omitempty"`      // of the model call that an assistant's message came from, with Anthropic's fields
}

// HistoryEntryTypeAnthropicMessage is the Type of a [HistoryEntry] in the form of Anthropic's Messages
// API, the only one in use.
const HistoryEntryTypeAnthropicMessage = "anthropic_message"

// StreamFrame is any of the agent_stream_* messages, which carry the model's reply while it
// arrives: start (with Timestamp), block_start, delta, block_stop and complete. BlockIndex is
// set in the three that are about a content block.
type StreamFrame struct {
	Type       string `json:"type"`
	Timestamp  string `json:"timestamp,omitempty"`   // RFC 3339
	BlockIndex *int   `json:"block_index,omitempty"` // from 0
	BlockType  string `json:"block_type,omitempty"`  // text, thinking or tool_use
	BlockID    string `json:"block_id,omitempty"`    // of a tool_use
	BlockName  string `json:"block_name,omitempty"`  // the tool's name
	Delta      string `json:"delta,omitempty"`       // the next piece of the block
	Error      string `json:"error,omitempty"`       // of complete: why the reply broke off
}

// UsageUpdate is the agent's message with the tokens and the cost in US dollars that its
// conversation has used so far.
type UsageUpdate struct {
	Type                     string   `json:"type"`
	InputTokens              int64    `json:"input_tokens"`
	OutputTokens             int64    `json:"output_tokens"`
	CacheReadInputTokens     int64    `json:"cache_read_input_tokens"`
	CacheCreationInputTokens int64    `json:"cache_creation_input_tokens"`
	ContextLimit             int64    `json:"context_limit"`      // how many tokens the model takes
	CostUSD                  *float64 `json:"cost_usd,omitempty"` // nil: the model's price is unknown
}

// AgentEvent is the agent's message with a text for people, such as that it repeats a model
// call.
type AgentEvent struct {
	Type     string         `json:"type"`
	Channel  string         `json:"channel"`  // "ai" or "py"
	Mode     string         `json:"mode"`     // "NL" or "PY"
	Text     string         `json:"text"`     // for people
	Metadata map[string]any `json:"metadata"` // "type": response, ai_exec, ai_exec_result, tick, retry, waiting, compacted, limit, cancelled or ended
}

// AgentError is the agent's message that something has failed. A fatal error ends the work on
// the query, and with it an attempt; in a live session the agent goes on with the next query.
type AgentError struct {
	Type  string `json:"type"`
	Error string `json:"error"`
	Fatal bool   `json:"fatal"`
}

// ManagedProcessExit is the message that tells the consoles how the kernel's or agent's process
// has ended.
type ManagedProcessExit struct {
	Type     string `json:"type"`
	Name     string `json:"name"` // "kernel" or "agent"
	ExitCode int    `json:"exit_code"`
	Signal   string `json:"signal"` // that killed it; empty: it exited by itself
}
