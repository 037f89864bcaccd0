package acp

import "encoding/json"

// protocolVersion is the version of the Agent Client Protocol that this package speaks. The types below
// are those of its schema, version 1.21.
const protocolVersion = 1

// Methods of the protocol that this package calls or answers.
const (
	methodInitialize        = "initialize"
	methodAuthenticate      = "authenticate"
	methodNewSession        = "session/new"
	methodPrompt            = "session/prompt"
	methodCancel            = "session/cancel"
	methodUpdate            = "session/update"
	methodRequestPermission = "session/request_permission"
)

// codeAuthRequired is the code of the error with which a program asks for authenticate.
const codeAuthRequired = -32000

type initializeRequest struct {
	ProtocolVersion    int                `json:"protocolVersion"`
	ClientCapabilities clientCapabilities `json:"clientCapabilities"`
	ClientInfo         implementation     `json:"clientInfo"`
}

// clientCapabilities are all false: the program has its own files and commands, and the notebook.
type clientCapabilities struct {
	FS struct {
		ReadTextFile  bool `json:"readTextFile"`
		WriteTextFile bool `json:"writeTextFile"`
	} `json:"fs"`
	Terminal bool `json:"terminal"`
}

type implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

type initializeResponse struct {
	ProtocolVersion int          `json:"protocolVersion"`
	AuthMethods     []authMethod `json:"authMethods"`
}

// authMethod is a way to authenticate that a program offers. Vars is not in the schema; programs use it
// for methods that read environment variables.
type authMethod struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Type        string `json:"type"` // "" means agent
	Vars        []struct {
		Name string `json:"name"`
	} `json:"vars"`
}

type authenticateRequest struct {
	MethodID string `json:"methodId"`
}

type newSessionRequest struct {
	CWD        string      `json:"cwd"`
	MCPServers []mcpServer `json:"mcpServers"`
}

// mcpServer is a server of tools that the program starts and talks to over standard streams.
type mcpServer struct {
	Name    string        `json:"name"`
	Command string        `json:"command"`
	Args    []string      `json:"args"`
	Env     []envVariable `json:"env"`
}

type envVariable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type newSessionResponse struct {
	SessionID string `json:"sessionId"`
}

type promptRequest struct {
	SessionID string         `json:"sessionId"`
	Prompt    []contentBlock `json:"prompt"`
}

type promptResponse struct {
	StopReason string      `json:"stopReason"`
	Usage      *tokenUsage `json:"usage"`
}

// tokenUsage has the tokens of a session so far. It is in the unstable part of the schema only.
type tokenUsage struct {
	InputTokens       int64 `json:"inputTokens"`
	OutputTokens      int64 `json:"outputTokens"`
	ThoughtTokens     int64 `json:"thoughtTokens"`
	CachedReadTokens  int64 `json:"cachedReadTokens"`
	CachedWriteTokens int64 `json:"cachedWriteTokens"`
}

type cancelNotification struct {
	SessionID string `json:"sessionId"`
}

type permissionRequest struct {
	ToolCall toolCallUpdate     `json:"toolCall"`
	Options  []permissionOption `json:"options"`
}

type permissionOption struct {
	OptionID string `json:"optionId"`
	Kind     string `json:"kind"` // allow_once, allow_always, reject_once or reject_always
}

type permissionResponse struct {
	Outcome permissionOutcome `json:"outcome"`
}

type permissionOutcome struct {
	Outcome  string `json:"outcome"` // selected or cancelled
	OptionID string `json:"optionId,omitempty"`
}

type sessionNotification struct {
	SessionID string          `json:"sessionId"`
	Update    json.RawMessage `json:"update"`
}

// messageChunk is a piece of what the program's model writes.
type messageChunk struct {
	MessageID string       `json:"messageId"`
	Content   contentBlock `json:"content"`
}

// contentBlock is a text, an image, a sound or a file.
type contentBlock struct {
	Type     string `json:"type"` // text, image, audio, resource_link or resource
	Text     string `json:"text,omitempty"`
	MIMEType string `json:"mimeType,omitempty"`
	URI      string `json:"uri,omitempty"`
	Resource *struct {
		URI  string `json:"uri"`
		Text string `json:"text"`
	} `json:"resource,omitempty"`
}

// toolCallUpdate is a call of a tool, or what has changed in it.
type toolCallUpdate struct {
	ToolCallID string            `json:"toolCallId"`
	Title      string            `json:"title"`
	Name       string            `json:"name"` // of the tool; in the unstable part of the schema only
	Kind       string            `json:"kind"`
	Status     string            `json:"status"` // pending, in_progress, completed or failed
	Content    []toolCallContent `json:"content"`
	RawInput   json.RawMessage   `json:"rawInput"`
	RawOutput  json.RawMessage   `json:"rawOutput"`
}

// toolCallContent is a part of what a tool has produced.
type toolCallContent struct {
	Type    string       `json:"type"` // content, diff or terminal
	Content contentBlock `json:"content"`
	Path    string       `json:"path"`
	OldText string       `json:"oldText"`
	NewText string       `json:"newText"`
}

type planUpdate struct {
	Entries []struct {
		Content string `json:"content"`
		Status  string `json:"status"` // pending, in_progress or completed
	} `json:"entries"`
}

type usageUpdate struct {
	Size int64 `json:"size"` // tokens that the model's context takes
	Cost *struct {
		Amount   float64 `json:"amount"`
		Currency string  `json:"currency"`
	} `json:"cost"`
}
