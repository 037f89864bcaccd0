package grading_test

import (
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
)

// decodeWithStdlib decodes a text that must be one JSON object with these keys, none
// twice, by encoding/json, which has nothing in common with the decoder under test. NaN
// and infinities, which JSON lacks, are replaced by another number first.
func decodeWithStdlib(text string, keys ...string) (map[string]any, bool) {
	said := map[string]any{}
	dec := json.NewDecoder(strings.NewReader(replaceNonFiniteNumbers(text)))
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

// replaceNonFiniteNumbers replaces the numbers NaN, Infinity and -Infinity, which only
// Python's decoder accepts, in a JSON text by another number, except inside strings.
func replaceNonFiniteNumbers(text string) string {
	part := regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b|-?\d+(?:\.\d+)?[eE][+-]?\d+`)
	return part.ReplaceAllStringFunc(text, func(found string) string {
		if found[0] == '"' {
			return found
		}
		return "0"
	})
}
