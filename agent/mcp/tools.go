package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"assay/internal/model"
)

// progressInterval is how often a client that asked for progress receives what its call waits
// for.
const progressInterval = time.Second

// toolHints describes a tool to clients, besides its schema.
type toolHints struct {
	title       string
	readOnly    bool // changes nothing
	destructive bool // may change or delete what was there
	idempotent  bool // a second call with the same input changes nothing more
	runsCode    bool // may run code, which may do anything
}

// hintsByTool returns the hints of all tools by name. Tools that run code count as
// destructive.
func hintsByTool() map[string]toolHints {
	return map[string]toolHints{
		"get_context":                {title: "Show the notebook", readOnly: true},
		"request_globals_summary":    {title: "List the variables", readOnly: true},
		"request_reactivity_summary": {title: "Show what runs again when", readOnly: true},
		"create_cell":                {title: "Create a cell", destructive: true, runsCode: true},
		"create_markdown_cell":       {title: "Create a text cell"},
		"edit_cell":                  {title: "Edit a cell", destructive: true, runsCode: true},
		"delete_cell":                {title: "Delete a cell", destructive: true},
		"delete_all_cells":           {title: "Delete all cells", destructive: true, idempotent: true},
		"run_cell":                   {title: "Run a cell", destructive: true, runsCode: true},
		"stop_cell":                  {title: "Stop a cell", idempotent: true},
		"execute_code":               {title: "Run code without a cell", destructive: true, runsCode: true},
		"set_widget":                 {title: "Set a widget", destructive: true, idempotent: true, runsCode: true},
		"submit_response":            {title: "Hand in the answer"},
		getTaskTool:                  {title: "Get the task", readOnly: true},
	}
}

func (h toolHints) annotations() *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{
		Title: h.title, ReadOnlyHint: h.readOnly, DestructiveHint: &h.destructive,
		IdempotentHint: h.idempotent || h.readOnly, OpenWorldHint: &h.runsCode,
	}
}

// addTools offers the tools of the external agent, and get_task if withGetTask.
func (s *ToolServer) addTools(withGetTask bool) {
	offered, handlers := s.agent.Tools(), map[string]mcp.ToolHandler{}
	if withGetTask {
		offered = append(slices.Clip(offered), getTaskToolDefinition())
		handlers[getTaskTool] = s.getTask
	}
	hints := hintsByTool()
	for _, t := range offered {
		handler := handlers[t.Name]
		if handler == nil {
			handler = s.callTool
		}
		h := hints[t.Name]
		s.mcp.AddTool(&mcp.Tool{
			Name: t.Name, Title: h.title, Description: t.Description, InputSchema: t.InputSchema, Annotations: h.annotations(),
		}, s.withClientCancellation(handler))
	}
}

// withClientCancellation returns a handler that ends when the client disconnects or the server is
// stopped, and that sends progress while it runs.
func (s *ToolServer) withClientCancellation(handler mcp.ToolHandler) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.ctx, cancel)()
		if request := s.requests.requestContext(req.Extra); request != nil {
			defer context.AfterFunc(request, cancel)()
		}
		defer s.startProgress(ctx, req)()
		return handler(ctx, req)
	}
}

// callTool runs a tool of the external agent.
func (s *ToolServer) callTool(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	s.before(ctx)
	content, isError := s.agent.CallTool(ctx, req.Params.Name, req.Params.Arguments)
	return &mcp.CallToolResult{Content: toMCPContent(content), IsError: isError}, nil
}

// toMCPContent converts the content of a result to that of MCP.
func toMCPContent(content []model.Block) []mcp.Content {
	out := make([]mcp.Content, 0, len(content))
	for _, b := range content {
		if b.Type != model.BlockImage {
			out = append(out, &mcp.TextContent{Text: b.Text})
			continue
		}
		data, err := base64.StdEncoding.DecodeString(b.Source.Data)
		if err != nil {
			out = append(out, &mcp.TextContent{Text: fmt.Sprintf("[%s that cannot be read: %v]", b.Source.MediaType, err)})
			continue
		}
		out = append(out, &mcp.ImageContent{Data: data, MIMEType: b.Source.MediaType})
	}
	return out
}

// startProgress sends the client a notification each second, if it asked for progress, until
// stop is called.
func (s *ToolServer) startProgress(ctx context.Context, req *mcp.CallToolRequest) (stop func()) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	activity := activityText(req.Params)
	var notifying sync.WaitGroup
	notifying.Go(func() {
		ticker := time.NewTicker(progressInterval)
		defer ticker.Stop()
		for n := 1; ; n++ {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ // a client that has gone misses nothing
				ProgressToken: token, Progress: float64(n), Message: fmt.Sprintf("%s, %d s", activity, n),
			})
		}
	})
	return func() {
		cancel()
		notifying.Wait()
	}
}

// activityText says what a call waits for.
func activityText(params *mcp.CallToolParamsRaw) string {
	var input struct {
		CellID string `json:"cell_id"`
	}
	_ = json.Unmarshal(params.Arguments, &input) // the result of the call reports invalid input
	switch params.Name {
	case "run_cell", "edit_cell":
		return "cell " + input.CellID + " runs"
	case "create_cell":
		return "the new cell runs"
	case "execute_code":
		return "the code runs"
	case "submit_response":
		return "other calls are under way"
	case getTaskTool:
		return "there is no task yet"
	default:
		return params.Name + " is under way"
	}
}
