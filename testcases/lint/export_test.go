package lint

import "log/slog"

// CheckText checks the cases in the given text as if it were the content of the file
// path.
func CheckText(path string, text []byte) Report {
	return newLintReport([][]caseResult{newLinter(nil).checkText(path, text)}, CheckOptions{Log: slog.New(slog.DiscardHandler)})
}
