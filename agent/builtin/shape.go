package builtin

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"assay/internal/protocol"
)

// maxFault is how many bytes of what is wrong with an input are told.
const maxFault = 400

// shape is what the input of a tool must be like. It is read from a schema as
// [object] writes it: properties, of which some are required, and no others. It
// is safe for concurrent use.
type shape struct {
	properties map[string]property
	required   []string
}

type property struct {
	schema *jsonschema.Resolved
	text   string // the schema as JSON, without its description
}

func newShape(schema string) (*shape, error) {
	var whole jsonschema.Schema
	if err := json.Unmarshal([]byte(schema), &whole); err != nil {
		return nil, err
	}
	s := &shape{properties: map[string]property{}, required: whole.Required}
	for name, schema := range whole.Properties {
		p, err := newProperty(schema)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		s.properties[name] = p
	}
	return s, nil
}

func newProperty(schema *jsonschema.Schema) (property, error) {
	schema.Description = ""
	text, err := protocol.Marshal(schema)
	if err != nil {
		return property{}, err
	}
	resolved, err := schema.Resolve(nil)
	return property{resolved, string(text)}, err
}

// check compares an input with the shape. The error is one line that names one
// fault and its place, the same for the same input.
func (s *shape) check(input json.RawMessage) error {
	if protocol.IsDeeperThan(input, maxNesting) {
		return fault("it is nested more than %d levels deep", maxNesting)
	}
	var object map[string]any
	if err := json.Unmarshal(input, &object); err != nil || object == nil {
		return errors.New("it must be a JSON object")
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		p, ok := s.properties[name]
		if !ok {
			return fault("there is no property %q", name)
		}
		if p.schema.Validate(object[name]) != nil {
			value, _ := protocol.Marshal(object[name]) // it was JSON before
			return fault("%s: %s does not fit %s", name, clip(string(value), maxFault), p.text)
		}
	}
	for _, name := range s.required {
		if _, ok := object[name]; !ok {
			return fault("%s: missing", name)
		}
	}
	return nil
}

// fault makes one short line of what may hold words of the model.
func fault(format string, args ...any) error {
	return errors.New(oneLine(fmt.Sprintf(format, args...), 2*maxFault))
}
