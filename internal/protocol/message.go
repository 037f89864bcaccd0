package protocol

import "encoding/json"

// Ready is the first frame of a kernel or an agent. An agent, and a kernel made
// for another harness, may send the bare type.
type Ready struct {
	Type     string `json:"type"`
	Language string `json:"language,omitempty"`
	Version  string `json:"version,omitempty"`
	PID      int    `json:"pid,omitempty"`
	Protocol int    `json:"protocol,omitempty"`
	Actions  bool   `json:"actions,omitempty"` // summaries may be asked for as agent_action

	// Lacks names what the kernel or its language cannot do: globals_summary,
	// reactivity, widgets, rich_outputs.
	Unsupported []string `json:"lacks,omitempty"`

	// Pool is where a kernel comes from that was not started but forked.
	Pool *PoolOrigin `json:"pool,omitempty"`
}

// PoolOrigin is what a kernel from the warm pool had of its parent's when it was
// handed out. All but Parent, Seed and Folder is empty in a clean one, which has
// one thread.
type PoolOrigin struct {
	ParentPID       int      `json:"parent"` // its process id
	Seed            *uint32  `json:"seed"`   // of numpy's global generator; nil: numpy is not loaded
	Globals         []string `json:"globals"`
	WorkingDir      string   `json:"folder"`
	OpenDescriptors []int    `json:"descriptors"` // open files that a library of the parent's holds
	Threads         int      `json:"threads"`
	Children        int      `json:"children"`
	Environ         []string `json:"environ"` // variables that are not as they were asked for
}

// KernelInit is sent to a kernel once, after its ready. The objects are state
// of a console that no headless run has; they are never null.
type KernelInit struct {
	Type                 string         `json:"type"`
	WidgetStates         map[string]any `json:"widget_states"`
	CellOutputSelections map[string]any `json:"cell_output_selections"`
	PlotDataSelections   map[string]any `json:"plot_data_selections"`
	ViewerCellData       map[string]any `json:"viewer_cell_data"`
	PlotConfigs          map[string]any `json:"plot_configs"`
	SessionSnapshotMode  bool           `json:"session_snapshot_mode"`
	KernelPID            int            `json:"kernel_pid"`
}

// NewKernelInit returns the init of a kernel that starts with nothing.
func NewKernelInit(pid int) KernelInit {
	return KernelInit{
		Type: TypeInit, WidgetStates: map[string]any{}, CellOutputSelections: map[string]any{},
		PlotDataSelections: map[string]any{}, ViewerCellData: map[string]any{}, PlotConfigs: map[string]any{},
		KernelPID: pid,
	}
}

// CellCommand is run_cell (with Code), stop_cell or dispose_cell.
type CellCommand struct {
	Type      string  `json:"type"`
	CellID    string  `json:"cell_id,omitempty"`
	AgentTxID string  `json:"agent_tx_id,omitempty"` // stop_cell of an execute_code
	Code      *string `json:"code,omitempty"`
}

// KernelRequest is a request to the kernel that is answered by a frame with the
// same AgentTxID. Which fields count depends on Type.
type KernelRequest struct {
	Type      string                     `json:"type"`
	AgentTxID string                     `json:"agent_tx_id,omitempty"`
	Key       string                     `json:"key,omitempty"`       // get_global_info
	Code      *string                    `json:"code,omitempty"`      // execute_code: may be empty
	Session   string                     `json:"session,omitempty"`   // execute_code
	TimeoutS  float64                    `json:"timeout_s,omitempty"` // execute_code: seconds from its start
	Pristine  bool                       `json:"pristine,omitempty"`  // execute_code: not to be misled by what ran before
	Data      map[string]json.RawMessage `json:"data,omitempty"`      // set_widget_value: strings of ToJSON
}

// StartCell says that the run RunSequencer of a cell has begun. Without a cell
// everything is idle.
type StartCell struct {
	Type         string  `json:"type"`
	CellID       *string `json:"cell_id"`
	RunSequencer int     `json:"run_sequencer"`
}

// KernelStdio is text that a run wrote. ActiveCell is null outside of runs.
type KernelStdio struct {
	Type       string  `json:"type"`
	ActiveCell *string `json:"active_cell"`
	Stream     string  `json:"stream"`
	Data       string  `json:"data"`
}

// CellOutput is one output of a run: an nbformat 4 output, or clear_output.
type CellOutput struct {
	Type         string          `json:"type"`
	CellID       string          `json:"cell_id"`
	RunSequencer int             `json:"run_sequencer"`
	Output       json.RawMessage `json:"output"`
}

// CellResult ends a run. The output fields are sorted names that it assigned.
type CellResult struct {
	Type                string   `json:"type"`
	CellID              string   `json:"cell_id"`
	RunSequencer        int      `json:"run_sequencer"`
	Status              string   `json:"status"`
	HasException        bool     `json:"has_exception"`
	Exception           string   `json:"exception,omitempty"`
	Outputs             []string `json:"outputs"`
	DataframeOutputs    []string `json:"dataframe_outputs"`
	FigureOutputs       []string `json:"figure_outputs"`
	StaticFigureOutputs []string `json:"static_figure_outputs"`
	DurationMS          float64  `json:"duration_ms"`
}

// RunQueue names the cells that wait for the kernel.
type RunQueue struct {
	Type  string   `json:"type"`
	Queue []string `json:"queue"`
}

// ExecuteCodeResponse is the answer to execute_code. Result is the repr of the
// last value, null where that is None.
type ExecuteCodeResponse struct {
	Type      string  `json:"type"`
	AgentTxID string  `json:"agent_tx_id,omitempty"`
	Status    string  `json:"status"`
	Result    *string `json:"result"`
	Stdout    string  `json:"stdout"`
	Stderr    string  `json:"stderr"`
	Exception string  `json:"exception,omitempty"` // traceback
	EName     string  `json:"ename,omitempty"`
	Error     string  `json:"error,omitempty"`
	Forms     int     `json:"forms,omitempty"`
}

// Error is what a kernel, or the server, says to a message it cannot follow.
type Error struct {
	Type      string    `json:"type"`
	TxID      string    `json:"tx_id,omitempty"`       // of the request that it refuses, at /agent
	AgentTxID string    `json:"agent_tx_id,omitempty"` // likewise, at /run
	Data      ErrorData `json:"data"`
}

// ErrorData is the content of [Error].
type ErrorData struct {
	Message string `json:"message"`
}

// AgentInit is sent to an agent once, after its ready.
type AgentInit struct {
	Type      string          `json:"type"`
	SessionID int             `json:"session_id"`
	EvalMode  bool            `json:"eval_mode"`
	Strategy  string          `json:"strategy,omitempty"`
	Language  string          `json:"language,omitempty"` // of the kernel, as its ready names it
	Limits    json.RawMessage `json:"limits,omitempty"`
}

// AgentStatus is what an agent is doing. Its values are the Agent constants.
type AgentStatus struct {
	Type   string `json:"type"`
	Status string `json:"status"`
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

// AgentQuery is a prompt. ContextualNodeData is a list of files, shown to the
// model behind the prompt.
type AgentQuery struct {
	Type               string          `json:"type"`
	Query              string          `json:"query"`
	RequestID          string          `json:"request_id"`
	ContextualNodeData json.RawMessage `json:"contextual_node_data,omitempty"`
}

// AgentCommand is agent_cancel (with RequestID) or agent_clear_history.
type AgentCommand struct {
	Type      string `json:"type"`
	RequestID string `json:"request_id,omitempty"`
}

// AgentAction is a request of the agent to the notebook. Without a TxID no
// answer is wanted.
type AgentAction struct {
	Type   string          `json:"type"`
	Action string          `json:"action"`
	Params json.RawMessage `json:"params"`
	TxID   string          `json:"tx_id,omitempty"`
}

// ActionResponse is the part that every answer to an [AgentAction] has in
// common; the fields of the action follow beside it.
type ActionResponse struct {
	Type   string `json:"type"`
	TxID   string `json:"tx_id"`
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
}

// ActionError returns the answer to request txID that reports a failure.
func ActionError(txID, text string) ActionResponse {
	return ActionResponse{Type: TypeActionResponse, TxID: txID, Status: StatusError, Error: text}
}

// KernelMessage relays a start_cell or a cell_result to the agent.
type KernelMessage struct {
	Type    string          `json:"type"`
	Message json.RawMessage `json:"message"`
}

// KernelMessageResult is the message of a [KernelMessage] for a cell_result:
// the kernel's own frame and what the run left behind.
type KernelMessageResult struct {
	CellResult
	Logs        string            `json:"logs"` // its stdio, the middle cut when long
	DisplayName string            `json:"display_name"`
	CellOutputs []json.RawMessage `json:"cell_outputs"` // nbformat outputs in order
}

// HistoryUpdated tells of a committed message in the agent's conversation.
type HistoryUpdated struct {
	Type      string          `json:"type"`
	SessionID string          `json:"session_id,omitempty"`
	RequestID string          `json:"request_id,omitempty"`
	Entry     json.RawMessage `json:"entry,omitempty"` // [HistoryEntry]
}

// HistoryEntry is one message of the conversation. Content is text or
// Anthropic content blocks.
type HistoryEntry struct {
	Type      string          `json:"type"` // anthropic_message
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Timestamp string          `json:"timestamp"`            // RFC 3339
	RequestID string          `json:"request_id,omitempty"` // of the query it belongs to
	Usage     json.RawMessage `json:"usage,omitempty"`      // of the call that an assistant's message came from, as Anthropic counts
}

// EntryAnthropicMessage is the Type of a [HistoryEntry].
const EntryAnthropicMessage = "anthropic_message"

// StreamFrame is any of the agent_stream_* messages, by which a reply is shown
// while it arrives: start (with Timestamp), block_start, delta, block_stop and
// complete. Which fields count depends on Type; BlockIndex is given for the
// three that are about a block.
type StreamFrame struct {
	Type       string `json:"type"`
	Timestamp  string `json:"timestamp,omitempty"` // RFC 3339
	BlockIndex *int   `json:"block_index,omitempty"`
	BlockType  string `json:"block_type,omitempty"` // text, thinking or tool_use
	BlockID    string `json:"block_id,omitempty"`
	BlockName  string `json:"block_name,omitempty"`
	Delta      string `json:"delta,omitempty"`
	Error      string `json:"error,omitempty"` // of a reply that broke off
}

// UsageUpdate is the tokens of a conversation so far. CostUSD is null when the
// model's price is not known.
type UsageUpdate struct {
	Type                     string   `json:"type"`
	InputTokens              int64    `json:"input_tokens"`
	OutputTokens             int64    `json:"output_tokens"`
	CacheReadInputTokens     int64    `json:"cache_read_input_tokens"`
	CacheCreationInputTokens int64    `json:"cache_creation_input_tokens"`
	ContextLimit             int64    `json:"context_limit"`
	CostUSD                  *float64 `json:"cost_usd,omitempty"`
}

// AgentEvent is something an agent wants shown.
type AgentEvent struct {
	Type     string         `json:"type"`
	Channel  string         `json:"channel"` // "ai" or "py"
	Mode     string         `json:"mode"`    // "NL" or "PY"
	Text     string         `json:"text"`
	Metadata map[string]any `json:"metadata"` // "type": response, ai_exec, ai_exec_result, tick, retry, waiting, compacted, limit, cancelled, ended
}

// AgentError is a failure of the agent. A fatal one ends the work on the query that
// it came of, and with it an evaluation; in a live session the agent goes on with
// the next query.
type AgentError struct {
	Type  string `json:"type"`
	Error string `json:"error"`
	Fatal bool   `json:"fatal"`
}

// ManagedProcessExit tells the consoles that a child has died. Signal is empty
// when it exited by itself.
type ManagedProcessExit struct {
	Type     string `json:"type"`
	Name     string `json:"name"` // "kernel" or "agent"
	ExitCode int    `json:"exit_code"`
	Signal   string `json:"signal"`
}
