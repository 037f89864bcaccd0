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

// hint is what a client may be told of a tool beside its schema.
type hint struct {
	title      string
	reads      bool // changes nothing
	destroys   bool // may change or delete what was there
	idempotent bool // twice is as good as once
	code       bool // may run code, which may do anything
}

// hints are those of the tools by name. What runs code is said to destroy.
func hints() map[string]hint {
	return map[string]hint{
		"get_context":                {title: "Show the notebook", reads: true},
		"request_globals_summary":    {title: "List the variables", reads: true},
		"request_reactivity_summary": {title: "Show what runs again when", reads: true},
		"create_cell":                {title: "Create a cell", destroys: true, code: true},
		"create_markdown_cell":       {title: "Create a text cell"},
		"edit_cell":                  {title: "Edit a cell", destroys: true, code: true},
		"delete_cell":                {title: "Delete a cell", destroys: true},
		"delete_all_cells":           {title: "Delete all cells", destroys: true, idempotent: true},
		"run_cell":                   {title: "Run a cell", destroys: true, code: true},
		"stop_cell":                  {title: "Stop a cell", idempotent: true},
		"execute_code":               {title: "Run code without a cell", destroys: true, code: true},
		"set_widget":                 {title: "Set a widget", destroys: true, idempotent: true, code: true},
		"submit_response":            {title: "Hand in the answer"},
		getTask:                      {title: "Get the task", reads: true},
	}
}

func (h hint) annotations() *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{
		Title: h.title, ReadOnlyHint: h.reads, DestructiveHint: &h.destroys,
		IdempotentHint: h.idempotent || h.reads, OpenWorldHint: &h.code,
	}
}

// addTools offers the tools of the hands; and get_task, where clients come by
// themselves.
func (s *service) addTools(waits bool) {
	tools, handler := s.hands.Tools(), map[string]mcp.ToolHandler{}
	if waits {
		tools = append(slices.Clip(tools), getTaskTool())
		handler[getTask] = s.getTask
	}
	hints := hints()
	for _, t := range tools {
		run := handler[t.Name]
		if run == nil {
			run = s.call
		}
		hint := hints[t.Name]
		s.server.AddTool(&mcp.Tool{
			Name: t.Name, Title: hint.title, Description: t.Description, InputSchema: t.InputSchema, Annotations: hint.annotations(),
		}, s.watched(run))
	}
}

// watched has a call end when the client is gone, and tells of its progress.
func (s *service) watched(run mcp.ToolHandler) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.life, cancel)()
		if post := s.posts.of(req.Extra); post != nil {
			defer context.AfterFunc(post, cancel)()
		}
		defer s.progress(ctx, req)()
		return run(ctx, req)
	}
}

// call has the hands carry out a call.
func (s *service) call(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	content, isError := s.hands.Call(ctx, req.Params.Name, req.Params.Arguments)
	return &mcp.CallToolResult{Content: present(content), IsError: isError}, nil
}

// present writes content as clients take it.
func present(content []model.Block) []mcp.Content {
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

// progress tells the client each second, if it has asked for that, what its call
// waits for, until it is stopped.
func (s *service) progress(ctx context.Context, req *mcp.CallToolRequest) (stop func()) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	waits := waitsFor(req.Params)
	var telling sync.WaitGroup
	telling.Go(func() {
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for n := 1; ; n++ {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ // one that has gone misses nothing
				ProgressToken: token, Progress: float64(n), Message: fmt.Sprintf("%s, %d s", waits, n),
			})
		}
	})
	return func() {
		cancel()
		telling.Wait()
	}
}

// waitsFor says what a call waits for.
func waitsFor(params *mcp.CallToolParamsRaw) string {
	var input struct {
		CellID string `json:"cell_id"`
	}
	_ = json.Unmarshal(params.Arguments, &input) // what is wrong with it is said by the result
	switch params.Name {
	case "run_cell", "edit_cell":
		return "cell " + input.CellID + " runs"
	case "create_cell":
		return "the new cell runs"
	case "execute_code":
		return "the code runs"
	case "submit_response":
		return "other calls are under way"
	case getTask:
		return "there is no task yet"
	default:
		return params.Name + " is under way"
	}
}
