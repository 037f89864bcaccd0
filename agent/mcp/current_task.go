package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"assay/agent/builtin/tools"
	"assay/internal/model"
)

const (
	// getTaskTool is the name of the tool with which a client that connects by itself gets
	// its task. It waits at most defaultGetTaskTimeout, or as long as its input says, up to
	// maxGetTaskTimeout.
	getTaskTool           = "get_task"
	defaultGetTaskTimeout = 30 * time.Second
	maxGetTaskTimeout     = 5 * time.Minute

	taskURI     = "assay://task"
	notebookURI = "assay://notebook"
)

// errNoTask is the error for a client that asks for the task while there is none.
var errNoTask = errors.New("there is no task now")

// currentTask holds the text of the task that is being worked on. It is safe for concurrent
// use.
type currentTask struct {
	mu      sync.Mutex
	text    string        // "" if there is no task
	changed chan struct{} // closed and replaced when a task is set
}

func newCurrentTask() *currentTask { return &currentTask{changed: make(chan struct{})} }

// set sets the task; "" means that there is none.
func (c *currentTask) set(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = text
	if text != "" {
		close(c.changed)
		c.changed = make(chan struct{})
	}
}

// get returns the task, "" if there is none, and a channel that is closed when the next one
// is set.
func (c *currentTask) get() (text string, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text, c.changed
}

// await waits for a task. It returns "" if ctx ends first.
func (c *currentTask) await(ctx context.Context) string {
	for {
		text, changed := c.get()
		if text != "" {
			return text
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ""
		}
	}
}

// awaitSubmission offers a task to the clients and waits until one of them submits. It
// returns the cause of ctx if that ends first.
func (c *currentTask) awaitSubmission(ctx context.Context, task tools.ExternalTask) error {
	c.set(task.Text)
	defer c.set("")
	select {
	case <-task.Submitted:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// instructions returns what a client gets when its session starts: the task, if there is
// one, and how to work in a notebook.
func (s *ToolServer) instructions() string {
	parts := []string{"These tools work on a live notebook. A task is given, its answer is handed in with submit_response."}
	switch text, _ := s.task.get(); {
	case text != "":
		parts = append(parts, "## The task\n\n"+text)
	default:
		parts = append(parts, "There is no task yet. Where there is a tool get_task, it waits for one.")
	}
	return strings.Join(append(parts, tools.NotebookRules()), "\n\n")
}

// addTaskResources offers the task as a prompt and as a resource, and the notebook as a
// resource.
func (s *ToolServer) addTaskResources() {
	s.mcp.AddPrompt(&mcp.Prompt{Name: "task", Title: "The task", Description: "What is to be done in the notebook."},
		func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			text, _ := s.task.get()
			if text == "" {
				return nil, errNoTask
			}
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}, nil
		})
	s.addTextResource(&mcp.Resource{URI: taskURI, Name: "task", Title: "The task", Description: "What is to be done in the notebook."},
		func(context.Context) (string, error) {
			text, _ := s.task.get()
			if text == "" {
				return "", errNoTask
			}
			return text, nil
		})
	s.addTextResource(&mcp.Resource{URI: notebookURI, Name: "notebook", Title: "The notebook", Description: "What get_context shows."},
		func(ctx context.Context) (string, error) {
			content, isError := s.agent.CallTool(ctx, "get_context", nil)
			if isError {
				return "", errors.New(model.JoinTextBlocks(content))
			}
			return model.JoinTextBlocks(content), nil
		})
}

func (s *ToolServer) addTextResource(r *mcp.Resource, read func(context.Context) (string, error)) {
	r.MIMEType = "text/plain"
	s.mcp.AddResource(r, func(ctx context.Context, _ *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		text, err := read(ctx)
		if err != nil {
			return nil, err
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.URI, MIMEType: r.MIMEType, Text: text}}}, nil
	})
}

// getTaskToolDefinition returns the name, description and input schema of the tool get_task.
func getTaskToolDefinition() model.Tool {
	return model.Tool{
		Name: getTaskTool,
		Description: "Get the task that is to be done in the notebook. If there is none, wait for it; " +
			"after a submission, wait for the next.",
		InputSchema: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"wait_s":{"type":"number","minimum":0,"maximum":%g,`+
			`"description":"How long to wait, in seconds. Default %g."}},"required":[],"additionalProperties":false}`,
			maxGetTaskTimeout.Seconds(), defaultGetTaskTimeout.Seconds())),
	}
}

// getTask is the tool get_task: it waits for a task, for wait_s seconds at most, and returns
// its text. The result says so if there is no task yet or the session has ended.
func (s *ToolServer) getTask(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	timeout, err := parseGetTaskTimeout(req.Params.Arguments)
	if err != nil {
		return textResult(fmt.Sprintf("Bad input for %s: %v", getTaskTool, err), true), nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	text := s.task.await(ctx)
	if s.ctx.Err() != nil {
		return textResult("The session has ended.", true), nil
	}
	if text == "" {
		return textResult(fmt.Sprintf("There is no task yet. Call %s again to wait for it.", getTaskTool), false), nil
	}
	return textResult(text, false), nil
}

// parseGetTaskTimeout reads wait_s, in seconds, from the input of get_task.
func parseGetTaskTimeout(arguments json.RawMessage) (time.Duration, error) {
	input := struct {
		WaitS float64 `json:"wait_s"`
	}{defaultGetTaskTimeout.Seconds()}
	if len(arguments) > 0 {
		if err := json.Unmarshal(arguments, &input); err != nil {
			return 0, fmt.Errorf("wait_s: want a number of seconds: %w", err)
		}
	}
	if input.WaitS < 0 || input.WaitS > maxGetTaskTimeout.Seconds() {
		return 0, fmt.Errorf("wait_s: want 0 to %g seconds", maxGetTaskTimeout.Seconds())
	}
	return time.Duration(input.WaitS * float64(time.Second)), nil
}

// textResult returns a tool result of one text.
func textResult(text string, isError bool) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: isError}
}
