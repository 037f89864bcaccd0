package replay

import (
	"bytes"
	"encoding/json"
	"fmt"

	"assay/internal/model/rawjson"
)

// replayKey is a request, as it is compared with others.
type replayKey struct {
	raw       []byte
	canonical string // as [canonical] has it, once that was wanted
}

// equal reports whether both ask the same. Two that were written alike, as nearly
// all are, are not looked into.
func (q *replayKey) equal(other *replayKey) (bool, error) {
	if bytes.Equal(q.raw, other.raw) {
		return true, nil
	}
	for _, one := range []*replayKey{q, other} {
		if one.canonical != "" {
			continue
		}
		var err error
		if one.canonical, err = canonicalJSON(one.raw); err != nil {
			return false, err
		}
	}
	return q.canonical == other.canonical, nil
}

// canonicalJSON writes a request in the one way in which equal ones are equal bytes:
// keys sorted, no white space, and without the model, as any may be replayed.
func canonicalJSON(request []byte) (string, error) {
	var fields map[string]any
	if err := decodeNumbers(request, &fields); err != nil {
		return "", fmt.Errorf("request: %w", err)
	}
	delete(fields, "model")
	text, err := rawjson.Marshal(fields)
	return string(text), err
}

// decodeNumbers reads JSON with numbers as they are written.
func decodeNumbers(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return dec.Decode(into)
}
