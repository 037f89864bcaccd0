package tools

import (
	"context"

	"assay/agent/builtin"
	"assay/internal/model"
)

// ToolCompaction calls toolCompaction, which lets calls be dropped with their results.
func ToolCompaction() builtin.Compaction { return toolCompaction() }

// ValidateInput parses the schema of a tool and validates an input against it.
func ValidateInput(schema string, input []byte) error {
	s, err := parseInputSchema(schema)
	if err != nil {
		return err
	}
	return s.validate(input)
}

// RegisterCall registers a call of a tool and returns a function that runs it, so that a test
// can do something between the two.
func (a *ExternalAgent) RegisterCall(name string, input []byte) (run func() (text string, isError bool), err error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	c := &externalCall{cancel: cancel, result: make(chan model.Block, 1)}
	return func() (string, bool) {
		a.runCall(ctx, c)
		result := <-c.result
		return model.JoinTextBlocks(result.Content), result.IsError
	}, a.registerCall(c, name, input)
}
