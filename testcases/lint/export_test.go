package lint

import "log/slog"

// CheckText is Lint of one file, from memory.
func CheckText(path string, text []byte) Report {
	return newReport([][]caseResult{newLinter(nil).checkText(path, text)}, Options{Log: slog.New(slog.DiscardHandler)})
}
