package lint

import "log/slog"

// CheckText checks one file whose text is given.
func CheckText(path string, text []byte) Report {
	return newReport([][]caseResult{newLinter(nil).checkText(path, text)}, Options{Log: slog.New(slog.DiscardHandler)})
}
