package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"assay/agent/builtin"
	"assay/internal/model"
)

// tool is a function that the model can call.
type tool struct {
	name        string
	description string
	schema      string // JSON Schema of the input, as objectSchema writes it
	readOnly    bool   // changes nothing, so that it may run beside other read-only tools
	run         func(ctx context.Context, input json.RawMessage) ([]model.Block, error)
}

// toolError is the error of a tool call.
type toolError struct {
	text      string // what the model gets
	malformed bool   // the call was wrong: unknown tool or invalid input
}

func (e *toolError) Error() string { return e.text }

// objectSchema returns the JSON Schema of an object with these properties, given as JSON
// members, and no others.
func objectSchema(properties string, required ...string) string {
	names, _ := json.Marshal(append([]string{}, required...)) //nolint:errchkjson // strings
	return fmt.Sprintf(`{"type":"object","properties":{%s},"required":%s,"additionalProperties":false}`, properties, names)
}

// withDecodedInput turns a function of a decoded input into one of the raw JSON.
func withDecodedInput[T any](run func(context.Context, T) ([]model.Block, error)) func(context.Context, json.RawMessage) ([]model.Block, error) {
	return func(ctx context.Context, raw json.RawMessage) ([]model.Block, error) {
		var input T
		if err := json.Unmarshal(raw, &input); err != nil {
			return nil, err
		}
		return run(ctx, input)
	}
}

// textResult returns a formatted text as the content of a tool result.
func textResult(format string, args ...any) []model.Block {
	return []model.Block{model.Text(fmt.Sprintf(format, args...))}
}

// noInput is the input of a tool that takes none.
type noInput struct{}

// isSubmission reports whether a call with that name is a submission. A client may offer
// the tool under a prefix.
func isSubmission(name string) bool {
	return name == builtin.SubmitTool || strings.HasSuffix(name, "__"+builtin.SubmitTool)
}
