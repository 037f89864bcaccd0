package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"assay/agent/builtin"
	"assay/agent/builtin/render"
	"assay/internal/protocol"
)

// maxQuotedValueBytes bounds how much of an invalid value an error quotes.
const maxQuotedValueBytes = 400

// inputSchema is the parsed schema of a tool's input, an object as objectSchema describes
// it. It is safe for concurrent use.
type inputSchema struct {
	properties map[string]propertySchema
	required   []string
}

type propertySchema struct {
	resolved *jsonschema.Resolved
	text     string // the schema as JSON without its description, for error messages
}

func parseInputSchema(text string) (*inputSchema, error) {
	var object jsonschema.Schema
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		return nil, err
	}
	s := &inputSchema{properties: map[string]propertySchema{}, required: object.Required}
	for name, property := range object.Properties {
		p, err := parseProperty(property)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		s.properties[name] = p
	}
	return s, nil
}

func parseProperty(schema *jsonschema.Schema) (propertySchema, error) {
	schema.Description = ""
	text, err := protocol.Marshal(schema)
	if err != nil {
		return propertySchema{}, err
	}
	resolved, err := schema.Resolve(nil)
	return propertySchema{resolved, string(text)}, err
}

// validate checks an input against the schema. Its error is one line that names one fault
// and its property; the same input always gives the same error.
func (s *inputSchema) validate(input json.RawMessage) error {
	if protocol.IsDeeperThan(input, builtin.MaxInputDepth) {
		return invalidInputf("it is nested more than %d levels deep", builtin.MaxInputDepth)
	}
	var object map[string]any
	if err := json.Unmarshal(input, &object); err != nil || object == nil {
		return errors.New("it must be a JSON object")
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		p, ok := s.properties[name]
		if !ok {
			return invalidInputf("there is no property %q", name)
		}
		if p.resolved.Validate(object[name]) != nil {
			value, _ := protocol.Marshal(object[name]) // it was decoded from JSON
			return invalidInputf("%s: %s does not fit %s", name, render.Clip(string(value), maxQuotedValueBytes), p.text)
		}
	}
	for _, name := range s.required {
		if _, ok := object[name]; !ok {
			return invalidInputf("%s: missing", name)
		}
	}
	return nil
}

// invalidInputf returns an error of one short line. Its arguments may be text of the model.
func invalidInputf(format string, args ...any) error {
	return errors.New(render.ClipToOneLine(fmt.Sprintf(format, args...), 2*maxQuotedValueBytes))
}
