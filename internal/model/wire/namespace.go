package wire

import (
	"encoding/json"
	"strings"
)

// joinToolName returns the name by which a [model.Request] and the APIs without namespaces know a
// tool of the Responses API: its namespace, two underscores and its name; the name alone if
// namespace is "". Some clients end the namespace with the underscores already.
func joinToolName(namespace, name string) string {
	const separator = "__"
	if namespace == "" {
		return name
	}
	return strings.TrimSuffix(namespace, separator) + separator + name
}

// readNamespaces returns the namespace of each tool that has one, by its joined name, from the JSON
// of the tools in a request to the Responses API. It skips what has another form.
func readNamespaces(tools []byte) map[string]string {
	var in []struct {
		Type  string `json:"type"`
		Name  string `json:"name"`
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	_ = json.Unmarshal(tools, &in) // skips members of other types
	var out map[string]string
	for _, group := range in {
		if group.Type != toolTypeNamespace {
			continue
		}
		for _, tool := range group.Tools {
			if out == nil {
				out = map[string]string{}
			}
			out[joinToolName(group.Name, tool.Name)] = group.Name
		}
	}
	return out
}

// splitToolName returns namespace and name of the tool with this joined name. The namespace is ""
// if the tool has none.
func (h Head) splitToolName(joined string) (namespace, name string) {
	namespace = h.Namespaces[joined]
	return namespace, strings.TrimPrefix(joined, joinToolName(namespace, ""))
}
