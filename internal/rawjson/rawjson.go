// Package rawjson writes JSON without HTML escapes and finds and repairs text in
// JSON that is not valid Unicode.
package rawjson

import (
	"bytes"
	"encoding/json"
)

// Marshal is json.Marshal without the escapes \u003c, \u003e and \u0026 for <, >
// and &, which only JSON inside a web page needs.
func Marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
