package replay

import (
	"bytes"
	"encoding/json"
	"fmt"

	"assay/internal/rawjson"
)

// comparableRequest is a model request in the form in which a recorded and a new request are
// compared.
type comparableRequest struct {
	api       string // messages, chat or responses
	raw       []byte // normalized JSON
	canonical string // raw as canonicalRequestJSON; "" until it is needed
}

// equal reports whether both requests are of the same API and the same JSON, apart from the model and
// from how the reply is streamed. It compares bytes first, because equal requests nearly always have equal
// bytes.
func (k *comparableRequest) equal(other *comparableRequest) (bool, error) {
	if k.api == other.api && bytes.Equal(k.raw, other.raw) {
		return true, nil
	}
	for _, key := range []*comparableRequest{k, other} {
		if key.canonical != "" {
			continue
		}
		var err error
		if key.canonical, err = canonicalRequestJSON(key.raw); err != nil {
			return false, err
		}
	}
	return k.api == other.api && k.canonical == other.canonical, nil
}

// canonicalRequestJSON returns a request with sorted keys, without white space, and without the
// model and how the reply is streamed, so that equal requests are equal texts. Recorded answers may be
// played to any model, in one piece or not.
func canonicalRequestJSON(request []byte) (string, error) {
	var fields map[string]any
	if err := decodeKeepingNumbers(request, &fields); err != nil {
		return "", fmt.Errorf("request: %w", err)
	}
	for _, name := range []string{"model", "stream", "stream_options"} {
		delete(fields, name)
	}
	text, err := rawjson.Marshal(fields)
	return string(text), err
}

// decodeKeepingNumbers decodes JSON into maps, lists and strings. Numbers keep the
// digits that they are written with. Malformed JSON is an error.
func decodeKeepingNumbers(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return dec.Decode(into)
}
