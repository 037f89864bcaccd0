package attempt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/attempt"
)

func TestWithoutSecrets(t *testing.T) {
	t.Parallel()
	for entry, kept := range map[string]bool{
		"ANTHROPIC_API_KEY=x":     false,
		"ANTHROPIC_API_KEY_2=x":   false,
		"OPENAI_KEY=x":            false,
		"OPENAI_KEY2=x":           false,
		"SIGNING_KEYS=x":          false,
		"AWS_ACCESS_KEY_ID=x":     false,
		"AWS_SECRET_ACCESS_KEY=x": false,
		"APIKEY=x":                false,
		"GITHUB_TOKEN=x":          false,
		"github_token=x":          false,
		"NPM_TOKEN_2=x":           false,
		"TOKENS=x":                false,
		"npm_config__authToken=x": false,
		"MY_SECRET_X=x":           false,
		"SECRETS=x":               false,
		"DB_PASSWORD=x":           false,
		"PGPASSWORD=x":            false,
		"X_PASSWD=x":              false,
		"SMTP_PASS=x":             false,
		"GH_PAT=x":                false,
		"GOOGLE_CREDENTIALS=x":    false,
		"A_CREDENTIAL_B=x":        false,
		"BASIC_AUTH=x":            false,
		"SSH_AUTH_SOCK=/x":        false,
		"TOKEN=":                  false,

		"HTTPS_PROXY=http://user:password@proxy:3128":     false,
		"DATABASE_URL=postgres://u:p@ss/w@localhost/db":   false,
		"REDIS=redis://:password@localhost:6379":          false,
		"INDEXES=https://a.example https://u:p@b.example": false,

		"PATH=/bin":                        true,
		"PYTHONPATH=/lib":                  true,
		"EXTRA_PATHS=/a:/b":                true,
		"HOME=/root":                       true,
		"KEYBOARD=us":                      true,
		"TOKENIZERS_PARALLELISM=false":     true,
		"GIT_AUTHOR=me":                    true,
		"COMPASS_N=north":                  false, // a word that ends like one for a secret
		"HTTP_PROXY=http://proxy:3128":     true,
		"REMOTE=ssh://git@host.example/x":  true,
		"MAIL=me@host.example":             true,
		"NOTE=KEY=not a name, nor is this": true,
		"EMPTY=":                           true,
	} {
		want := []string{}
		if kept {
			want = append(want, entry)
		}
		require.Equal(t, want, attempt.EnvWithoutSecrets([]string{entry}), entry)
	}
}
