package redact

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"assay/internal/rawjson"
)

// secretName matches the name of an environment variable one word of which, separated by _, is
// or ends with a word for a secret, in upper or lower case, singular or plural, with or without
// digits after it.
var secretName = regexp.MustCompile(`(?i)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASS|PAT|CREDENTIAL|AUTH)S?[0-9]*(_|$)`)

// IsSecretName reports whether the name of an environment variable looks like that of a secret,
// such as a key, token or password.
func IsSecretName(name string) bool { return secretName.MatchString(name) }

// numberOrPath matches values that are not secret whatever the variable's name is: numbers, and
// absolute paths such as that of SSH_AUTH_SOCK.
var numberOrPath = regexp.MustCompile(`^([0-9.]+|/.*)$`)

// looksSecret reports whether the value of an environment variable with the name of a secret is
// one.
func looksSecret(value string) bool {
	return len(value) >= minSecretBytes && !numberOrPath.MatchString(value)
}

// secretNeedles returns what is looked for to find the value of the environment variable name.
func secretNeedles(name, value string) []needle {
	replacement := replacementFor(name)
	texts := []string{value}
	for _, escaped := range jsonEscapes(value) {
		texts = append(texts, escaped, escapeNonASCII(escaped))
	}
	for _, escaped := range []string{url.QueryEscape(value), url.PathEscape(value)} {
		texts = append(texts, escaped, lowerHex(escaped))
	}
	var needles []needle
	for _, text := range texts {
		needles = append(needles, needle{text: []byte(withoutQuoting(text)), replacement: replacement})
	}
	for _, text := range base64Forms([]byte(value)) {
		needles = append(needles, needle{text: text, replacement: replacement, isBase64: true})
	}
	return dedupe(needles)
}

// jsonEscapes returns text as it is between the quotes of a JSON string, with <, > and & escaped
// and without. A secret in JSON in a JSON string has such a form.
func jsonEscapes(text string) []string {
	forHTML, _ := json.Marshal(text) //nolint:errchkjson // a string
	plain, err := rawjson.Marshal(text)
	if err != nil { // never: it is a string
		return nil
	}
	return []string{string(forHTML[1 : len(forHTML)-1]), string(plain[1 : len(plain)-1])}
}

var (
	backslashes  = regexp.MustCompile(`\\+`)
	quotingSlash = regexp.MustCompile(`\\(["'/])`)
)

// withoutQuoting returns text without the backslashes that needle.match skips: those that quote
// another character, and all but one of several.
func withoutQuoting(text string) string {
	return quotingSlash.ReplaceAllString(backslashes.ReplaceAllString(text, `\`), "$1")
}

// escapeNonASCII returns text between the quotes of a JSON string with \uXXXX for all characters
// beyond ASCII, as Python writes it.
func escapeNonASCII(text string) string {
	var out strings.Builder
	for _, r := range text {
		if r < utf8.RuneSelf {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
	}
	return out.String()
}

// percentEscape matches an escaped byte in a URL.
var percentEscape = regexp.MustCompile(`%[0-9A-F]{2}`)

// lowerHex returns escaped text of a URL with small letters in the escapes.
func lowerHex(escaped string) string {
	return percentEscape.ReplaceAllStringFunc(escaped, strings.ToLower)
}

// base64Forms returns the characters that text gives in base64, in the standard alphabet,
// at an offset of 0, 1 or 2 bytes, modulo 3, in what is encoded. Characters that
// depend on what is around it are left out.
func base64Forms(text []byte) [][]byte {
	var forms [][]byte
	for offset := range 3 {
		bits := (offset + len(text)) * 8
		encoded := base64.RawStdEncoding.EncodeToString(append(make([]byte, offset), text...))
		forms = append(forms, []byte(encoded[(offset*8+5)/6:bits/6]))
	}
	return forms
}

// Character classes of keys.
const (
	lettersDigits = "A-Za-z0-9"
	base64URL     = "A-Za-z0-9_-"
	base64Any     = "A-Za-z0-9+/_-"
)

// keyForms returns what is looked for to find the keys of vendors, whose forms are public: they
// tell scanners of source code.
func keyForms() []needle {
	var needles []needle
	for _, key := range []struct {
		vendor, prefix, class string
		minBytes              int // after the prefix
	}{
		{"Anthropic", "sk-ant-", base64URL, 20},
		{"OpenAI", "sk-", lettersDigits, 32}, // with a - in it, it could be the name of a class in HTML
		{"OpenAI", "sk-proj-", base64URL, 32},
		{"OpenAI", "sk-admin-", base64URL, 32},
		{"OpenAI", "sk-svcacct-", base64URL, 32},
		{"OpenRouter", "sk-or-v1-", lettersDigits, 32},
		{"Google", "AIza", base64URL, 35},
		{"Groq", "gsk_", lettersDigits, 32},
		{"xAI", "xai-", lettersDigits, 32},
		{"Hugging Face", "hf_", lettersDigits, 30},
		{"Perplexity", "pplx-", lettersDigits, 32},
		{"Replicate", "r8_", lettersDigits, 32},
		{"GitHub", "ghp_", lettersDigits, 36},
		{"GitHub", "gho_", lettersDigits, 36},
		{"GitHub", "ghs_", lettersDigits, 36},
		{"GitHub", "github_pat_", lettersDigits + "_", 40},
		{"AWS", "AKIA", "A-Z0-9", 16},
		{"AWS", "ASIA", "A-Z0-9", 16},
		{"Slack", "xoxb-", lettersDigits + "-", 20},
		{"Slack", "xoxp-", lettersDigits + "-", 20},
	} {
		replacement := replacementFor(key.vendor + " key")
		needles = append(needles, needle{text: []byte(key.prefix), form: newForm(key.class, key.minBytes), replacement: replacement})
		// A shorter beginning would be found in pictures by chance.
		if len(key.prefix) < 7 {
			continue
		}
		for _, text := range base64Forms([]byte(key.prefix)) {
			needles = append(needles, needle{text: text, form: newForm(base64Any, key.minBytes*4/3), replacement: replacement, isBase64: true})
		}
	}
	return needles
}
