package builtin

import (
	"cmp"
	"context"
	"encoding/json"

	"assay/internal/model"
	"assay/internal/protocol"
)

// kernelTools work on the kernel without a cell.
func kernelTools(n *notebook) []tool {
	return []tool{
		{
			name: "execute_code",
			description: "Run code in the kernel without making a cell, for a quick look. " +
				"The result is what it printed, the value of its last expression, and the traceback if it failed.",
			schema: object(`"code":{"type":"string"},
				"timeout_s":{"type":"number","exclusiveMinimum":0,"description":"After so many seconds it is interrupted. Default and most: the limit of a cell."}`, "code"),
			run: takes(n.executeCode),
		},
		{
			name: "set_widget",
			description: "Set the value of a widget, which runs the cells again that read it. " +
				"The value is written as JSON: a text has quotes, a number has none.",
			schema: object(`"key":{"type":"string","minLength":1,"description":"The key of the widget, as get_context shows it."},
				"value":{"description":"JSON in a string, such as \"5\" or \"\\\"blue\\\"\"."}`, "key", "value"),
			run: takes(n.setWidget),
		},
	}
}

type executeInput struct {
	Code     string  `json:"code"`
	TimeoutS float64 `json:"timeout_s"`
}

func (n *notebook) executeCode(ctx context.Context, in executeInput) ([]model.Block, error) {
	timeout := min(orElse(seconds(in.TimeoutS), n.limits.Cell), n.limits.Cell)
	r := n.execute(ctx, params{"code": in.Code, "timeout_s": timeout.Seconds()}, timeout)
	end, err := r.executed()
	if err != nil {
		return nil, err
	}
	return showExecuted(end), nil
}

func showExecuted(end protocol.ExecuteCodeResponse) []model.Block {
	var page page
	status := end.Status
	if status == protocol.StatusSuccess {
		status = protocol.StatusOK // as a cell says it
	}
	page.line("status: " + status)
	page.section("printed", end.Stdout)
	page.section("stderr", end.Stderr)
	if end.Result != nil {
		page.section("result", *end.Result)
	}
	page.section("exception", cmp.Or(end.Exception, end.Error))
	return page.blocks()
}

type widgetInput struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

// setWidget sends the value as JSON in a string. A model may give it as that, or
// as the value itself.
func (n *notebook) setWidget(ctx context.Context, in widgetInput) ([]model.Block, error) {
	value := string(in.Value)
	var text string
	if json.Unmarshal(in.Value, &text) == nil && json.Valid([]byte(text)) {
		value = text
	}
	if err := n.act(ctx, "set_widget", params{"key": in.Key, "value": value}, nil); err != nil {
		return nil, err
	}
	return says("widget %s set to %s", in.Key, value), nil
}
