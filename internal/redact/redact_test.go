package redact_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/internal/redact"
)

const apiKey = "sk-ant-api03-" + "Zk3vQ9xWm2LrT7bHc5NfYd8JpS4gAe1UoRiVtXqMhGzKwBnCjDsPyE"

// newRedactor returns the Redactor for an environment with these variables.
func newRedactor(t *testing.T, environ ...string) *redact.Redactor {
	t.Helper()
	r, err := redact.New(redact.Config{Environ: environ})
	require.NoError(t, err)
	return r
}

func TestTextHasNoSecretInAnyEncoding(t *testing.T) {
	t.Parallel()
	const secret = `p&ss/w+rd "ü" <one>` + "\\"
	r := newRedactor(t, "DB_PASSWORD="+secret)
	inJSON := func(text string) string {
		quoted, err := json.Marshal(text)
		require.NoError(t, err)
		return string(quoted)
	}
	encodings := map[string]string{
		"as it is":    secret,
		"query":       url.QueryEscape(secret),
		"path":        url.PathEscape(secret),
		"small query": strings.ToLower(url.QueryEscape(secret)),
		"JSON":        strings.Trim(inJSON(secret), `"`),
	}
	for name, encoded := range encodings {
		require.Equal(t, "before [redacted DB_PASSWORD] after", r.String("before "+encoded+" after"), name)
	}
}

func TestTextHasNoSecretInBase64(t *testing.T) {
	t.Parallel()
	const secret = "p&ss/w+rd \"ü\" <one>"
	r := newRedactor(t, "DB_PASSWORD="+secret)
	for _, before := range []string{"", "x", "xy"} {
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding} {
			encoded := encoding.EncodeToString([]byte(before + secret + "after"))
			got := r.String(encoded)
			require.Contains(t, got, "[redacted DB_PASSWORD]", encoded)
			require.Less(t, len(got), len("[redacted DB_PASSWORD]")+16)

			broken := encoded[:9] + "\n" + encoded[9:11] + "\r\n" + encoded[11:]
			require.Contains(t, r.String(broken), "[redacted DB_PASSWORD]", broken)
		}
	}
}

func TestWhichVariablesAreSecret(t *testing.T) {
	t.Parallel()
	r := newRedactor(t,
		"ANTHROPIC_API_KEY="+apiKey, "GITHUB_TOKEN=plain-words-1", "SSH_AUTH_SOCK=/tmp/agent.sock", "SHORT_KEY=hunter2",
		"KEYBOARD=qwertzuiop", "HOME=/home/somebody", "MAX_TOKENS=100000000")
	text := apiKey + " plain-words-1 /tmp/agent.sock hunter2 qwertzuiop /home/somebody 100000000"
	require.Equal(t, "[redacted ANTHROPIC_API_KEY] [redacted GITHUB_TOKEN] /tmp/agent.sock hunter2 qwertzuiop /home/somebody 100000000",
		r.String(text))
}

// A password in an address is a secret, whatever the variable is called.
func TestPasswordsOfAddresses(t *testing.T) {
	t.Parallel()
	r := newRedactor(t, "HTTPS_PROXY=http://me:pass-word-15@proxy:80", "DATABASE_URL=postgres://u:other%2Fword-16@h/d?x=1", "HOME_PAGE=https://example.org/a:b@c-and-more")
	require.Equal(t, "[redacted HTTPS_PROXY] [redacted DATABASE_URL] [redacted DATABASE_URL] a:b@c-and-more", r.String("pass-word-15 other%2Fword-16 other/word-16 a:b@c-and-more"))
}

func TestKeysOfVendors(t *testing.T) {
	t.Parallel()
	r := newRedactor(t)
	digits := strings.Repeat("a1B2c3D4", 6)
	for prefix, vendor := range map[string]string{
		"sk-ant-api03-": "Anthropic", "sk-": "OpenAI", "sk-proj-x_": "OpenAI", "sk-or-v1-": "OpenRouter", "gsk_": "Groq", "AIza": "Google",
		"hf_": "Hugging Face", "ghp_": "GitHub", "github_pat_": "GitHub",
	} {
		require.Equal(t, `{"key":"[redacted `+vendor+` key]"}`, r.String(`{"key":"`+prefix+digits+`"}`), prefix)
	}
	require.Equal(t, "[redacted AWS key]", r.String("AKIA"+strings.Repeat("Q7", 8)))
	encoded := base64.StdEncoding.EncodeToString([]byte("x: " + apiKey))
	require.Contains(t, r.String(encoded), "[redacted Anthropic key]")

	for _, harmless := range []string{
		"risk-" + digits, `<div class="sk-toggleable__label-arrow sk-estimator-doc-link-and-more">`, "sk-ant-", "a task-based AIzabc hf_hub",
		strings.Repeat("iVBORw0KGgoAAAANSUhEUgAA", 50),
	} {
		require.Equal(t, harmless, r.String(harmless))
	}
	require.EqualValues(t, 11, r.Count())
}

// However a secret is cut, no more of it than the first five bytes is let through, after the
// public beginning of a vendor's key.
func TestSecretsThatAreCut(t *testing.T) {
	t.Parallel()
	encoded := base64.StdEncoding.EncodeToString([]byte("user:" + apiKey))
	pattern, err := redact.New(redact.Config{Patterns: []*regexp.Regexp{regexp.MustCompile(`ticket (no|nr)[.]? [A-Z]{2,3}-\d{4,}x?`)}})
	require.NoError(t, err)
	fromEnvironment := newRedactor(t, "API_KEY="+apiKey, "OTHER_TOKEN=Zk3vQ9xWm2")
	for name, c := range map[string]struct {
		redactor *redact.Redactor
		secret   string
	}{
		"environment": {fromEnvironment, apiKey},
		"base64":      {fromEnvironment, encoded},
		"vendor":      {newRedactor(t), apiKey},
		"pattern":     {pattern, "ticket nr. ABC-123456x"},
	} {
		text := "so: " + c.secret + " it is"
		check := func(pieces []string) {
			t.Helper()
			r := c.redactor.NewCounter()
			stream, joined := r.NewStream(), ""
			for _, piece := range pieces {
				joined += string(stream.Next([]byte(piece)))
			}
			require.Regexp(t, `^so: [^ ]{0,13}\[redacted[^\]]*\].{0,5} it is$`, joined, "%s: %q", name, pieces)
			require.EqualValues(t, 1, r.Count(), "%s: %q", name, pieces)
			require.NotContains(t, joined, c.secret[12:20])
		}
		for cut := range len(text) {
			check([]string{text[:cut], text[cut:]})
		}
		for size := 1; size < 10; size++ {
			var pieces []string
			for at := 0; at < len(text); at += size {
				pieces = append(pieces, text[at:min(len(text), at+size)])
			}
			check(pieces)
		}
	}
}

// What is replaced because it begins as a secret does, and turns out to be none, is lost; what
// follows is not.
func TestTextThatOnlyBeginsLikeASecret(t *testing.T) {
	t.Parallel()
	stream := newRedactor(t, "API_KEY=correct-horse-battery").NewStream()
	require.Equal(t, "it is [redacted API_KEY]", string(stream.Next([]byte("it is correct"))))
	require.Equal(t, ", I think. corr", string(stream.Next([]byte(", I think. corr"))))
	require.Equal(t, "ectly.", string(stream.Next([]byte("ectly."))))
}

func TestJSONKeepsItsForm(t *testing.T) {
	t.Parallel()
	r, err := redact.New(redact.Config{
		Environ: []string{"API_KEY=" + apiKey, "PIN=12345678"}, Names: []string{"PIN"},
		Patterns: []*regexp.Regexp{regexp.MustCompile(`a.*b`)},
	})
	require.NoError(t, err)
	text := `{"n": 12345678, "a": ["x", "b"], "` + apiKey + `": "\u0073k-ant` + apiKey[6:] + `\n", "pin":"is 12345678.", "c":"a\"\\b"}`
	require.Equal(t, `{"n": 12345678, "a": ["x", "b"], "[redacted API_KEY]": "[redacted API_KEY]\n", "pin":"is [redacted PIN].", "c":"[redacted]"}`,
		string(r.JSON([]byte(text))))
	require.EqualValues(t, 4, r.Count())
	unchanged := []byte(`{"a": "\ud800 \u00e9"}`)
	require.Equal(t, string(unchanged), string(r.JSON(unchanged)))
}

// The pieces of a text come in messages, between messages of other texts.
func TestMessages(t *testing.T) {
	t.Parallel()
	messages := redact.NewMessages[string](newRedactor(t, "API_KEY="+apiKey))
	next := func(source, stream, data string) string {
		out := messages.Next(source, fmt.Appendf(nil, `{"type":"kernel_stdio","stream":%q,"data":%q}`, stream, data))
		var message struct{ Data string }
		require.NoError(t, json.Unmarshal(out, &message))
		return message.Data
	}
	require.Equal(t, "key: [redacted API_KEY]", next("one", "stdout", "key: "+apiKey[:20]))
	require.Equal(t, "rest", next("one", "stderr", "rest"))
	require.Equal(t, apiKey[20:25], next("two", "stdout", apiKey[20:25]))
	require.Empty(t, next("one", "stdout", apiKey[20:25]))
	require.Equal(t, "\n", next("one", "stdout", apiKey[25:]+"\n"))
	require.Equal(t, apiKey[25:], next("one", "stdout", apiKey[25:]))
}

func TestErrorsOfConfig(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]redact.Config{
		"there is no environment variable NOPE":                                                         {Names: []string{"NOPE"}},
		"environment variable PIN: 4 bytes are too few to find it in other text; at least 8 are needed": {Names: []string{"PIN"}, Environ: []string{"PIN=1234"}},
		"pattern x* matches the empty text":                                                             {Patterns: []*regexp.Regexp{regexp.MustCompile("x*")}},
	} {
		_, err := redact.New(cfg)
		require.EqualError(t, err, want)
	}
}

func TestNilRedactorReplacesNothing(t *testing.T) {
	t.Parallel()
	var r *redact.Redactor
	require.Equal(t, apiKey, r.String(apiKey))
	require.Equal(t, apiKey, string(r.NewCounter().NewStream().Next([]byte(apiKey))))
	require.Equal(t, `"`+apiKey+`"`, string(r.JSON([]byte(`"`+apiKey+`"`))))
	var out strings.Builder
	_, err := io.WriteString(r.NewWriter(&out), apiKey)
	require.NoError(t, err)
	require.Equal(t, apiKey, out.String())
	require.Zero(t, r.Count())
}

func TestWriter(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	r := newRedactor(t, "API_KEY="+apiKey)
	n, err := io.WriteString(r.NewWriter(&out), "a "+apiKey+"\n")
	require.NoError(t, err)
	require.Equal(t, len(apiKey)+3, n)
	require.Equal(t, "a [redacted API_KEY]\n", out.String())
	require.EqualValues(t, 1, r.Count())
}

// FuzzMessages checks that redacted JSON stays well formed and has no secret.
func FuzzMessages(f *testing.F) {
	f.Add(`{"a":"` + apiKey + `"}`)
	f.Add(`["\\` + apiKey[:10] + `","` + apiKey[10:] + `"]`)
	r, err := redact.New(redact.Config{Environ: []string{"API_KEY=" + apiKey}})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			t.Skip()
		}
		messages := redact.NewMessages[int](r)
		for range 2 {
			out := messages.Next(0, []byte(text))
			assert.True(t, json.Valid(out), "%s", out)
			assert.NotContains(t, string(out), apiKey)
		}
	})
}
