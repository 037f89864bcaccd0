package trace

// IsCompact is isCompact, for tests.
var IsCompact = isCompact //nolint:gochecknoglobals // an export for tests
