package testcases

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"

	"go.yaml.in/yaml/v3"

	"assay/testcases/grading/pyvalue"
)

// parseYAML parses all YAML documents of a file and returns their values, or the items
// of those that are lists. At a malformed document it adds one entry with an error and
// stops.
func parseYAML(path string, text []byte) []RawCase {
	var entries []RawCase
	for documents := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var document yaml.Node
		err := documents.Decode(&document)
		if errors.Is(err, io.EOF) {
			return entries
		}
		var plain any
		if err == nil {
			err = document.Decode(&plain) // refuses duplicate keys and endless aliases
		}
		if err != nil {
			return append(entries, RawCase{Place: path, Err: fmt.Errorf("%s: %w", path, err)})
		}
		root := document.Content[0]
		if root.Kind != yaml.SequenceNode {
			entries = append(entries, RawCase{Value: convertYAMLNode(root), Place: fmt.Sprintf("%s:%d", path, root.Line)})
			continue
		}
		for _, item := range root.Content {
			entries = append(entries, RawCase{Value: convertYAMLNode(item), Place: fmt.Sprintf("%s:%d", path, item.Line)})
		}
	}
}

// convertYAMLNode converts a YAML node, which has already been decoded without an
// error, to a JSON value. Values that JSON lacks, such as dates, become the text as it
// is written.
func convertYAMLNode(n *yaml.Node) pyvalue.Value {
	switch n.Kind {
	case yaml.AliasNode:
		return convertYAMLNode(n.Alias)
	case yaml.SequenceNode:
		list := pyvalue.List{}
		for _, item := range n.Content {
			list = append(list, convertYAMLNode(item))
		}
		return list
	case yaml.MappingNode:
		object := &pyvalue.Object{}
		addYAMLMembers(n, object)
		return object
	default:
		return convertYAMLScalar(n)
	}
}

// addYAMLMembers adds the members of a YAML mapping to object. Members merged with "<<"
// override neither the mapping's own members nor those of an earlier merge.
func addYAMLMembers(n *yaml.Node, object *pyvalue.Object) {
	var merged []*yaml.Node
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case key.ShortTag() != "!!merge":
			object.Set(key.Value, convertYAMLNode(value))
		case value.Kind == yaml.SequenceNode:
			merged = append(merged, value.Content...)
		default:
			merged = append(merged, value)
		}
	}
	for _, m := range merged {
		more, _ := convertYAMLNode(m).(*pyvalue.Object)
		for key, value := range more.All() {
			if !object.Has(key) {
				object.Set(key, value)
			}
		}
	}
}

// convertYAMLScalar converts a YAML scalar node to a JSON value.
func convertYAMLScalar(n *yaml.Node) pyvalue.Value {
	switch n.ShortTag() {
	case "!!null":
		return pyvalue.Null{}
	case "!!bool":
		return pyvalue.Bool(strings.EqualFold(n.Value, "true"))
	case "!!int":
		if i, ok := new(big.Int).SetString(strings.ReplaceAll(n.Value, "_", ""), 0); ok {
			return pyvalue.NewBigInt(i)
		}
	case "!!float":
		if i, ok := new(big.Int).SetString(n.Value, 10); ok {
			return pyvalue.NewBigInt(i) // too large for the YAML library
		}
		var f float64
		if n.Decode(&f) == nil {
			return pyvalue.Float(f)
		}
	}
	return pyvalue.String(n.Value)
}
