package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/cmd/assay/internal/exit"
	"assay/eval/batch"
	"assay/eval/runs"
	"assay/internal/trace"
)

// plantedSecrets returns ten secrets by the name of the environment variable that has them, or "ticket",
// which is in none.
func plantedSecrets() map[string]string {
	return map[string]string{
		"ANTHROPIC_API_KEY":     "sk-ant-api03-" + "Zk3vQ9xWm2LrT7bHc5NfYd8JpS4gAe1UoRiVtXqMhGzKwBnCjDsPyE-AA",
		"OPENAI_API_KEY":        "sk-proj-" + "w8Kc2ZtQ5mXv9LrB3nHy6JdF1sPgTaUeRiOoVbNmCxZlKj",
		"AWS_SECRET_ACCESS_KEY": "wJalrXUtn/K7MDENG+bPxRfiCYzEXAMPLE/Kq9v2",
		"GITHUB_TOKEN":          "ghp_" + "a8Kd72hQpLmX03nVbT5rYcZ6wEsJ9uGfIoR1",
		"DB_PASSWORD":           `p&ss/w+rd "ü" <one>` + `\two`,
		"SERVICE_CREDENTIALS":   `{"user": "svc", "key": "91f0-cc72-40aa"}`,
		"HF_TOKEN":              "hf_" + "QwErTyUiOpAsDfGhJkLzXcVbNmQwErTyUi",
		"SMTP_PASS":             "correct horse battery staple",
		"NAMED":                 "Zanzibar-Quartz-88",
		"ticket":                "ticket ABC-48151623",
	}
}

// leak is what the scripted agent does: it writes its environment to all places that it reaches. Then it submits, or
// crashes. NAMES, TICKET and CRASH are replaced by Python.
const leak = `#!agent
import base64, urllib.parse
secrets = [os.environ[name] for name in NAMES] + [TICKET]
text = " / ".join(secrets)
forms = [text, repr(secrets), json.dumps(json.dumps(secrets)), urllib.parse.quote(text), urllib.parse.quote_plus(text)]
for offset in range(3):
    forms += [base64.b64encode(("x" * offset + s + "yz").encode()).decode() for s in secrets]
forms.append(base64.encodebytes(text.encode()).decode())
for form in forms:
    print(form, flush=True)
    print(form, file=sys.stderr, flush=True)
    send(type="agent_history_updated", entry={"type": "anthropic_message", "role": "assistant", "content": [{"type": "text", "text": form}]})
for i in range(0, len(text), 3):
    send(type="agent_stream_delta", delta={"type": "text_delta", "text": text[i:i + 3]})
send(type=text, note=text, **{text: 1})
send(type="agent_error", error="401: the key " + text + " is wrong", fatal=False)
do_action("create_cell", position=0, cell_type="markdown", source=text)
run_cell("import sys\nfor c in " + repr(text) + ":\n    _ = sys.stdout.write(c); sys.stdout.flush()\n" + repr(text))
run_cell("value = " + repr(text) + "\nraise ValueError(value)")
if CRASH:
    os.write(2, text.encode())
    os._exit(3)
submit(text)
send(type="agent_status", status="done")
#!end
`

// Nothing that a run writes has a secret, in any encoding, whatever an agent, a judge or an API does
// with it: the files of the run and of its grading, recorded model calls, stdout, and the log.
func TestRunWritesNoSecret(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secrets := plantedSecrets()
	var names []string
	environ := os.Environ()
	for name, value := range secrets {
		if name != "ticket" {
			names = append(names, name)
			environ = append(environ, name+"="+value)
		}
	}
	all := strings.Join(slices.Collect(maps.Values(secrets)), " ")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "agent"), 0o700))
	agent := writeFile(t, filepath.Join(dir, "agent", "agent.py"), scriptedAgentSource)
	task := func(crashes string) string {
		namesText, err := json.Marshal(names)
		require.NoError(t, err)
		script := strings.NewReplacer("NAMES", string(namesText), "TICKET", `"ticket ABC-" + "48151623"`, "CRASH", crashes).Replace(leak)
		text, err := json.Marshal(script)
		require.NoError(t, err)
		return string(text)
	}
	writeFile(t, filepath.Join(dir, "judge.jsonl"), `{"error": {"status": 401, "body": `+quoteJSON(t, "wrong key: "+all)+`}}`)
	cases := writeFile(t, filepath.Join(dir, "cases.json"), fmt.Sprintf(`[
		{"id": "submits", "task": %s, "graders": [{"type": "exact", "config": {"ground_truth": "x"}}, {"type": "llm_judge", "config": {"prompt": "?", "model": "script:judge.jsonl"}}]},
		{"id": "crashes", "task": %s, "graders": [{"type": "exact", "config": {"ground_truth": "x"}}]}]`, task("False"), task("True")))

	var printed strings.Builder
	run := func(status int, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "assay", append(args, "--redact", "NAMED", "--redact", `ticket [A-Z]{2,4}-\d+`)...)
		cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = environ, dir, &printed, &printed
		_ = cmd.Run()
		require.Equal(t, status, cmd.ProcessState.ExitCode(), printed.String())
	}
	run(exit.StatusFailed, "run", cases, "--agent", "python3 "+agent, "--gateway", "off", "--out", "run", "--log", "debug", "--json")
	run(exit.StatusFailed, "grade", "--run", "run", cases, "--json")
	writeFile(t, filepath.Join(dir, "model.jsonl"), `{"error": {"status": 401, "body": `+quoteJSON(t, "wrong key: "+all)+`}}`)
	run(exit.StatusBroken, "run", writeFile(t, filepath.Join(dir, "one.json"), `{"id": "one", "task": "x"}`),
		"--model", "script:model.jsonl", "--record", "recorded.jsonl", "--out", "builtin", "--log", "debug")
	for _, given := range []string{"agent", "judge.jsonl", "model.jsonl", "cases.json", "one.json"} {
		require.NoError(t, os.RemoveAll(filepath.Join(dir, given)))
	}
	written := map[string]string{"stdout and stderr": printed.String()}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		if !entry.IsDir() {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			written[path] = string(text)
		}
		return nil
	}))
	require.Contains(t, written, filepath.Join(dir, "recorded.jsonl"))
	for path, text := range written {
		for name, secret := range secrets {
			for _, form := range encodings(t, secret) {
				at := strings.Index(text, form)
				require.Negative(t, at, "%s has %s as %s: %s", path, name, form, text[max(0, at-200):min(len(text), max(0, at)+200)])
			}
		}
	}
	require.Contains(t, written[filepath.Join(dir, "run", "attempts.jsonl")], "[redacted AWS_SECRET_ACCESS_KEY]")
	require.Contains(t, printed.String(), "secrets, such as API keys")

	var summary batch.Summary
	for _, line := range readLines(t, filepath.Join(dir, "run", "attempts.jsonl")) {
		switch kind := line["type"]; kind {
		case runs.TypeAttempt:
			var a runs.Attempt
			decodeLine(t, line, &a)
			require.Greater(t, a.Redacted, int64(100))
			requireNoSecretInPieces(t, filepath.Join(dir, "run", a.Trace), secrets)
		case runs.TypeSummary:
			decodeLine(t, line, &summary)
		}
	}
	require.Equal(t, 2, summary.Attempts)
	require.Greater(t, summary.Redacted, int64(200))
}

// requireNoSecretInPieces fails the test if the pieces of the texts of a trace, put together, have more
// than the beginning of a secret.
func requireNoSecretInPieces(t *testing.T, path string, secrets map[string]string) {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	texts := map[string]string{}
	_, err = trace.ReadRecords(file, func(r trace.Record) error {
		var message struct {
			Data  string
			Delta struct{ Text string }
		}
		_ = json.Unmarshal(r.Message, &message) // others have no pieces
		texts[string(r.Hop)+r.Type] += message.Data + message.Delta.Text
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, texts[string(trace.AgentToServer)+"agent_stream_delta"])
	require.NotEmpty(t, texts[string(trace.KernelToServer)+"kernel_stdio"])
	for source, text := range texts {
		for name, secret := range secrets {
			require.NotContains(t, text, secret[6:14], "%s has a part of %s", source, name)
			require.NotContains(t, text, secret[len(secret)-8:], "%s has a part of %s", source, name)
		}
	}
}

// encodings returns a secret as it is, and encoded for URLs, JSON and base64.
func encodings(t *testing.T, secret string) []string {
	t.Helper()
	inJSON := quoteJSON(t, secret)
	forms := []string{secret, url.QueryEscape(secret), url.PathEscape(secret), strings.Trim(inJSON, `"`)}
	for offset := range 3 {
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", offset) + secret + "yz"))
		forms = append(forms, encoded[4:len(encoded)-8])
	}
	return forms
}

// quoteJSON returns text as a JSON string.
func quoteJSON(t *testing.T, text string) string {
	t.Helper()
	quoted, err := json.Marshal(text)
	require.NoError(t, err)
	return string(quoted)
}

func TestRedactFlagErrors(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"NO_SUCH_VARIABLE": "assay: --redact: there is no environment variable NO_SUCH_VARIABLE\n",
		"a(":               "assay: --redact a(: error parsing regexp: missing closing ): `a(`\n",
		"(x*)":             "assay: --redact: pattern (x*) matches the empty text\n",
	} {
		cmd := exec.CommandContext(t.Context(), "assay", "lint", "--redact", value, "none.json")
		text, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Equal(t, want, string(text))
		require.Equal(t, exit.StatusUsage, cmd.ProcessState.ExitCode())
	}
}
