package grading_test

import (
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
)

// decodeWithStdlib reads a text that is one JSON object of these keys, none twice, with
// a reader that has nothing in common with the one under test but for NaN and
// infinities, which JSON does not have, and so are made another number first.
func decodeWithStdlib(text string, keys ...string) (map[string]any, bool) {
	said := map[string]any{}
	dec := json.NewDecoder(strings.NewReader(replaceConstants(text)))
	if token, err := dec.Token(); err != nil || token != json.Delim('{') {
		return nil, false
	}
	for dec.More() {
		token, err := dec.Token()
		key, ok := token.(string)
		if err != nil || !ok || said[key] != nil || !slices.Contains(keys, key) {
			return nil, false
		}
		var v any
		if dec.Decode(&v) != nil {
			return nil, false
		}
		said[key] = v
	}
	if _, err := dec.Token(); err != nil {
		return nil, false
	}
	_, err := dec.Token()
	return said, errors.Is(err, io.EOF)
}

// replaceConstants replaces, outside of strings, the numbers that only Python
// reads as such.
func replaceConstants(text string) string {
	part := regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b|-?\d+(?:\.\d+)?[eE][+-]?\d+`)
	return part.ReplaceAllStringFunc(text, func(found string) string {
		if found[0] == '"' {
			return found
		}
		return "0"
	})
}
