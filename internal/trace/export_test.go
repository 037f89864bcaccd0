package trace

// IsCompact exports isCompact, which reports whether JSON has no white space between tokens.
var IsCompact = isCompact //nolint:gochecknoglobals // an export for tests
