package replay

import (
	"bytes"
	"encoding/json"
	"fmt"

	"assay/internal/model/rawjson"
)

// replayKey is a request, as it is compared with others.
type replayKey struct {
	raw    []byte
	normal string // as [normal] has it, once that was wanted
}

// is reports whether both ask the same. Two that were written alike, as nearly
// all are, are not looked into.
func (q *replayKey) is(other *replayKey) (bool, error) {
	if bytes.Equal(q.raw, other.raw) {
		return true, nil
	}
	for _, one := range []*replayKey{q, other} {
		if one.normal != "" {
			continue
		}
		var err error
		if one.normal, err = normal(one.raw); err != nil {
			return false, err
		}
	}
	return q.normal == other.normal, nil
}

// normal writes a request in the one way in which equal ones are equal bytes:
// keys sorted, no white space, and without the model, as any may be replayed.
func normal(request []byte) (string, error) {
	var fields map[string]any
	if err := decode(request, &fields); err != nil {
		return "", fmt.Errorf("request: %w", err)
	}
	delete(fields, "model")
	text, err := rawjson.Marshal(fields)
	return string(text), err
}

// decode reads JSON with numbers as they are written.
func decode(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return dec.Decode(into)
}
