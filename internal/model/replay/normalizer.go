package replay

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"assay/internal/model/rawjson"
)

// Normalizer is when and where calls are made. A recording is made on one occasion
// and played on another, and what differs between the two is kept out of it. The
// zero value says nothing: nothing is kept out, and lines have neither session
// nor time.
type Normalizer struct {
	Session string           // whose calls these are, "" for nobody's
	Sandbox []string         // the absolute paths by which the working folder is known; the first is its name
	Clock   func() time.Time // nil: no times are written
}

// What stands for the sandbox in a recording: for its path, and in an answer for
// its path as it is written in JSON. What began like that before it was recorded
// is marked, so that it is told apart. The addresses that a kernel prints are alike in no two
// runs: what was asked is recorded, and compared, without them.
const (
	sandboxMark     = "${SANDBOX}"
	sandboxJSONMark = "${SANDBOX:json}"
	markPrefix      = "${SANDBOX"
	escapedMark     = "${SANDBOX:="
	addressMark     = "${ADDRESS}"
)

// replacers takes what hangs on the occasion out of JSON, and puts it back. The zero
// value, without a sandbox, changes nothing. It is safe for concurrent use.
type replacers struct {
	request, answer *strings.Replacer // of requests, which are only compared, and of answers
	restore         *strings.Replacer // of answers
	address         *regexp.Regexp    // in memory, as a kernel prints it
}

func (o Normalizer) newReplacers() replacers {
	paths := longestFirst(o.Sandbox)
	if len(paths) == 0 {
		return replacers{}
	}
	asked, said := []string{markPrefix, escapedMark}, []string{markPrefix, escapedMark}
	for _, path := range paths {
		escaped := escapeJSON(path)
		forWeb, _ := json.Marshal(path) //nolint:errchkjson // a string
		asked = append(asked, string(forWeb[1:len(forWeb)-1]), sandboxMark, escaped, sandboxMark, path, sandboxMark)
		if escaped != path {
			said = append(said, escaped, sandboxJSONMark)
		}
		said = append(said, path, sandboxMark)
	}
	first := filepath.Clean(o.Sandbox[0])
	return replacers{
		request: strings.NewReplacer(asked...), answer: strings.NewReplacer(said...),
		restore: strings.NewReplacer(escapedMark, markPrefix, sandboxMark, first, sandboxJSONMark, escapeJSON(first)),
		address: regexp.MustCompile(`( at |: )0x[0-9a-f]{6,16}\b`),
	}
}

// longestFirst returns the paths, less those that stand for nothing, so that one
// which begins like another comes before it.
func longestFirst(paths []string) []string {
	var out []string
	for _, path := range paths {
		if path = filepath.Clean(path); filepath.IsAbs(path) && path != "/" {
			out = append(out, path)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out
}

// escapeJSON is text as it stands between the quotes of a JSON string.
func escapeJSON(text string) string {
	quoted, err := rawjson.Marshal(text)
	if err != nil {
		return text // no string is unwritable
	}
	return string(quoted[1 : len(quoted)-1])
}

// normalizeRequest takes the occasion out of a request.
func (p replacers) normalizeRequest(request []byte) []byte {
	if p.request == nil {
		return request
	}
	return mapStrings(request, func(text string) string {
		if text = p.request.Replace(text); strings.Contains(text, " 0x") {
			text = p.address.ReplaceAllString(text, "${1}$"+addressMark)
		}
		return text
	})
}

// normalizeAnswer takes the occasion out of what came back.
func (p replacers) normalizeAnswer(answer []byte) []byte {
	if p.answer == nil {
		return answer
	}
	return mapStrings(answer, p.answer.Replace)
}

// restoreAnswer puts the occasion into what is played.
func (p replacers) restoreAnswer(answer []byte) []byte {
	if p.restore == nil {
		return answer
	}
	return mapStrings(answer, p.restore.Replace)
}

// mapStrings applies f to every string of a JSON text. The rest of it stays byte
// for byte.
func mapStrings(text []byte, f func(string) string) []byte {
	var out []byte
	for {
		start := bytes.IndexByte(text, '"')
		if start < 0 {
			return append(out, text...)
		}
		end := stringEnd(text, start)
		quoted := text[start:end]
		if was, ok := unquote(quoted); ok {
			if is := f(was); is != was {
				quoted = []byte(`"` + escapeJSON(is) + `"`)
			}
		}
		out, text = append(append(out, text[:start]...), quoted...), text[end:]
	}
}

// unquote reads a JSON string. What is no Unicode in it becomes U+FFFD.
func unquote(quoted []byte) (text string, ok bool) {
	if quick, err := jsontext.AppendUnquote(nil, quoted); err == nil {
		return string(quick), true
	}
	err := json.Unmarshal(quoted, &text)
	return text, err == nil
}

// stringEnd is where the JSON string that starts at start is over.
func stringEnd(text []byte, start int) int {
	for i := start + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}
