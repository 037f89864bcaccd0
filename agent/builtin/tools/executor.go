package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"assay/agent/builtin/render"
	"assay/internal/model"
)

// toolExecutor checks and runs tool calls. It is safe for concurrent use.
type toolExecutor struct {
	tools        map[string]tool
	schemas      map[string]*inputSchema
	offeredTools []model.Tool // the tools as the model sees them, in order
}

// newExecutor returns an executor that runs these tools, or an error if the schema of one is
// invalid.
func newExecutor(tools []tool) (*toolExecutor, error) {
	e := &toolExecutor{tools: map[string]tool{}, schemas: map[string]*inputSchema{}}
	for _, t := range tools {
		schema, err := parseInputSchema(t.schema)
		if err != nil {
			return nil, fmt.Errorf("schema of %s: %w", t.name, err)
		}
		e.tools[t.name], e.schemas[t.name] = t, schema
		e.offeredTools = append(e.offeredTools, model.Tool{Name: t.name, Description: t.description, InputSchema: json.RawMessage(t.schema)})
	}
	return e, nil
}

// runCall runs one tool call and returns the content of its result. Its error is always a
// toolError.
func (e *toolExecutor) runCall(ctx context.Context, call model.Block) ([]model.Block, error) {
	t, ok := e.tools[call.Name]
	if !ok {
		return nil, &toolError{text: "Unknown tool: " + call.Name, malformed: true}
	}
	if err := e.schemas[call.Name].validate(call.Input); err != nil {
		return nil, &toolError{text: fmt.Sprintf("Bad input for %s: %v", call.Name, err), malformed: true}
	}
	content, err := t.run(ctx, call.Input)
	if err != nil {
		return nil, &toolError{text: err.Error()}
	}
	return content, nil
}

// runCalls runs calls and returns their results in the same order, and how many calls were
// malformed. Consecutive read-only calls run side by side; every other call runs alone,
// after those before it.
func (e *toolExecutor) runCalls(ctx context.Context, calls []model.Block) (results []model.Block, malformedCount int) {
	results = make([]model.Block, len(calls))
	malformed := make([]bool, len(calls))
	var reading sync.WaitGroup
	run := func(i int) { results[i], malformed[i] = e.runForResult(ctx, calls[i]) }
	for i, call := range calls {
		if e.tools[call.Name].readOnly {
			reading.Go(func() { run(i) })
			continue
		}
		reading.Wait()
		run(i)
	}
	reading.Wait()
	for _, m := range malformed {
		if m {
			malformedCount++
		}
	}
	return results, malformedCount
}

// runForResult runs one tool call and returns its tool_result block, clipped; malformed is
// true for an unknown tool or invalid input. The result of a tool that fails is its error, with
// malformed false. If ctx has ended it does not run the call, and the result says so.
func (e *toolExecutor) runForResult(ctx context.Context, call model.Block) (block model.Block, malformed bool) {
	if ctx.Err() != nil {
		return model.ToolResult(call.ID, true, textResult("%s was not run: the query was cancelled.", call.Name)...), false
	}
	content, err := e.runCall(ctx, call)
	if failure, ok := errors.AsType[*toolError](err); ok {
		return model.ToolResult(call.ID, true, clipResultTexts(textResult("%s", failure.text))...), failure.malformed
	}
	return model.ToolResult(call.ID, false, clipResultTexts(content)...), false
}

// clipResultTexts returns the content of a result without blank texts and with long ones
// clipped. Content that is empty becomes a text that says so.
func clipResultTexts(content []model.Block) []model.Block {
	var out []model.Block
	for _, b := range content {
		if b.Type == model.BlockText {
			if strings.TrimSpace(b.Text) == "" {
				continue
			}
			b.Text = render.Clip(b.Text, render.MaxTextBytes)
		}
		out = append(out, b)
	}
	if len(out) == 0 {
		return textResult("(no output)")
	}
	return out
}
