package testcases

import "log/slog"

// LoadText is Load of one file, from memory.
func LoadText(path string, text []byte) ([]Case, error) { return readCases(path, text, nil) }

// MayHoldCases is what decides about files in folders.
func MayHoldCases(text string) bool { return mayHoldCases([]byte(text)) }

// LintText is Lint of one file, from memory.
func LintText(path string, text []byte) LintReport {
	return report([][]linted{newLinter(nil).text(path, text)}, LintOptions{Log: slog.New(slog.DiscardHandler)})
}
