package lint

import "log/slog"

// CheckText is Lint of one file, from memory.
func CheckText(path string, text []byte) Report {
	return newReport([][]result{newLinter(nil).text(path, text)}, Options{Log: slog.New(slog.DiscardHandler)})
}
