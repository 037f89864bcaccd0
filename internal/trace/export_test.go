package trace

// IsCompact tells whether JSON has no space between its tokens.
var IsCompact = isCompact //nolint:gochecknoglobals // an export for tests
