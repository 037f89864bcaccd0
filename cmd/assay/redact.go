package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/spf13/pflag"

	"assay/cmd/assay/internal/exit"
	"assay/internal/redact"
	"assay/server"
)

// addRedactFlag adds --redact.
func (p *cli) addRedactFlag(flags *pflag.FlagSet) {
	flags.StringArrayVar(&p.secrets, "redact", nil, "replace the value of this environment variable, or what matches this regular expression, in files and logs, beside API keys: `NAME|REGEX` (repeatable)")
}

// redactArguments returns --redact as arguments for the built-in agent's process.
func (p *cli) redactArguments() (args []string) {
	for _, secret := range p.secrets {
		args = append(args, "--redact", secret)
	}
	return args
}

// variableName matches the name of an environment variable. A regular expression that looks like one
// can be put in parentheses.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// makeRedactor sets redactor according to the environment and --redact. It fails with a usage error
// if a value of --redact is neither the name of a variable nor a regular expression.
func (p *cli) makeRedactor() error {
	isPublic := func(variable string) bool { return variable == "ASSAY_TOKEN="+server.EvalSandboxToken }
	cfg := redact.Config{Environ: slices.DeleteFunc(slices.Clone(p.environ), isPublic)}
	for _, secret := range p.secrets {
		if variableName.MatchString(secret) {
			cfg.Names = append(cfg.Names, secret)
			continue
		}
		pattern, err := regexp.Compile(secret)
		if err != nil {
			return exit.UsageError(fmt.Errorf("--redact %s: %w", secret, err))
		}
		cfg.Patterns = append(cfg.Patterns, pattern)
	}
	redactor, err := redact.New(cfg)
	if err != nil {
		return exit.UsageError(fmt.Errorf("--redact: %w", err))
	}
	p.redactor = redactor
	return nil
}

// resultsWriter returns the writer of results to stdout, which replaces secrets; each Write must be
// well-formed JSON if isJSON.
func (p *cli) resultsWriter(isJSON bool) io.Writer {
	if isJSON {
		return p.redactor.NewJSONWriter(p.stdout)
	}
	return p.redactor.NewWriter(p.stdout)
}

// redactingWriter passes each Write on without the secrets that p's redactor finds at that time.
type redactingWriter struct {
	p  *cli
	to io.Writer
}

// Write writes text, redacted. It returns len(text) and nil unless that fails.
func (w redactingWriter) Write(text []byte) (int, error) {
	return w.p.redactor.NewWriter(w.to).Write(text)
}
