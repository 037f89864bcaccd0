package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"assay/internal/model"
)

// executor runs tools. It is safe for concurrent use.
type executor struct {
	tools   map[string]tool
	shapes  map[string]*shape
	offered []model.Tool // what the model is told of them, in order
}

// newExecutor reads the schemas of the tools.
func newExecutor(tools []tool) (*executor, error) {
	e := &executor{tools: map[string]tool{}, shapes: map[string]*shape{}}
	for _, t := range tools {
		shape, err := newShape(t.schema)
		if err != nil {
			return nil, fmt.Errorf("schema of %s: %w", t.name, err)
		}
		e.tools[t.name], e.shapes[t.name] = t, shape
		e.offered = append(e.offered, model.Tool{Name: t.name, Description: t.description, InputSchema: json.RawMessage(t.schema)})
	}
	return e, nil
}

// execute runs one call. Its error is always a [ToolExecutionError].
func (e *executor) execute(ctx context.Context, call model.Block) ([]model.Block, error) {
	t, ok := e.tools[call.Name]
	if !ok {
		return nil, &ToolExecutionError{Tool: call.Name, Text: "Unknown tool: " + call.Name, Malformed: true}
	}
	if err := e.shapes[call.Name].check(call.Input); err != nil {
		return nil, &ToolExecutionError{Tool: call.Name, Text: fmt.Sprintf("Bad input for %s: %v", call.Name, err), Malformed: true}
	}
	content, err := t.run(ctx, call.Input)
	if err != nil {
		return nil, &ToolExecutionError{Tool: call.Name, Text: err.Error()}
	}
	return content, nil
}

// executeAll runs calls and returns their results in the same order. Calls that
// only read run side by side; one that changes something waits for all before
// it, and all after it wait for it. It also says how many calls were malformed.
func (e *executor) executeAll(ctx context.Context, calls []model.Block) (results []model.Block, malformed int) {
	results = make([]model.Block, len(calls))
	faulty := make([]bool, len(calls))
	var reading sync.WaitGroup
	run := func(i int) { results[i], faulty[i] = e.result(ctx, calls[i]) }
	for i, call := range calls {
		if e.tools[call.Name].reads {
			reading.Go(func() { run(i) })
			continue
		}
		reading.Wait()
		run(i)
	}
	reading.Wait()
	for _, f := range faulty {
		if f {
			malformed++
		}
	}
	return results, malformed
}

// result runs one call and makes its result, whatever happens.
func (e *executor) result(ctx context.Context, call model.Block) (block model.Block, malformed bool) {
	if ctx.Err() != nil {
		return model.ToolResult(call.ID, true, says("%s was not run: the query was cancelled.", call.Name)...), false
	}
	content, err := e.execute(ctx, call)
	if failure, ok := errors.AsType[*ToolExecutionError](err); ok {
		return model.ToolResult(call.ID, true, fit(says("%s", failure.Text))...), failure.Malformed
	}
	return model.ToolResult(call.ID, false, fit(content)...), false
}

// fit makes the content of a result such that it can be sent: no text is too
// long or blank, and there is some.
func fit(content []model.Block) []model.Block {
	var out []model.Block
	for _, b := range content {
		if b.Type == model.BlockText {
			if strings.TrimSpace(b.Text) == "" {
				continue
			}
			b.Text = clip(b.Text, maxOutput)
		}
		out = append(out, b)
	}
	if len(out) == 0 {
		return says("(no output)")
	}
	return out
}
