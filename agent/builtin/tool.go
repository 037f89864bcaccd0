package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"assay/internal/model"
)

// tool is something that the model can have run.
type tool struct {
	name        string
	description string
	schema      string // JSON Schema of the input
	reads       bool   // changes nothing, and so may run beside others of its kind
	run         func(ctx context.Context, input json.RawMessage) ([]model.Block, error)
}

// ToolExecutionError says why a tool did not do what it was asked to.
type ToolExecutionError struct {
	Tool      string
	Text      string // what the model is told
	Malformed bool   // the call itself was at fault: unknown tool or bad input
}

func (e *ToolExecutionError) Error() string { return e.Text }

// object is the schema of an object with these properties, which are JSON, and
// no others.
func object(properties string, required ...string) string {
	names, _ := json.Marshal(append([]string{}, required...)) //nolint:errchkjson // strings
	return fmt.Sprintf(`{"type":"object","properties":{%s},"required":%s,"additionalProperties":false}`, properties, names)
}

// takes makes the function of a tool from one whose input is decoded.
func takes[T any](run func(context.Context, T) ([]model.Block, error)) func(context.Context, json.RawMessage) ([]model.Block, error) {
	return func(ctx context.Context, raw json.RawMessage) ([]model.Block, error) {
		var input T
		if err := json.Unmarshal(raw, &input); err != nil {
			return nil, err
		}
		return run(ctx, input)
	}
}

// says is the result of a tool that is one text.
func says(format string, args ...any) []model.Block {
	return []model.Block{model.Text(fmt.Sprintf(format, args...))}
}

// none is the input of a tool that takes nothing.
type none struct{}

// submitTool is the name of the tool that hands in the answer.
const submitTool = "submit_response"

// isSubmit reports whether a call is the submission, which may be offered under
// a prefix.
func isSubmit(name string) bool {
	return name == submitTool || strings.HasSuffix(name, "__"+submitTool)
}
