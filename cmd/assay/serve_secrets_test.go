package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Nothing that assay serve writes has a secret, in any encoding, whatever an agent does with it: the traces
// in --out, the runs of its cases, and the log. The API, which reads the stored traces, has none either.
func TestServe_WritesNoSecret(t *testing.T) {
	t.Parallel()
	secrets := plantedSecrets()
	var names, environ []string
	for name, value := range secrets {
		if name != "ticket" {
			names = append(names, name)
			environ = append(environ, name+"="+value)
		}
	}
	namesText, err := json.Marshal(names)
	require.NoError(t, err)
	script := strings.NewReplacer("NAMES", string(namesText), "TICKET", `"ticket ABC-" + "48151623"`, "CRASH", "False").Replace(leak)
	_, script, _ = strings.Cut(script, "#!agent\n")
	script, _, _ = strings.Cut(script, "#!end")
	s := startServe(t, serveConfig{
		env:  environ,
		args: []string{"--log", "debug", "--gateway", "off", "--redact", "NAMED", "--redact", `ticket [A-Z]{2,4}-\d+`},
	})
	c := s.connectView(t, "default")
	c.queryAgent(script)
	c.agent.awaitItem(t, "the end of the work", isAgentDone)
	require.NotEmpty(t, c.agent.itemsMatching(func(m consoleMessage) bool { return strings.Contains(m.body, secrets["NAMED"]) }), "consoles get what the agent sends")
	c.disconnect()
	s.stop(t)

	lines, _, _ := s.stderr.snapshot()
	written := map[string]string{"the log": strings.Join(lines, "")}
	require.NoError(t, filepath.WalkDir(s.dir, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		if !entry.IsDir() {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			written[path] = string(text)
		}
		return nil
	}))
	traces := 0
	for path, text := range written {
		if strings.HasPrefix(path, filepath.Join(s.dir, "out")) && strings.Contains(text, "[redacted AWS_SECRET_ACCESS_KEY]") {
			traces++
			requireNoSecretInPieces(t, path, secrets)
		}
		for name, secret := range secrets {
			for _, form := range encodings(t, secret) {
				at := strings.Index(text, form)
				require.Negative(t, at, "%s has %s as %s: %s", path, name, form, text[max(0, at-200):min(len(text), max(0, at)+200)])
			}
		}
	}
	require.Equal(t, 1, traces, "the trace of the session is in --out")
}
