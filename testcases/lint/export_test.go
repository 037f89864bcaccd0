package lint

import "log/slog"

// CheckText checks one file whose text is given.
func CheckText(path string, text []byte) Report {
	return newLintReport([][]caseResult{newLinter(nil).checkText(path, text)}, CheckOptions{Log: slog.New(slog.DiscardHandler)})
}
