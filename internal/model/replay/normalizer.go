package replay

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"assay/internal/rawjson"
	"assay/internal/redact"
)

// Normalizer removes from recordings what differs between two runs of the same
// conversation: the path of the sandbox and memory addresses. Its fields describe the
// run in which calls are recorded or played. The zero value removes nothing and writes
// neither session names nor times.
type Normalizer struct {
	Session string           // name of the session that makes the calls; "" means no session
	Sandbox []string         // absolute paths of the sandbox; recordings are played with the first
	Clock   func() time.Time // nil means that no times are written

	// Redactor finds the secrets that are replaced in what is recorded; nil: none are. Requests
	// are compared without them.
	Redactor *redact.Redactor
}

// Placeholders in a recording.
const (
	sandboxMark     = "${SANDBOX}"      // the path of the sandbox
	sandboxJSONMark = "${SANDBOX:json}" // in answers: the path as it is escaped in a JSON string
	markPrefix      = "${SANDBOX"       // how both begin
	escapedMark     = "${SANDBOX:="     // a markPrefix that the text had before it was recorded
	addressMark     = "${ADDRESS}"      // in requests: an address in memory, which is never the same twice
)

// memoryAddressPattern matches a memory address as kernels print it, such as 0x7f3a.
var memoryAddressPattern = regexp.MustCompile(`( at |: )0x[0-9a-f]{6,16}\b`)

// sandboxPathReplacers replace the sandbox's paths in requests and answers by placeholders,
// and the placeholders in answers by a path. Requests are never restored, since they
// are only compared. The zero value, without a sandbox, changes nothing. It is safe for
// concurrent use.
type sandboxPathReplacers struct {
	request, answer *strings.Replacer // put placeholders in
	restore         *strings.Replacer // puts the path into an answer
	redactor        *redact.Redactor
}

func (n Normalizer) newReplacers() sandboxPathReplacers {
	paths := longestPathsFirst(n.Sandbox)
	if len(paths) == 0 {
		return sandboxPathReplacers{redactor: n.Redactor}
	}
	request, answer := []string{markPrefix, escapedMark}, []string{markPrefix, escapedMark}
	for _, path := range paths {
		escaped := escapeJSON(path)
		escapedForHTML, _ := json.Marshal(path) //nolint:errchkjson // a string
		request = append(request, string(escapedForHTML[1:len(escapedForHTML)-1]), sandboxMark, escaped, sandboxMark, path, sandboxMark)
		if escaped != path {
			answer = append(answer, escaped, sandboxJSONMark)
		}
		answer = append(answer, path, sandboxMark)
	}
	first := filepath.Clean(n.Sandbox[0])
	return sandboxPathReplacers{
		redactor: n.Redactor, request: strings.NewReplacer(request...), answer: strings.NewReplacer(answer...),
		restore: strings.NewReplacer(escapedMark, markPrefix, sandboxMark, first, sandboxJSONMark, escapeJSON(first)),
	}
}

// longestPathsFirst returns the paths sorted by length, the longest first, so that a
// path is replaced before another one with which it begins. Relative paths and / are
// left out.
func longestPathsFirst(paths []string) []string {
	var out []string
	for _, path := range paths {
		if path = filepath.Clean(path); filepath.IsAbs(path) && path != "/" {
			out = append(out, path)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out
}

// escapeJSON returns text in the form that it has between the quotes of a JSON string.
func escapeJSON(text string) string {
	quoted, err := rawjson.Marshal(text)
	if err != nil {
		return text // cannot happen: every string can be written
	}
	return string(quoted[1 : len(quoted)-1])
}

// normalizeRequest returns the JSON of a request of an API without secrets, with placeholders in place
// of the sandbox's paths and of memory addresses, and as [normalizeSentBack] does.
func (r sandboxPathReplacers) normalizeRequest(api string, request []byte) []byte {
	request = normalizeSentBack(api, r.redactor.JSON(request))
	if r.request == nil {
		return request
	}
	return mapJSONStrings(request, func(text string) string {
		if text = r.request.Replace(text); strings.Contains(text, " 0x") {
			text = memoryAddressPattern.ReplaceAllString(text, "${1}$"+addressMark)
		}
		return text
	})
}

// normalizeBody returns the body of a request to an API as it is recorded: without white space, and as
// normalizeRequest does. It returns an error if the body is no JSON.
func (r sandboxPathReplacers) normalizeBody(api string, body []byte) ([]byte, error) {
	compact, err := rawjson.Marshal(json.RawMessage(body))
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	return r.normalizeRequest(api, compact), nil
}

// normalizeAnswer returns the JSON of a model's answer with placeholders in place of
// the sandbox's paths.
func (r sandboxPathReplacers) normalizeAnswer(answer []byte) []byte {
	if r.answer == nil {
		return answer
	}
	return mapJSONStrings(answer, r.answer.Replace)
}

// restoreAnswer returns the JSON of a recorded answer with the sandbox's first path in
// place of the placeholders.
func (r sandboxPathReplacers) restoreAnswer(answer []byte) []byte {
	if r.restore == nil {
		return answer
	}
	return mapJSONStrings(answer, r.restore.Replace)
}

// mapJSONStrings applies f to each string in a JSON text, member names included, and returns the
// result.
func mapJSONStrings(text []byte, f func(string) string) []byte {
	return rawjson.MapStrings(text, func(value []byte, _ bool) ([]byte, bool) {
		was := string(value)
		is := f(was)
		return []byte(is), is != was
	})
}
