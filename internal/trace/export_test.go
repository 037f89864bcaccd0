package trace

// IsCompactJSON exports isCompactJSON, which reports whether JSON has no white space between tokens.
var IsCompactJSON = isCompactJSON //nolint:gochecknoglobals // an export for tests
