package replay

import (
	"bytes"
	"encoding/json"
	"fmt"

	"assay/internal/model/rawjson"
)

// replayKey is a request in the form in which recorded and new requests are compared.
type replayKey struct {
	raw       []byte // normalized JSON
	canonical string // raw as canonicalJSON; "" until it is needed
}

// equal reports whether both requests are the same JSON, apart from the model. It
// compares bytes first: equal requests nearly always are equal bytes.
func (k *replayKey) equal(other *replayKey) (bool, error) {
	if bytes.Equal(k.raw, other.raw) {
		return true, nil
	}
	for _, key := range []*replayKey{k, other} {
		if key.canonical != "" {
			continue
		}
		var err error
		if key.canonical, err = canonicalJSON(key.raw); err != nil {
			return false, err
		}
	}
	return k.canonical == other.canonical, nil
}

// canonicalJSON returns a request with sorted keys and without white space, so that equal
// requests are equal texts, and without the model, since the answers may be played to
// any.
func canonicalJSON(request []byte) (string, error) {
	var fields map[string]any
	if err := decodeKeepingNumbers(request, &fields); err != nil {
		return "", fmt.Errorf("request: %w", err)
	}
	delete(fields, "model")
	text, err := rawjson.Marshal(fields)
	return string(text), err
}

// decodeKeepingNumbers decodes JSON. Numbers keep the digits with which they are written.
func decodeKeepingNumbers(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return dec.Decode(into)
}
