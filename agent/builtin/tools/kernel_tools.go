package tools

import (
	"context"
	"encoding/json"
	"time"

	"assay/agent/builtin/render"
	"assay/internal/model"
)

// kernelTools returns the tools that use the kernel without a cell.
func (n notebookToolset) kernelTools() []tool {
	return []tool{
		{
			name: "execute_code",
			description: "Run code in the kernel without making a cell, for a quick look. " +
				"The result is what it printed, the value of its last expression, and the traceback if it failed.",
			schema: objectSchema(`"code":{"type":"string"},
				"timeout_s":{"type":"number","exclusiveMinimum":0,"description":"After so many seconds it is interrupted. Default and most: the limit of a cell."}`, "code"),
			run: withDecodedInput(n.executeCode),
		},
		{
			name: "set_widget",
			description: "Set the value of a widget, which runs the cells again that read it. " +
				"The value is written as JSON: a text has quotes, a number has none.",
			schema: objectSchema(`"key":{"type":"string","minLength":1,"description":"The key of the widget, as get_context shows it."},
				"value":{"description":"JSON in a string, such as \"5\" or \"\\\"blue\\\"\"."}`, "key", "value"),
			run: withDecodedInput(n.setWidget),
		},
	}
}

// executeCodeInput is the input of the tool execute_code: the code and its time limit.
type executeCodeInput struct {
	Code     string  `json:"code"`
	TimeoutS float64 `json:"timeout_s"` // in seconds; 0 means the cell limit
}

func (n notebookToolset) executeCode(ctx context.Context, in executeCodeInput) ([]model.Block, error) {
	timeout := n.CellTimeout()
	if wanted := time.Duration(in.TimeoutS * float64(time.Second)); wanted > 0 {
		timeout = min(timeout, wanted)
	}
	response, err := n.ExecuteCode(ctx, actionParams{"code": in.Code, "timeout_s": timeout.Seconds()}, timeout)
	if err != nil {
		return nil, err
	}
	return render.ExecuteCodeBlocks(response), nil
}

// setWidgetInput is the input of set_widget.
type setWidgetInput struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

// setWidget sends the value as JSON in a string. The model may give it in that form or as
// the value itself.
func (n notebookToolset) setWidget(ctx context.Context, in setWidgetInput) ([]model.Block, error) {
	value := string(in.Value)
	var text string
	if json.Unmarshal(in.Value, &text) == nil && json.Valid([]byte(text)) {
		value = text
	}
	if err := n.DoAction(ctx, "set_widget", actionParams{"key": in.Key, "value": value}, nil); err != nil {
		return nil, err
	}
	return textResult("widget %s set to %s", in.Key, value), nil
}
