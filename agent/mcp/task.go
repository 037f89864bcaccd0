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
	// getTask is the tool by which a client that comes by itself gets its task.
	getTask = "get_task"

	// usualWait and longestWait are how long that tool waits for one.
	usualWait   = 30 * time.Second
	longestWait = 5 * time.Minute

	taskURI     = "assay://task"
	notebookURI = "assay://notebook"
)

// errNoTask says that there is nothing to be done.
var errNoTask = errors.New("there is no task now")

// desk is where the task lies that is worked on. It is safe for concurrent use.
type desk struct {
	mu      sync.Mutex
	text    string        // "" is no task
	changed chan struct{} // closed, and made anew, when there is one
}

func newDesk() *desk { return &desk{changed: make(chan struct{})} }

// put lays a task on the desk, "" takes it away.
func (d *desk) put(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.text = text
	if text != "" {
		close(d.changed)
		d.changed = make(chan struct{})
	}
}

// task is what lies there, and a channel that is closed when the next comes.
func (d *desk) task() (string, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text, d.changed
}

// await waits for a task, "" when none comes before ctx ends.
func (d *desk) await(ctx context.Context) string {
	for {
		text, changed := d.task()
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

// work has the task done by whoever takes it, until it is submitted.
func (d *desk) work(ctx context.Context, task tools.ExternalTask) error {
	d.put(task.Text)
	defer d.put("")
	select {
	case <-task.Submitted:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// instructions are what a client is told when it comes.
func (s *service) instructions() string {
	parts := []string{"These tools work on a live notebook. A task is given, its answer is handed in with submit_response."}
	switch text, _ := s.desk.task(); {
	case text != "":
		parts = append(parts, "## The task\n\n"+text)
	default:
		parts = append(parts, "There is no task yet. Where there is a tool get_task, it waits for one.")
	}
	return strings.Join(append(parts, tools.NotebookRules()), "\n\n")
}

// addTask offers the task, and the notebook, to be read.
func (s *service) addTask() {
	s.server.AddPrompt(&mcp.Prompt{Name: "task", Title: "The task", Description: "What is to be done in the notebook."},
		func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			text, _ := s.desk.task()
			if text == "" {
				return nil, errNoTask
			}
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}, nil
		})
	s.addResource(&mcp.Resource{URI: taskURI, Name: "task", Title: "The task", Description: "What is to be done in the notebook."},
		func(context.Context) (string, error) {
			text, _ := s.desk.task()
			if text == "" {
				return "", errNoTask
			}
			return text, nil
		})
	s.addResource(&mcp.Resource{URI: notebookURI, Name: "notebook", Title: "The notebook", Description: "What get_context shows."},
		func(ctx context.Context) (string, error) {
			content, isError := s.hands.Call(ctx, "get_context", nil)
			if isError {
				return "", errors.New(model.PlainText(content))
			}
			return model.PlainText(content), nil
		})
}

func (s *service) addResource(r *mcp.Resource, read func(context.Context) (string, error)) {
	r.MIMEType = "text/plain"
	s.server.AddResource(r, func(ctx context.Context, _ *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		text, err := read(ctx)
		if err != nil {
			return nil, err
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.URI, MIMEType: r.MIMEType, Text: text}}}, nil
	})
}

func getTaskTool() model.Tool {
	return model.Tool{
		Name: getTask,
		Description: "Get the task that is to be done in the notebook. If there is none, wait for it; " +
			"after a submission, wait for the next.",
		InputSchema: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"wait_s":{"type":"number","minimum":0,"maximum":%g,`+
			`"description":"How long to wait, in seconds. Default %g."}},"required":[],"additionalProperties":false}`,
			longestWait.Seconds(), usualWait.Seconds())),
	}
}

func (s *service) getTask(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	wait, err := waitOf(req.Params.Arguments)
	if err != nil {
		return toolText(fmt.Sprintf("Bad input for %s: %v", getTask, err), true), nil
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	text := s.desk.await(ctx)
	if s.life.Err() != nil {
		return toolText("The session has ended.", true), nil
	}
	if text == "" {
		return toolText(fmt.Sprintf("There is no task yet. Call %s again to wait for it.", getTask), false), nil
	}
	return toolText(text, false), nil
}

func waitOf(arguments json.RawMessage) (time.Duration, error) {
	input := struct {
		WaitS float64 `json:"wait_s"`
	}{usualWait.Seconds()}
	if len(arguments) > 0 {
		if err := json.Unmarshal(arguments, &input); err != nil {
			return 0, fmt.Errorf("wait_s: want a number of seconds: %w", err)
		}
	}
	if input.WaitS < 0 || input.WaitS > longestWait.Seconds() {
		return 0, fmt.Errorf("wait_s: want 0 to %g seconds", longestWait.Seconds())
	}
	return time.Duration(input.WaitS * float64(time.Second)), nil
}

func toolText(text string, isError bool) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: isError}
}
